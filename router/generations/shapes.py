"""Shapes: whether a gRPC path streams, for every path that some module declares."""

from __future__ import annotations

from contract.transport import DYNAMIC
from router.generations.kernel import CONTRIBUTIONS_DESCRIPTOR
from wuu.mesh.v1.declaration_pb2 import Declaration, ServiceDescriptor, Shape


class Shapes:
    """The shapes of the paths of one mesh. They choose how a path is relayed, never who serves it."""

    def __init__(self) -> None:
        self._declared: dict[str, Shape] = {}
        self._take(CONTRIBUTIONS_DESCRIPTOR)

    def learn(self, declaration: Declaration) -> None:
        """Takes in what a module declares.

        Of modules that differ about a path none is right for the others: it is relayed as a stream each way,
        which on the wire takes every shape.
        """
        for service in declaration.provided_services:
            if service.grpc_service:
                self._take(service)

    def of(self, path: str) -> Shape | None:
        """The shape of a path; None where nobody declares it."""
        return Shape.SHAPE_UNARY if path == DYNAMIC else self._declared.get(path)

    def _take(self, service: ServiceDescriptor) -> None:
        for method in service.methods:
            path = f"/{service.grpc_service}/{method.rpc}"
            shape = method.shape or Shape.SHAPE_UNARY
            if self._declared.setdefault(path, shape) != shape:
                self._declared[path] = Shape.SHAPE_BIDI_STREAM
