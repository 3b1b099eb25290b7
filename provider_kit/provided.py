"""What a module provides: typed services of a proto, and dynamic ones that have none."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from keyword import iskeyword
from typing import Any, Protocol, cast

from google.protobuf.descriptor import MethodDescriptor as ProtoMethod
from google.protobuf.descriptor import ServiceDescriptor as ProtoService
from google.protobuf.message import DecodeError, Message
from google.protobuf.message_factory import GetMessageClass

from contract.context import CallContext
from contract.declaration import describe, major_of
from contract.errors import MeshError
from contract.transport import DYNAMIC
from provider_kit.call import Call
from wuu.mesh.v1.declaration_pb2 import MethodDescriptor, ServiceDescriptor, Shape
from wuu.mesh.v1.dynamic_pb2 import InvokeRequest, InvokeResponse
from wuu.mesh.v1.json_pb2 import Json


@dataclass(frozen=True, slots=True)
class Handler:
    """What serves one rpc, in serialized messages.

    By shape, `serve(request, call)` takes bytes or an async iterator of bytes, and returns an awaitable of
    bytes or an async iterator of bytes.
    """

    shape: Shape
    serve: Callable[[Any, Call], Any]


class Service(Protocol):
    """One service that a module provides."""

    descriptor: ServiceDescriptor

    def handler(self, path: str, context: CallContext) -> Handler | None:
        """What serves a call at a gRPC path; None where this service does not."""


class Provided:
    """A gRPC service of a proto and the object that serves it.

    For the rpc `AcquireInspection` the object has the method
    `async def acquire_inspection(self, request, call)`, and for `Import`, whose name is a keyword, `import_`;
    streams are async iterators on either side. Optional rpcs are declared only where the object has their
    method.
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
            f"/{service.full_name}/{method.name}": typed_handler(
                method, getattr(servicer, _snake(method.name))
            )
            for method in service.methods
            if method.name in implemented
        }
        self._label = label(self.descriptor)

    def handler(self, path: str, context: CallContext) -> Handler | None:
        """See `Service`. Several services may have the same carrier, such as `engine.<id>@1`."""
        return self.handlers.get(path) if context.service == self._label else None


class Dynamic:
    """A service without a proto. Its methods take and return JSON, in the bytes that it was written in."""

    def __init__(
        self,
        name: str,
        methods: Mapping[str, Callable[[bytes, Call], Awaitable[bytes]]],
        *,
        version: str = "1.0.0",
        preparation: Collection[str] = (),
        cleanup: Collection[str] = (),
    ) -> None:
        """`Dynamic("example.text.analysis", {"analyze": self.analyze})`. Absent params are empty bytes.

        The rest is as for `describe_dynamic`.
        """
        self.descriptor = describe_dynamic(
            name, list(methods), version=version, preparation=preparation, cleanup=cleanup
        )
        self._label = label(self.descriptor)
        self._handlers = {method: dynamic_handler(serve) for method, serve in methods.items()}

    def handler(self, path: str, context: CallContext) -> Handler | None:
        """See `Service`."""
        return (
            self._handlers.get(context.method) if path == DYNAMIC and context.service == self._label else None
        )


def label(descriptor: ServiceDescriptor) -> str:
    """`name@major` of a service."""
    return f"{descriptor.name}@{major_of(descriptor.version)}"


def describe_dynamic(
    name: str,
    methods: Sequence[str],
    *,
    version: str = "1.0.0",
    preparation: Collection[str] = (),
    cleanup: Collection[str] = (),
) -> ServiceDescriptor:
    """The descriptor of a service without a proto, with the schema identifiers that its names give.

    `preparation` and `cleanup` are the methods that may be called in those phases; see `MethodOptions`.
    ValueError where one of them is no method.
    """
    for marked in (*preparation, *cleanup):
        if marked not in methods:
            raise ValueError(f"{name} has no method {marked}, but {', '.join(methods)}")
    descriptor = ServiceDescriptor(name=name, version=version)
    major = major_of(version)
    for method in methods:
        stem = f"{name}.{method.lower().replace('_', '-')}"
        descriptor.methods.append(
            MethodDescriptor(
                name=method,
                input_schema=f"{stem}.input.v{major}",
                output_schema=f"{stem}.output.v{major}",
                preparation=method in preparation,
                cleanup=method in cleanup,
                shape=Shape.SHAPE_UNARY,
            )
        )
    return descriptor


def dynamic_handler(serve: Callable[[bytes, Call], Awaitable[bytes]]) -> Handler:
    """What serves a method of a dynamic service: `serve(params, call)` takes and returns JSON."""

    async def invoke(request: bytes, call: Call) -> bytes:
        try:
            params = InvokeRequest.FromString(request).params.utf8
        except DecodeError:
            raise MeshError("invalid_params", "the request is not a wuu.mesh.v1.InvokeRequest") from None
        return InvokeResponse(result=Json(utf8=await serve(params, call))).SerializeToString()

    return Handler(Shape.SHAPE_UNARY, invoke)


def _snake(rpc: str) -> str:
    name = "".join(f"_{c.lower()}" if c.isupper() else c for c in rpc).lstrip("_")
    return f"{name}_" if iskeyword(name) else name


def typed_handler(method: ProtoMethod, serve: Callable[[Any, Call], Any]) -> Handler:
    """What serves an rpc: `serve(request, call)` takes and returns its messages, or iterators of them."""
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
