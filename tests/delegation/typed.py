"""Tools behind a gRPC service of their own, in bytes: `tests.delegation.typed tools | decorator | streaming`.

`streaming` provides another service whose rpc has the same path and another shape.
"""

from __future__ import annotations

import sys

from contract.context import CallContext
from provider_kit import SERVICE_CONTINUATION, Call, Handler, MeshError, Module, requirement, serve
from tests.delegation.script import TOOLS
from wuu.mesh.v1.declaration_pb2 import MethodDescriptor, ServiceDescriptor, Shape

CARRIER = "test.tools.v1.Tools"

_SCHEMA = "agent.tools.execute.{}.v1"


class Typed:
    """One rpc, unparsed."""

    def __init__(self, name: str, shape: Shape, handler: Handler) -> None:
        method = MethodDescriptor(
            name="execute",
            rpc="Execute",
            input_schema=_SCHEMA.format("input"),
            output_schema=_SCHEMA.format("output"),
            shape=shape,
        )
        self.descriptor = ServiceDescriptor(
            name=name, version="1.0.0", grpc_service=CARRIER, methods=[method]
        )
        self._handler = handler

    def handler(self, _path: str, _context: CallContext) -> Handler | None:
        """See `provider_kit.provided.Service`."""
        return self._handler


class Tools(Module):
    """Answers with the request and who called."""

    def __init__(self) -> None:
        self.provides = [Typed("agent.tools", Shape.SHAPE_UNARY, Handler(Shape.SHAPE_UNARY, self.execute))]

    async def execute(self, request: bytes, call: Call) -> bytes:
        """The request, and who called."""
        return request + b" for " + call.caller.encode()


class Decorator(Tools):
    """Answers with what its delegate answers, or with the error that it was given."""

    requires = (requirement(TOOLS),)
    host_features = (SERVICE_CONTINUATION,)

    async def execute(self, request: bytes, call: Call) -> bytes:
        """What the delegate answers."""
        try:
            return await call.mesh.proceed(call.context.continuation)
        except MeshError as error:
            return f"{error.code} {error.outcome}".encode()


class Streaming(Module):
    """Serves nobody."""

    def __init__(self) -> None:
        both = Shape.SHAPE_BIDI_STREAM
        self.provides = [Typed("test.streaming", both, Handler(both, print))]


if __name__ == "__main__":
    serve({"tools": Tools, "decorator": Decorator, "streaming": Streaming}[sys.argv[1]]())
