"""A caller on one of the router's two sockets, which says of itself exactly what a test wants it to say."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from dataclasses import dataclass
from typing import Any

import grpc
import msgspec

from contract.context import AS_KEY, EXECUTION_KEY, METHOD_KEY, MODULE_KEY, SERVICE_KEY, TOKEN_KEY
from contract.errors import MeshError, from_rpc_error
from contract.transport import Metadata, stream
from tests.support.process import PATIENCE
from wuu.mesh.v1.dynamic_pb2 import InvokeRequest, InvokeResponse

DYNAMIC = "/wuu.mesh.v1.Dynamic/Invoke"

_OPTIONS = (
    ("grpc.max_receive_message_length", -1),
    ("grpc.max_send_message_length", -1),
    # A connection of its own: one to a router that is gone would be waited for.
    ("grpc.use_local_subchannel_pool", 1),
)


@dataclass(frozen=True, slots=True)
class Answer:
    """Everything that came back."""

    message: bytes
    initial: Metadata
    trailing: Metadata


class Caller:
    """Calls over a socket of the router, under a token or, on the control socket, as the operator."""

    def __init__(self, target: str, token: str = "") -> None:
        self._channel = grpc.aio.insecure_channel(target, options=_OPTIONS)
        self._token = token

    async def close(self) -> None:
        """Closes the connection."""
        await self._channel.close()

    async def invoke(
        self,
        service: str,
        method: str,
        params: object = None,
        *,
        path: str = DYNAMIC,
        execution: str = "",
        module: str = "",
        as_module: str = "",
        timeout: float | None = None,
    ) -> Any:
        """Calls a dynamic service, in values that JSON has. Raises `MeshError`."""
        request = InvokeRequest()
        request.params.utf8 = msgspec.json.encode(params)
        answer = await self.unary(
            path,
            request.SerializeToString(),
            self.metadata(service, method=method, execution=execution, module=module, as_module=as_module),
            timeout=timeout,
        )
        return msgspec.json.decode(InvokeResponse.FromString(answer.message).result.utf8)

    def metadata(
        self,
        service: str = "",
        *,
        method: str = "",
        execution: str = "",
        module: str = "",
        as_module: str = "",
    ) -> list[tuple[str, str | bytes]]:
        """The metadata that the router reads; what is empty is left out."""
        said = (
            (TOKEN_KEY, self._token),
            (SERVICE_KEY, service),
            (METHOD_KEY, method),
            (EXECUTION_KEY, execution),
            (MODULE_KEY, module),
            (AS_KEY, as_module),
        )
        return [(key, value) for key, value in said if value]

    async def unary(
        self, path: str, request: bytes, metadata: Metadata, *, timeout: float | None = None
    ) -> Answer:
        """One call, in bytes."""
        send: Any = self._channel.unary_unary(path)
        call = send(request, metadata=tuple(metadata), timeout=timeout)
        try:
            async with asyncio.timeout(PATIENCE):
                message = await call
            return Answer(
                message, tuple(await call.initial_metadata()), tuple(await call.trailing_metadata())
            )
        except grpc.aio.AioRpcError as error:
            raise from_rpc_error(error) from None
        finally:
            call.cancel()

    async def status(self, path: str, request: bytes, metadata: Metadata) -> grpc.aio.AioRpcError:
        """The status with which a call fails, as it stands on the wire."""
        send: Any = self._channel.unary_unary(path)
        try:
            await send(request, metadata=tuple(metadata))
        except grpc.aio.AioRpcError as error:
            return error
        raise AssertionError(f"{path} did not fail")

    async def stream(
        self, path: str, requests: bytes | AsyncIterator[bytes], metadata: Metadata
    ) -> AsyncGenerator[bytes, None]:
        """A call of any shape: on the wire they are the same."""
        responses = stream(self._channel, path, requests, metadata)
        try:
            while True:
                async with asyncio.timeout(PATIENCE):
                    response = await anext(responses, None)
                if response is None:
                    return
                yield response
        except grpc.aio.AioRpcError as error:
            raise from_rpc_error(error) from None
        finally:
            await responses.aclose()


async def failure(of: Any) -> MeshError:
    """The error with which an awaitable fails; AssertionError where it does not."""
    try:
        result = await of
    except MeshError as error:
        return error
    raise AssertionError(f"it did not fail, and returned {result!r}")


def collected(values: Sequence[tuple[str, Any]], prefix: str) -> dict[str, Any]:
    """The metadata whose keys begin with `prefix`."""
    return {key: value for key, value in values if key.startswith(prefix)}
