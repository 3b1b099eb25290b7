"""What the modules of the benchmarks are written with: one dynamic service each, and their own handshake."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping

from contract.context import CallContext
from contract.declaration import LIFECYCLE_VERSION, parse_service
from contract.handshake import Handshake, read_handshake
from provider_kit import Handler, Module
from provider_kit.call import Call
from provider_kit.program import lifeline, start
from provider_kit.server import InstanceServer
from wuu.mesh.v1.declaration_pb2 import Declaration, MethodDescriptor, ServiceDescriptor, Shape
from wuu.mesh.v1.dynamic_pb2 import InvokeRequest, InvokeResponse
from wuu.mesh.v1.lifecycle_pb2 import InitializeRequest, InitializeResponse

DYNAMIC = "/wuu.mesh.v1.Dynamic/Invoke"
"""The carrier of dynamic services."""

Serve = Callable[[bytes, Call], Awaitable[bytes]]
"""Serves one method: a serialized InvokeRequest in, a serialized InvokeResponse out."""


class DynamicModule(Module):
    """A module that provides one dynamic service."""

    def __init__(self, service: str, methods: Mapping[str, Serve]) -> None:
        """`service` is `name@major`."""
        name, major = parse_service(service)
        self._handlers = {method: Handler(Shape.SHAPE_UNARY, serve) for method, serve in methods.items()}
        self._descriptor = ServiceDescriptor(
            name=name,
            version=f"{major}.0.0",
            methods=[
                MethodDescriptor(
                    name=method,
                    input_schema=f"{name}.{method}.input.v{major}",
                    output_schema=f"{name}.{method}.output.v{major}",
                )
                for method in methods
            ],
        )

    async def initialized(self, request: InitializeRequest) -> InitializeResponse:
        """Declares the service and what the module requires."""
        return InitializeResponse(
            lifecycle_version=LIFECYCLE_VERSION,
            declaration=Declaration(provided_services=[self._descriptor], required_services=self.requires),
        )

    def handler(self, path: str, context: CallContext) -> Handler | None:
        """Goes by the method in the signed context, as the carrier demands."""
        return self._handlers.get(context.method) if path == DYNAMIC else None


def serve_with(make: Callable[[Handshake], Module]) -> None:
    """Runs the module that `make` builds from its handshake until its lifeline ends.

    `provider_kit.serve` keeps the handshake to itself: a provider has no business with its own key. The
    modules of the benchmarks have: they call each other past the router, to compare.
    """

    async def run(handshake: Handshake) -> None:
        server = InstanceServer(handshake, make(handshake))
        await server.start()
        await lifeline()
        await server.stop()

    start(read_handshake, run)


def params_of(request: bytes) -> bytes:
    """The JSON input of a call."""
    return InvokeRequest.FromString(request).params.utf8


def result(json: bytes) -> bytes:
    """The response with a JSON result."""
    response = InvokeResponse()
    response.result.utf8 = json
    return response.SerializeToString()
