"""How gRPC is set up on both ends of every hop, and unary calls that may be cancelled for ever."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import grpc

MESSAGE_LIMIT = 64 * 1024 * 1024
"""Bytes that one message may have, at each hop."""

DYNAMIC = "/wuu.mesh.v1.Dynamic/Invoke"
"""The gRPC path that carries every service without a proto."""

Metadata = Sequence[tuple[str, str | bytes]]

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
)
"""For every channel."""

SERVER_OPTIONS: tuple[tuple[str, Any], ...] = (
    ("grpc.max_receive_message_length", MESSAGE_LIMIT),
    ("grpc.max_send_message_length", MESSAGE_LIMIT),
    ("grpc.so_reuseport", 0),
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
    Raises `grpc.aio.AioRpcError`.
    """
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
