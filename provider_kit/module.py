"""A module: what its author writes."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, TypeVar, cast

import msgspec
from google.protobuf.descriptor import ServiceDescriptor as ProtoService
from google.protobuf.message import DecodeError, Message
from google.protobuf.message_factory import GetMessageClass

from contract.context import CallContext
from contract.declaration import LIFECYCLE_VERSION, describe, major_of
from contract.errors import MeshError
from provider_kit.call import Call
from provider_kit.mesh import Mesh
from wuu.mesh.v1.declaration_pb2 import Declaration, ServiceRequirement, Shape, Tool
from wuu.mesh.v1.lifecycle_pb2 import (
    Binding,
    InitializeRequest,
    InitializeResponse,
    PrepareRequest,
    ServiceChangedRequest,
)

Shaped = TypeVar("Shaped", bound=msgspec.Struct)


@dataclass(frozen=True, slots=True)
class Handler:
    """What serves one rpc, in serialized messages.

    By shape, `serve(request, call)` takes bytes or an async iterator of bytes, and returns an awaitable of
    bytes or an async iterator of bytes.
    """

    shape: Shape
    serve: Callable[[Any, Call], Any]


class Provided:
    """A gRPC service of a proto and the object that serves it.

    For the rpc `AcquireInspection` the object has the method
    `async def acquire_inspection(self, request, call)`; streams are async iterators on either side. Optional
    rpcs are declared only where the object has their method.
    """

    def __init__(
        self,
        service: ProtoService,
        servicer: object,
        *,
        features: Sequence[str] = (),
        name: str | None = None,
        version: str | None = None,
    ) -> None:
        """`name`, `version`: where the proto carries several services. `features`: see MethodOptions."""
        implemented = {m.name for m in service.methods if hasattr(servicer, _snake(m.name))}
        self.descriptor = describe(
            service, implemented=implemented, features=features, name=name, version=version
        )
        self.handlers = {
            f"/{service.full_name}/{method.name}": _handler(method, getattr(servicer, _snake(method.name)))
            for method in service.methods
            if method.name in implemented
        }
        self.label = f"{self.descriptor.name}@{major_of(self.descriptor.version)}"
        """`name@major`, as contexts name it."""
        self.proto = service


class Module:
    """The base of a provider written in Python: lifecycle v2 with nothing to do.

    An author overrides what the module needs. `configure` runs in initialize and may set `self.provides`.
    """

    provides: Sequence[Provided] = ()
    requires: ClassVar[Sequence[ServiceRequirement]] = ()
    tools: ClassVar[Sequence[Tool]] = ()

    mesh: Mesh
    """Calls outside any execution; set before `configure`."""

    bindings: Sequence[Binding] = ()
    """Where the requirements lead; set before `prepare`."""

    async def configure(self, request: InitializeRequest) -> None:
        """Takes the operator's configuration. Declares only: no writes, no calls."""

    async def prepare(self) -> None:
        """Reads and validates state. No writes, no effects."""

    async def activate(self) -> None:
        """Begins effects."""

    async def service_changed(self, request: ServiceChangedRequest) -> None:
        """A bound service became unavailable, or is back."""

    async def shutdown(self) -> None:
        """Stops what the module owns and releases what it holds. Safe after a partial start."""

    async def initialized(self, request: InitializeRequest) -> InitializeResponse:
        """The answer to initialize: `configure`, then what the module declares."""
        await self.configure(request)
        return InitializeResponse(
            lifecycle_version=LIFECYCLE_VERSION,
            declaration=Declaration(
                provided_services=[provided.descriptor for provided in self.provides],
                required_services=self.requires,
                tools=self.tools,
            ),
        )

    async def prepared(self, request: PrepareRequest) -> None:
        """Keeps the bindings and prepares."""
        self.bindings = request.bindings
        await self.prepare()

    def handler(self, path: str, context: CallContext) -> Handler | None:
        """What serves the gRPC path; None where nothing does."""
        for provided in self.provides:
            # Several services may have the same carrier, such as `engine.<id>@1`.
            if provided.label == context.service and (found := provided.handlers.get(path)):
                return found
        return None


def requirement(service: str, *, required: bool = True) -> ServiceRequirement:
    """`requirement("state.documents@1")`: a service that the module calls."""
    name, _, major = service.partition("@")
    return ServiceRequirement(name=name, major=int(major), required=required)


def configuration(request: InitializeRequest, shape: type[Shaped]) -> Shaped:
    """The operator's configuration as a msgspec Struct; absent means `{}`.

    Raises `invalid_request` that says which field is wrong.
    """
    try:
        return msgspec.json.decode(request.config.utf8 or b"{}", type=shape)
    except msgspec.MsgspecError as wrong:
        raise MeshError("invalid_request", f"config of {request.module}: {wrong}") from None


def _snake(rpc: str) -> str:
    return "".join(f"_{c.lower()}" if c.isupper() else c for c in rpc).lstrip("_")


def _handler(method: Any, serve: Callable[[Any, Call], Any]) -> Handler:
    request_class: type[Message] = GetMessageClass(method.input_type)

    def parse(request: bytes) -> Message:
        try:
            return request_class.FromString(request)
        except DecodeError:
            raise MeshError(
                "invalid_params", f"the request is not a {request_class.DESCRIPTOR.full_name}"
            ) from None

    async def parsed(requests: AsyncIterator[bytes]) -> AsyncIterator[Message]:
        async for request in requests:
            yield parse(request)

    async def unary(request: bytes, call: Call) -> bytes:
        response = await cast(Awaitable[Message], serve(parse(request), call))
        return response.SerializeToString()

    async def client_stream(requests: AsyncIterator[bytes], call: Call) -> bytes:
        response = await cast(Awaitable[Message], serve(parsed(requests), call))
        return response.SerializeToString()

    async def server_stream(request: bytes, call: Call) -> AsyncIterator[bytes]:
        async for response in serve(parse(request), call):
            yield response.SerializeToString()

    async def bidi_stream(requests: AsyncIterator[bytes], call: Call) -> AsyncIterator[bytes]:
        async for response in serve(parsed(requests), call):
            yield response.SerializeToString()

    if method.client_streaming:
        if method.server_streaming:
            return Handler(Shape.SHAPE_BIDI_STREAM, bidi_stream)
        return Handler(Shape.SHAPE_CLIENT_STREAM, client_stream)
    if method.server_streaming:
        return Handler(Shape.SHAPE_SERVER_STREAM, server_stream)
    return Handler(Shape.SHAPE_UNARY, unary)
