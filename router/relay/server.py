"""The two sockets of the router: one for instances, one for the operator."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import grpc

from contract.context import TOKEN_KEY
from contract.errors import MeshError, to_status
from contract.transport import MESSAGE_LIMIT, SERVER_OPTIONS
from router.admission.admission import Admission
from router.generations.generation import DYNAMIC
from router.instances.instance import Instance
from router.relay.relay import Relay
from wuu.mesh.v1.declaration_pb2 import Declaration, Shape
from wuu.mesh.v1.diagnostics_pb2 import ReportRequest, ReportResponse

_REPORT = "/wuu.mesh.v1.Diagnostics/Report"

# The relay measures messages itself, to answer with a code; the transport only bounds what is held.
# Of an option that is given twice, gRPC takes the first.
_OPTIONS = (
    ("grpc.max_receive_message_length", 2 * MESSAGE_LIMIT),
    ("grpc.max_send_message_length", -1),
    *SERVER_OPTIONS,
)


class Shapes:
    """Whether a gRPC path streams, for every path that some module declares."""

    def __init__(self) -> None:
        self._declared: dict[str, Shape] = {DYNAMIC: Shape.SHAPE_UNARY}

    def learn(self, declaration: Declaration) -> None:
        """Takes in what a module declares."""
        for service in declaration.provided_services:
            for method in service.methods:
                self._declared[f"/{service.grpc_service}/{method.rpc}"] = method.shape

    def of(self, path: str) -> Shape | None:
        """The shape of a path; None where nobody declares it."""
        return self._declared.get(path)


class Calls(grpc.GenericRpcHandler):
    """Hands every call of a socket to its relay."""

    def __init__(self, relay: Relay, shapes: Shapes) -> None:
        self._relay = relay
        self._shapes = shapes
        self._handlers: dict[str, Any] = {}

    def service(self, handler_call_details: Any) -> Any:
        path: str = handler_call_details.method
        handler = self._handlers.get(path)
        if handler is None:
            shape = self._shapes.of(path)
            # Admission refuses a path that nobody declares, whatever its shape.
            handler = self._relay.handler(path, shape or Shape.SHAPE_UNARY)
            if shape is not None:
                self._handlers[path] = handler
        return handler


class Reports(grpc.GenericRpcHandler):
    """`wuu.mesh.v1.Diagnostics`: what instances say about themselves."""

    def __init__(self, admission: Admission, failed: Callable[[Instance, MeshError], None]) -> None:
        self._admission = admission
        self._failed = failed

    def service(self, handler_call_details: Any) -> Any:
        if handler_call_details.method != _REPORT:
            return None
        return grpc.unary_unary_rpc_method_handler(self._report)

    async def _report(self, request: bytes, context: Any) -> bytes:
        token = next((value for key, value in context.invocation_metadata() if key == TOKEN_KEY), "")
        instance: Instance | None = self._admission.instances.get(token)
        if instance is None:
            status = to_status(MeshError("unauthenticated", "the call carries no token of a live instance"))
            await context.abort(status.code, status.message, status.trailers)
            raise AssertionError("abort raises")
        report = ReportRequest.FromString(request)
        instance.stray_lines = report.stray_lines
        instance.last_stray_line = report.last_stray_line
        if report.HasField("failure"):
            self._failed(instance, MeshError(report.failure.code, report.failure.message))
        return ReportResponse().SerializeToString()


async def listen(
    path: Path,
    *handlers: grpc.GenericRpcHandler,
    register: Callable[[grpc.aio.Server], object] = lambda _: None,
) -> grpc.aio.Server:
    """A server on a Unix socket that only this user can open.

    `handlers` are asked in their order, after what `register` adds.
    """
    server = grpc.aio.server(options=_OPTIONS)
    register(server)
    server.add_generic_rpc_handlers(handlers)
    before = os.umask(0o177)
    try:
        if not server.add_insecure_port(f"unix:{path}"):
            raise OSError(f"cannot listen on {path}")
        await server.start()
    finally:
        os.umask(before)
    return server
