"""The way from an instance to the services that it requires."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import aclosing
from typing import Any, TypeVar

import grpc
from google.protobuf.message import DecodeError

from contract.context import EXECUTION_KEY, METHOD_KEY, MODULE_KEY, SERVICE_KEY, TOKEN_KEY
from contract.continuation import CONTINUE
from contract.errors import MeshError, from_rpc_error
from contract.handshake import Handshake
from contract.transport import CHANNEL_OPTIONS, DYNAMIC, stream, unary
from wuu.mesh.v1.continuation_pb2 import ContinueRequest, ContinueResponse
from wuu.mesh.v1.diagnostics_pb2 import Failure, ReportRequest
from wuu.mesh.v1.dynamic_pb2 import InvokeRequest, InvokeResponse

Stub = TypeVar("Stub")
Parsed = TypeVar("Parsed")

_REPORT = "/wuu.mesh.v1.Diagnostics/Report"


class Mesh:
    """Calls to other services, as this instance, inside one execution or outside any.

    Every call is made once: nothing is retried and nothing falls back. Failures are `MeshError`.
    """

    def __init__(self, channel: grpc.aio.Channel, token: str, execution: str = "") -> None:
        self._channel = channel
        self._token = token
        self._execution = execution

    @classmethod
    def connect(cls, handshake: Handshake) -> Mesh:
        """The way of the instance that the handshake names."""
        return cls(grpc.aio.insecure_channel(handshake.router, options=CHANNEL_OPTIONS), handshake.token)

    def within(self, execution: str) -> Mesh:
        """The same way, on behalf of a call that this instance serves."""
        return Mesh(self._channel, self._token, execution)

    def stub(self, stub: Callable[[Any], Stub], service: str) -> Stub:
        """A generated stub (`DocumentsStub`) for the service (`state.documents@1`) that is bound to us."""
        return stub(_StubChannel(self, service))

    async def invoke(self, service: str, method: str, params: bytes = b"") -> bytes:
        """Calls a dynamic service: JSON in, JSON out, both as the bytes they were written in."""
        request = InvokeRequest()
        if params:
            request.params.utf8 = params
        response = await self.unary(DYNAMIC, request.SerializeToString(), service=service, method=method)
        return parsed(InvokeResponse.FromString, response, service).result.utf8

    async def unary(
        self,
        path: str,
        request: bytes,
        *,
        service: str,
        method: str = "",
        module: str = "",
        timeout: float | None = None,
    ) -> bytes:
        """One call by its gRPC path, in serialized messages."""
        try:
            return await unary(self._channel, path, request, self._metadata(service, method, module), timeout)
        except grpc.aio.AioRpcError as error:
            raise from_rpc_error(error) from None

    async def stream(
        self, path: str, requests: AsyncIterator[bytes] | bytes, *, service: str
    ) -> AsyncGenerator[bytes, None]:
        """A call whose responses are a stream, by its gRPC path, in serialized messages."""
        responses = stream(self._channel, path, requests, self._metadata(service, "", ""))
        try:
            async for response in responses:
                yield response
        except grpc.aio.AioRpcError as error:
            raise from_rpc_error(error) from None
        finally:
            await responses.aclose()

    async def gather(self, path: str, requests: AsyncIterator[bytes], *, service: str) -> bytes:
        """A call whose requests are a stream and whose response is one message, likewise."""
        async with aclosing(self.stream(path, requests, service=service)) as stream:
            responses = [response async for response in stream]
        if len(responses) != 1:
            raise MeshError(
                "protocol_violation", f"{service} answered with {len(responses)} messages, not one"
            )
        return responses[0]

    async def proceed(self, continuation: str) -> bytes:
        """Continues the call of this execution; see `proto/wuu/mesh/v1/continuation.proto`.

        Returns the serialized response of the provider that we are bound to.
        """
        request = ContinueRequest(id=continuation).SerializeToString()
        response = await self.unary(CONTINUE, request, service="")
        return parsed(ContinueResponse.FromString, response, "the router").response

    async def report(
        self, *, stray_lines: int = 0, last_stray_line: str = "", failure: Failure | None = None
    ) -> None:
        """Tells the router about this instance; see `proto/wuu/mesh/v1/diagnostics.proto`."""
        request = ReportRequest(stray_lines=stray_lines, last_stray_line=last_stray_line, failure=failure)
        try:
            await unary(self._channel, _REPORT, request.SerializeToString(), ((TOKEN_KEY, self._token),))
        except grpc.aio.AioRpcError as error:
            raise from_rpc_error(error) from None

    async def close(self) -> None:
        """Closes the connection to the router."""
        await self._channel.close()

    def _metadata(self, service: str, method: str, module: str) -> list[tuple[str, str]]:
        said = (
            (TOKEN_KEY, self._token),
            (SERVICE_KEY, service),
            (EXECUTION_KEY, self._execution),
            (METHOD_KEY, method),
            (MODULE_KEY, module),
        )
        return [(key, value) for key, value in said if value]


class _StubChannel:
    """The part of a `grpc.aio.Channel` that generated stubs use, carried by a `Mesh`."""

    def __init__(self, mesh: Mesh, service: str) -> None:
        self._mesh = mesh
        self._service = service

    def unary_unary(self, path: str, request_serializer: Any, response_deserializer: Any, **_: Any) -> Any:
        async def call(request: Any, timeout: float | None = None) -> Any:
            response = await self._mesh.unary(
                path, request_serializer(request), service=self._service, timeout=timeout
            )
            return parsed(response_deserializer, response, self._service)

        return call

    def unary_stream(self, path: str, request_serializer: Any, response_deserializer: Any, **_: Any) -> Any:
        async def call(request: Any) -> AsyncIterator[Any]:
            # Whoever stops early ends the call with it.
            async with aclosing(
                self._mesh.stream(path, request_serializer(request), service=self._service)
            ) as responses:
                async for response in responses:
                    yield parsed(response_deserializer, response, self._service)

        return call

    def stream_unary(self, path: str, request_serializer: Any, response_deserializer: Any, **_: Any) -> Any:
        async def call(requests: AsyncIterator[Any]) -> Any:
            response = await self._mesh.gather(
                path, _serialized(requests, request_serializer), service=self._service
            )
            return parsed(response_deserializer, response, self._service)

        return call

    def stream_stream(self, path: str, request_serializer: Any, response_deserializer: Any, **_: Any) -> Any:
        async def call(requests: AsyncIterator[Any]) -> AsyncIterator[Any]:
            sent = _serialized(requests, request_serializer)
            async with aclosing(self._mesh.stream(path, sent, service=self._service)) as responses:
                async for response in responses:
                    yield parsed(response_deserializer, response, self._service)

        return call


async def _serialized(
    requests: AsyncIterator[Any], serialize: Callable[[Any], bytes]
) -> AsyncIterator[bytes]:
    async for request in requests:
        yield serialize(request)


def parsed(parse: Callable[[bytes], Parsed], response: bytes, service: str) -> Parsed:
    """What a service answered. Raises `protocol_violation` where it is no message of its contract."""
    try:
        return parse(response)
    except DecodeError:
        raise MeshError(
            "protocol_violation", f"what {service} answered is not the message of its contract"
        ) from None
