"""The provider of the suite on `grpc.aio`: `aio_server.py DECLARATION`."""

from __future__ import annotations

import asyncio
import sys
from collections import Counter, defaultdict
from collections.abc import AsyncIterator
from functools import partial
from typing import Any

import grpc
import msgspec

from contract.errors import DETAILS_KEY
from contract.handshake import Handshake, read_handshake
from provider_kit.program import start
from tests.interop.python.orders import listed
from tests.interop.python.wire import INITIAL, SHAPES, TRAILING, WIRE, Failing, Meeting, Seen, milliseconds
from tests.support.serving import serve
from wuu.mesh.v1.declaration_pb2 import Shape

Context = grpc.aio.ServicerContext[bytes, bytes]

_CODES: dict[int, grpc.StatusCode] = {code.value[0]: code for code in grpc.StatusCode}


class Wire:
    """The rpcs, by their names."""

    def __init__(self) -> None:
        self._events: defaultdict[str, asyncio.Event] = defaultdict(asyncio.Event)
        self._met: Counter[str] = Counter()

    async def Unary(self, request: bytes, _: Context) -> bytes:
        return request

    async def Press(self, request: bytes, context: Context) -> bytes:
        context.set_compression(grpc.Compression.Gzip)
        return request

    async def Gather(self, requests: AsyncIterator[bytes], _: Context) -> bytes:
        return b"".join([request async for request in requests])

    async def First(self, requests: AsyncIterator[bytes], _: Context) -> bytes:
        return b"%d" % len(await anext(requests))

    async def Scatter(self, request: bytes, _: Context) -> AsyncIterator[bytes]:
        for byte in request:
            yield bytes((byte,))

    async def Both(self, requests: AsyncIterator[bytes], _: Context) -> AsyncIterator[bytes]:
        async for request in requests:
            yield request

    async def Fail(self, request: bytes, context: Context) -> None:
        asked = msgspec.json.decode(request, type=Failing)
        trailers: list[tuple[str, str | bytes]] = [("x-trailing", "behind")]
        if asked.details:
            trailers.append((DETAILS_KEY, asked.details))
        await context.abort(_CODES[asked.code], asked.message, tuple(trailers))

    async def Break(self, request: bytes, context: Context) -> AsyncIterator[bytes]:
        yield request
        await self.Fail(request, context)

    async def See(self, _: bytes, context: Context) -> bytes:
        await context.send_initial_metadata(INITIAL)
        context.set_trailing_metadata(TRAILING)
        received: Any = context.invocation_metadata()
        return msgspec.json.encode(Seen(listed(received), milliseconds(context.time_remaining())))

    async def Hang(self, request: bytes, _: Context) -> None:
        await self._hang(request.decode())

    async def Linger(self, requests: AsyncIterator[bytes], _: Context) -> AsyncIterator[bytes]:
        key = await anext(requests)
        yield key
        await self._hang(key.decode())

    async def _hang(self, key: str) -> None:
        self._events[f"started {key}"].set()
        try:
            await asyncio.Event().wait()
        finally:
            self._events[f"ended {key}"].set()

    async def Watch(self, request: bytes, _: Context) -> bytes:
        await self._events[request.decode()].wait()
        return request

    async def Meet(self, request: bytes, _: Context) -> bytes:
        asked = msgspec.json.decode(request, type=Meeting)
        self._met[asked.key] += 1
        if self._met[asked.key] == asked.count:
            self._events[asked.key].set()
        await self._events[asked.key].wait()
        return request


HANDLERS: dict[Shape, Any] = {
    Shape.SHAPE_UNARY: grpc.unary_unary_rpc_method_handler,
    Shape.SHAPE_CLIENT_STREAM: grpc.stream_unary_rpc_method_handler,
    Shape.SHAPE_SERVER_STREAM: grpc.unary_stream_rpc_method_handler,
    Shape.SHAPE_BIDI_STREAM: grpc.stream_stream_rpc_method_handler,
}


async def _run(declaration: bytes, handshake: Handshake) -> None:
    async def initialize(_: bytes, __: Context) -> bytes:
        return declaration

    wire = Wire()
    rpcs = {rpc: HANDLERS[shape](getattr(wire, rpc)) for rpc, shape in SHAPES.items()}
    await serve(handshake, initialize, {WIRE: rpcs})


if __name__ == "__main__":
    start(read_handshake, partial(_run, bytes.fromhex(sys.argv[1])))
