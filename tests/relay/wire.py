"""A wire: a real socket of the router, with a peer at its other end."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import cast

from tests.relay.line import Line
from tests.relay.peer import Peer
from tests.support.process import PATIENCE


class Socket:
    """A socket that is used as a line is."""

    def __init__(self, path: Path) -> None:
        self._socket = socket.socket(socket.AF_UNIX)
        self._socket.connect(str(path))
        self._socket.setblocking(False)
        self.unsent = bytearray()
        """What waits until the router reads."""
        self.gone = False
        """The router has closed it."""

    def feed(self, sent: bytes, _: int = 0) -> None:
        """Sends it, now or with `flush`."""
        self.unsent += sent
        self.flush()

    def flush(self) -> None:
        """Sends what the router has room for."""
        try:
            while self.unsent and not self.gone:
                del self.unsent[: self._socket.send(self.unsent)]
        except BlockingIOError:
            """It reads more slowly than is sent."""
        except OSError:
            self.unsent.clear()

    def take(self) -> bytes:
        """What the router has written since."""
        taken = b""
        while not self.gone:
            try:
                chunk = self._socket.recv(1 << 16)
            except BlockingIOError:
                break
            except ConnectionError:
                chunk = b""
            self.gone = not chunk
            taken += chunk
        return taken

    def is_closing(self) -> bool:
        return self.gone

    def get_write_buffer_size(self) -> int:
        """Whether something may be on its way nobody knows."""
        return 1

    async def ready(self, *, reads: bool = True) -> None:
        """Returns once there is something to be read, or room for what waits."""
        loop = asyncio.get_running_loop()
        ready = asyncio.Event()
        if reads:
            loop.add_reader(self._socket, ready.set)
        if self.unsent:
            loop.add_writer(self._socket, ready.set)
        try:
            await ready.wait()
        finally:
            loop.remove_reader(self._socket)
            loop.remove_writer(self._socket)
        self.flush()

    def close(self) -> None:
        self._socket.close()


class Wire:
    """One connection of a consumer."""

    def __init__(self, path: Path) -> None:
        self.socket = Socket(path)
        self.peer = Peer(cast("Line", self.socket), is_client=True)

    @classmethod
    @asynccontextmanager
    async def connected(cls, path: Path) -> AsyncIterator[Wire]:
        """One that has introduced itself, and is hung up in the end."""
        wire = cls(path)
        wire.peer.greet()
        try:
            yield wire
        finally:
            wire.close()

    async def until(self, happened: Callable[[], bool]) -> None:
        """Reads until something has happened."""
        async with asyncio.timeout(PATIENCE):
            self.peer.read()
            while not happened():
                assert not self.socket.gone, f"the router hung up: {self.peer.goodbye}"
                await self.socket.ready()
                self.peer.read()

    async def sent(self) -> None:
        """Returns once everything has been sent."""
        async with asyncio.timeout(PATIENCE):
            while self.socket.unsent:
                await self.socket.ready(reads=self.peer.reading)
                self.peer.read()

    async def closed(self) -> None:
        """Reads until the router hangs up."""
        async with asyncio.timeout(PATIENCE):
            while not self.socket.gone:
                await self.socket.ready()
                self.peer.read()
        self.close()

    def close(self) -> None:
        """Hangs up."""
        self.socket.close()
