"""A forwarder from a TCP port of the loopback to a Unix socket, for tools that know nothing of the latter."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

from router.relay.http2.frame import ACK, HEAD, HEAD_SIZE, PREFACE, SETTINGS

Pass = Callable[[asyncio.StreamReader, asyncio.StreamWriter], object]


@asynccontextmanager
async def forwarded(path: Path, *, acknowledging: bool = True) -> AsyncIterator[int]:
    """The port, which takes any number of connections.

    Not `acknowledging`, it keeps back the client's first acknowledgement of our settings.
    """

    async def connect(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            inward, outward = await asyncio.open_unix_connection(str(path))
        except OSError:
            writer.close()
            return

        async def send() -> None:
            if not acknowledging:
                await _without_acknowledgement(reader, outward)
            await _pass(reader, outward)

        await asyncio.gather(send(), _pass(inward, writer))

    server = await asyncio.start_server(connect, "127.0.0.1", 0)
    async with server:
        yield server.sockets[0].getsockname()[1]


async def _pass(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Passes on what is read, and then that there is no more."""
    try:
        while chunk := await reader.read(65536):
            writer.write(chunk)
            await writer.drain()
    except ConnectionError:
        pass  # the other direction ends with it
    finally:
        writer.close()


async def _without_acknowledgement(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Passes on everything before the first acknowledgement of SETTINGS, and drops that."""
    try:
        preface = await reader.readexactly(len(PREFACE))
        writer.write(preface)
        if preface != PREFACE:
            return
        while True:
            head = await reader.readexactly(HEAD_SIZE)
            high, low, kind, flags, _ = HEAD.unpack(head)
            if kind == SETTINGS and flags & ACK:
                return
            writer.write(head + await reader.readexactly(high << 8 | low))
    except asyncio.IncompleteReadError as short:
        writer.write(short.partial)
    except ConnectionError:
        pass  # so does the rest end
