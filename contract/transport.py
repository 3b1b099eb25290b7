"""How gRPC is set up on both ends of every hop, and calls that end as the peer said."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from typing import Any

import grpc
from grpc._cython import cygrpc  # type: ignore[attr-defined]

from contract.errors import MeshError, Outcome

MESSAGE_LIMIT = 64 * 1024 * 1024
"""Bytes that one message may have, at each hop."""

DYNAMIC = "/wuu.mesh.v1.Dynamic/Invoke"
"""The gRPC path that carries every service without a proto."""

Metadata = Sequence[tuple[str, str | bytes]]


def check_size(message: bytes, what: str, *, outcome: Outcome) -> None:
    """Raises `limit_exceeded` for a message that is larger than may pass; `what` is it: `the request`."""
    if len(message) > MESSAGE_LIMIT:
        size = f"{what} has {len(message)} bytes, and a message at most {MESSAGE_LIMIT}"
        raise MeshError("limit_exceeded", size, outcome=outcome)


_METADATA_LIMIT = 32 * 1024
"""Bytes of metadata that are taken: the router takes 16 KiB of a caller and adds the context. The library
would refuse some of what is larger than half of that, at random."""

_METADATA_OPTIONS: tuple[tuple[str, Any], ...] = (
    ("grpc.max_metadata_size", _METADATA_LIMIT),
    ("grpc.absolute_max_metadata_size", _METADATA_LIMIT),
)

CHANNEL_OPTIONS: tuple[tuple[str, Any], ...] = (
    ("grpc.max_receive_message_length", MESSAGE_LIMIT),
    ("grpc.max_send_message_length", MESSAGE_LIMIT),
    # A dead socket is retried after 50 ms, not after a second.
    ("grpc.initial_reconnect_backoff_ms", 50),
    ("grpc.min_reconnect_backoff_ms", 50),
    ("grpc.max_reconnect_backoff_ms", 1000),
    # Nothing uncertain is retried.
    ("grpc.enable_retries", 0),
    # Channels to the same target do not share a connection: each instance has its own.
    ("grpc.use_local_subchannel_pool", 1),
    *_METADATA_OPTIONS,
)
"""For every channel."""

SERVER_OPTIONS: tuple[tuple[str, Any], ...] = (
    ("grpc.max_receive_message_length", MESSAGE_LIMIT),
    ("grpc.max_send_message_length", MESSAGE_LIMIT),
    ("grpc.so_reuseport", 0),
    # Past about a thousand calls that wait to be taken up, the library cancels some at random; what may
    # wait is admission's to decide, which answers with a code.
    ("grpc.server.max_pending_requests", 1 << 20),
    ("grpc.server.max_pending_requests_hard_limit", 1 << 20),
    *_METADATA_OPTIONS,
)
"""For every server."""


async def unary(
    channel: grpc.aio.Channel,
    path: str,
    request: bytes,
    metadata: Metadata,
    timeout: float | None = None,
) -> bytes:
    """One unary call, carried as a stream of one response.

    On the wire the two are the same. In `grpc.aio` a cancelled unary call leaks native memory in the
    client and a cancelled response stream hardly (grpc/grpc#43360), so every caller of ours comes here.
    Raises `grpc.aio.AioRpcError`, and `limit_exceeded` for a request that is too large to be sent.
    """
    check_size(request, "the request", outcome="not_dispatched")
    send: Any = channel.unary_stream(path)
    call = send(request, metadata=tuple(metadata), timeout=timeout)
    try:
        response = await call.read()
        if response is not grpc.aio.EOF:
            await call.read()
            return response  # type: ignore[no-any-return]
    finally:
        if not call.done():
            call.cancel()
    raise grpc.aio.AioRpcError(
        grpc.StatusCode.INTERNAL,
        grpc.aio.Metadata(),
        grpc.aio.Metadata(),
        details="the call ended without a response",
    )


async def stream(
    channel: grpc.aio.Channel, path: str, requests: bytes | AsyncIterator[bytes], metadata: Metadata
) -> AsyncGenerator[bytes, None]:
    """One call whose responses are a stream, and whose requests may be one.

    Raises `grpc.aio.AioRpcError`, whatever `requests` raises, and `limit_exceeded` for a request that is too
    large to be sent.
    """
    one: Any = channel.unary_stream(path)
    several: Any = channel.stream_stream(path)
    if isinstance(requests, bytes):
        check_size(requests, "the request", outcome="not_dispatched")
        call = one(requests, metadata=tuple(metadata))
        sending = None
    else:
        call = several(metadata=tuple(metadata))
        sending = asyncio.create_task(_send(call, requests))
    try:
        while (response := await call.read()) is not grpc.aio.EOF:
            yield response
    finally:
        if not call.done():
            call.cancel()
        if sending is not None:
            sending.cancel()
            await asyncio.wait((sending,))
            if not sending.cancelled() and (broken := sending.exception()) is not None:
                raise broken


async def _send(call: Any, requests: AsyncIterator[bytes]) -> None:
    try:
        async for request in requests:
            check_size(request, "the request", outcome="unknown")
            if not await write(call, request):
                return
        await call.done_writing()
    except BaseException:
        call.cancel()
        raise


async def write(call: Any, message: bytes) -> bool:
    """Sends one message of a stream; False where the peer has ended the call, as its responses tell.

    `call.write` would put a status of its own in the place of the peer's (grpc/grpc#36066).
    """
    try:
        await call.wait_for_connection()
        await call._cython_call.send_serialized_message(message)
    except (cygrpc.InternalError, grpc.aio.AioRpcError):
        return False
    return True
