"""The gRPC server of one instance: the context is verified in the handler lookup, before anything runs."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any, Protocol

import grpc
from google.protobuf.message import Message
from grpc_health.v1 import health, health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection, reflection_pb2

from contract.context import CONTEXT_KEY, ROUTER, CallContext, verify
from contract.declaration import describe
from contract.errors import CONTRACT, MeshError, of_provider, to_status
from contract.handshake import Handshake
from contract.listener import Listener
from contract.transport import SERVER_OPTIONS
from provider_kit.call import Call
from provider_kit.mesh import Mesh
from provider_kit.provided import Handler
from wuu.mesh.v1 import contributions_pb2, lifecycle_pb2
from wuu.mesh.v1.declaration_pb2 import Declaration, ServiceDescriptor, Shape
from wuu.mesh.v1.lifecycle_pb2 import (
    ActivateResponse,
    InitializeRequest,
    InitializeResponse,
    PrepareRequest,
    PrepareResponse,
    ServiceChangedRequest,
    ServiceChangedResponse,
    ShutdownResponse,
)

log = logging.getLogger(__name__)

SHUTDOWN_TIMEOUT = 2.0
"""Seconds that shutdown may take."""

_LIFECYCLE = "/wuu.mesh.v1.Lifecycle/"
_REFLECTION = f"/{reflection.SERVICE_NAME}/ServerReflectionInfo"
_OWN = (
    describe(lifecycle_pb2.DESCRIPTOR.services_by_name["Lifecycle"]),
    describe(contributions_pb2.DESCRIPTOR.services_by_name["Contributions"]),
)
"""What the router calls of every instance, and of one that contributes."""

_SERVED_ALWAYS = (reflection.SERVICE_NAME, health.SERVICE_NAME, "wuu.mesh.v1.Lifecycle")


class Gone(Exception):
    """What serves the instance has ended. The call ends with UNAVAILABLE and without an ErrorInfo, and the
    relay says in its place how the process ended."""


class Served(Protocol):
    """What a server serves: a `Module`, or a plugin behind the bridge."""

    mesh: Mesh

    async def initialized(self, request: InitializeRequest) -> InitializeResponse: ...
    async def prepared(self, request: PrepareRequest) -> None: ...
    async def activate(self) -> None: ...
    async def service_changed(self, request: ServiceChangedRequest) -> None: ...
    async def shutdown(self) -> None: ...
    def handler(self, path: str, context: CallContext) -> Handler | None: ...


class InstanceServer:
    """One instance on its socket."""

    def __init__(self, handshake: Handshake, served: Served) -> None:
        self.handshake = handshake
        self.mesh = Mesh.connect(handshake)
        served.mesh = self.mesh
        self._handlers = _Handlers(handshake, served, self.mesh)
        self._health = health.aio.HealthServicer()
        self._listener = Listener(Path(handshake.listen), self._server)

    async def start(self) -> None:
        """Listens, and reports SERVING. Raises OSError when it cannot listen."""
        await self._listener.start()
        await self._health.set("", health_pb2.HealthCheckResponse.SERVING)

    async def shut_down(self) -> None:
        """Shuts down what is served, unless the router did: its lifeline may end without a word."""
        try:
            async with asyncio.timeout(SHUTDOWN_TIMEOUT):
                await self._handlers.shut_down()
        except (MeshError, TimeoutError) as unconfirmed:
            log.warning("shutdown is unconfirmed", extra={"reason": str(unconfirmed)})

    async def stop(self, grace: float = 0.5) -> None:
        """Takes no more calls, and ends those in flight after `grace` seconds."""
        await self._health.enter_graceful_shutdown()
        await self._listener.stop(grace)
        await self.mesh.close()

    def _server(self) -> _Server:
        server = grpc.aio.server(options=SERVER_OPTIONS)
        server.add_generic_rpc_handlers((self._handlers,))
        health_pb2_grpc.add_HealthServicer_to_server(self._health, server)
        return _Server(server)


class _Server:
    """A server of `grpc.aio`, for a `Listener`.

    It ends, and removes its socket, at a request whose `:path` is not UTF-8.
    """

    def __init__(self, server: grpc.aio.Server) -> None:
        self._server = server

    def bind(self, path: Path) -> None:
        try:
            self._server.add_insecure_port(f"unix:{path}")
        except RuntimeError as refused:
            raise OSError(f"cannot listen on {path}: {refused}") from None

    async def start(self) -> None:
        await self._server.start()

    async def stop(self, grace: float) -> None:
        # One that has ended unasked says its reason again.
        with suppress(UnicodeDecodeError):
            await self._server.stop(grace)


class _Handlers(grpc.GenericRpcHandler):
    """Finds what serves a call once its context is proven; a refused call never enters a handler."""

    def __init__(self, handshake: Handshake, served: Served, mesh: Mesh) -> None:
        self._key = bytes.fromhex(handshake.key)
        self._audience = handshake.instance
        self._served = served
        self._mesh = mesh
        self._carried = _carried(_OWN)
        """By the path of a typed rpc: the services and methods that it carries, as they were declared."""
        self._reflection = _reflect([])
        self._shut_down = False

    def service(self, handler_call_details: Any) -> Any:
        path: str = handler_call_details.method
        if path.startswith("/grpc.health."):
            return None
        if path == _REFLECTION:
            return self._reflection
        signed = next((v for k, v in handler_call_details.invocation_metadata if k == CONTEXT_KEY), None)
        if signed is None:
            return _refusal(
                MeshError("unauthenticated", f"the call carries no {CONTEXT_KEY}", domain=CONTRACT)
            )
        try:
            context = verify(signed, key=self._key, audience=self._audience)
            self._check_call(path, context)
        except MeshError as refused:
            return _refusal(refused)
        if path.startswith(_LIFECYCLE):
            handler = self._lifecycle(path.removeprefix(_LIFECYCLE))
        else:
            handler = self._served.handler(path, context)
        if handler is None:
            return _refusal(
                MeshError("method_not_found", f"nothing serves {context.service} {context.method} at {path}")
            )
        return _METHOD_HANDLERS[handler.shape](handler, Call(context, self._mesh.within(context.execution)))

    async def shut_down(self) -> None:
        """Shuts down what is served, once."""
        if not self._shut_down:
            self._shut_down = True
            await self._served.shutdown()

    def _check_call(self, path: str, context: CallContext) -> None:
        """The context must have been made for this very call."""
        if path.startswith(_LIFECYCLE) and context.caller != ROUTER:
            raise MeshError("unauthenticated", "only the router calls the lifecycle", domain=CONTRACT)
        carried = self._carried.get(path)
        if carried is not None and (context.service, context.method) not in carried:
            made_for = f"{context.service} {context.method}"
            raise MeshError(
                "unauthenticated", f"the context was made for {made_for}, not for {path}", domain=CONTRACT
            )

    def _learn(self, declaration: Declaration) -> None:
        typed = [service for service in declaration.provided_services if service.grpc_service]
        self._carried = _carried([*_OWN, *typed])
        self._reflection = _reflect([service.grpc_service for service in typed])

    def _lifecycle(self, rpc: str) -> Handler | None:
        served = self._served

        async def initialize(request: bytes, _: Call) -> Message:
            response = await served.initialized(InitializeRequest.FromString(request))
            self._learn(response.declaration)
            return response

        async def prepare(request: bytes, _: Call) -> Message:
            await served.prepared(PrepareRequest.FromString(request))
            return PrepareResponse()

        async def activate(request: bytes, _: Call) -> Message:
            await served.activate()
            return ActivateResponse()

        async def service_changed(request: bytes, _: Call) -> Message:
            await served.service_changed(ServiceChangedRequest.FromString(request))
            return ServiceChangedResponse()

        async def shutdown(request: bytes, _: Call) -> Message:
            await self.shut_down()
            return ShutdownResponse()

        steps: dict[str, Callable[[bytes, Call], Awaitable[Message]]] = {
            "Initialize": initialize,
            "Prepare": prepare,
            "Activate": activate,
            "ServiceChanged": service_changed,
            "Shutdown": shutdown,
        }
        if rpc not in steps:
            return None
        step = steps[rpc]

        async def serve(request: bytes, call: Call) -> bytes:
            return (await step(request, call)).SerializeToString()

        return Handler(Shape.SHAPE_UNARY, serve)


def _carried(services: Iterable[ServiceDescriptor]) -> dict[str, set[tuple[str, str]]]:
    carried: dict[str, set[tuple[str, str]]] = {}
    for service in services:
        label = f"{service.name}@{service.version.partition('.')[0]}"
        for method in service.methods:
            carried.setdefault(f"/{service.grpc_service}/{method.rpc}", set()).add((label, method.name))
    return carried


def _reflect(services: list[str]) -> Any:
    """Server reflection for what every instance serves and the typed services that it declares."""
    names = [*_SERVED_ALWAYS, *services]
    servicer = reflection.aio.ReflectionServicer(names)
    return grpc.stream_stream_rpc_method_handler(
        servicer.ServerReflectionInfo,
        request_deserializer=reflection_pb2.ServerReflectionRequest.FromString,
        response_serializer=reflection_pb2.ServerReflectionResponse.SerializeToString,
    )


def _refusal(error: MeshError) -> Any:
    async def refuse(_requests: Any, context: grpc.aio.ServicerContext[Any, Any]) -> None:
        await _abort(context, error)

    # A stream takes every shape of request, so a refusal need not know the method.
    return grpc.stream_stream_rpc_method_handler(refuse)


async def _abort(context: grpc.aio.ServicerContext[Any, Any], error: MeshError) -> None:
    status = to_status(of_provider(error))
    await context.abort(status.code, status.message, status.trailers)


async def _fail(context: grpc.aio.ServicerContext[Any, Any], call: Call, failure: BaseException) -> None:
    """Ends the call with the status of a failure. A cancelled handler sends none by itself."""
    if isinstance(failure, MeshError):
        await _abort(context, failure)
    if isinstance(failure, Gone):
        await context.abort(grpc.StatusCode.UNAVAILABLE, str(failure))
    if isinstance(failure, asyncio.CancelledError):
        # Whether it was the caller is not told apart; one that is there would wait for its deadline.
        task = asyncio.current_task()
        while task is not None and task.cancelling():
            task.uncancel()
        await _abort(context, MeshError("execution_cancelled", "the call was cancelled", domain=CONTRACT))
    method = f"{call.context.service} {call.context.method}"
    log.error(
        "handler failed", extra={"method": method, "execution": call.context.execution}, exc_info=failure
    )
    await _abort(context, MeshError("host_error", f"{method}: {type(failure).__name__}: {failure}"))


def _to_message(handler: Handler, call: Call) -> Callable[[Any, grpc.aio.ServicerContext[Any, Any]], Any]:
    async def serve(request: Any, context: grpc.aio.ServicerContext[Any, Any]) -> Any:
        try:
            return await handler.serve(request, call)
        except (grpc.aio.AbortError, GeneratorExit):
            raise
        except (Exception, asyncio.CancelledError) as failure:
            await _fail(context, call, failure)

    return serve


def _to_stream(handler: Handler, call: Call) -> Callable[[Any, grpc.aio.ServicerContext[Any, Any]], Any]:
    async def serve(request: Any, context: grpc.aio.ServicerContext[Any, Any]) -> AsyncIterator[Any]:
        try:
            async for response in handler.serve(request, call):
                yield response
        except (grpc.aio.AbortError, GeneratorExit):
            raise
        except (Exception, asyncio.CancelledError) as failure:
            await _fail(context, call, failure)

    return serve


_METHOD_HANDLERS: dict[Shape, Callable[[Handler, Call], Any]] = {
    Shape.SHAPE_UNARY: lambda h, c: grpc.unary_unary_rpc_method_handler(_to_message(h, c)),
    Shape.SHAPE_CLIENT_STREAM: lambda h, c: grpc.stream_unary_rpc_method_handler(_to_message(h, c)),
    Shape.SHAPE_SERVER_STREAM: lambda h, c: grpc.unary_stream_rpc_method_handler(_to_stream(h, c)),
    Shape.SHAPE_BIDI_STREAM: lambda h, c: grpc.stream_stream_rpc_method_handler(_to_stream(h, c)),
}
