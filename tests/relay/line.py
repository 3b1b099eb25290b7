"""A line: one connection of the router in memory, and a loop in which every connection is one.

What the router reads it is fed, what it writes waits until its peer reads. No time passes but by `Loop.now`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, cast


class Line(asyncio.Transport):
    """The router's end. It is the transport of a socket whose peer reads when `take` is called."""

    def __init__(self, protocol: asyncio.BufferedProtocol) -> None:
        super().__init__()
        self._protocol = protocol
        self._loop = asyncio.get_running_loop()
        self._high = 1 << 16
        self._paused = False
        self._written = bytearray()
        self.closing = False
        """The router has closed it, and reads nothing more."""
        self.gone = False
        """It is over for both."""
        protocol.connection_made(self)

    # --- what the router calls ---

    def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None:
        assert high is not None
        self._high = high

    def get_write_buffer_size(self) -> int:
        return len(self._written)

    def write(self, data: bytes | bytearray | memoryview[Any]) -> None:
        if self.gone or (self.closing and not self._written):
            return
        self._written += data
        if not self._paused and len(self._written) > self._high:
            self._paused = True
            self._protocol.pause_writing()

    def pause_reading(self) -> None:
        """What a peer feeds is read all the same: it would only come a little later."""

    def resume_reading(self) -> None:
        """See `pause_reading`."""

    def is_closing(self) -> bool:
        return self.closing or self.gone

    def close(self) -> None:
        if not self.closing:
            self.closing = True
            if not self._written:
                self._loop.call_soon(self._lose, None)

    def abort(self) -> None:
        self.closing = True
        self._written.clear()
        self._loop.call_soon(self._lose, None)

    # --- what its peer calls ---

    def feed(self, sent: bytes, pieces: int = 1 << 18) -> None:
        """The router reads it, in pieces of so many bytes."""
        for at in range(0, len(sent), pieces):
            piece = sent[at : at + pieces]
            while piece and not self.is_closing():
                room = cast("memoryview[int]", self._protocol.get_buffer(-1))
                size = min(len(room), len(piece))
                assert size, "the router has no room to read into"
                room[:size] = piece[:size]
                piece = piece[size:]
                self._protocol.buffer_updated(size)

    def take(self) -> bytes:
        """Everything that the router has written since."""
        taken = bytes(self._written)
        self._written.clear()
        if self._paused:
            self._paused = False
            if not self.gone:
                self._protocol.resume_writing()
        if self.closing and not self._written:
            self._loop.call_soon(self._lose, None)
        return taken

    def vanish(self) -> None:
        """The peer is gone, and whatever it has not read with it."""
        self._written.clear()
        self._lose(ConnectionResetError("the peer vanished"))

    def _lose(self, reason: Exception | None) -> None:
        if not self.gone:
            self.gone = True
            self._protocol.connection_lost(reason)


class Loop(asyncio.SelectorEventLoop):
    """A loop whose Unix sockets are lines, and whose clock a test moves."""

    def __init__(self) -> None:
        super().__init__()
        self.now = 0.0
        self.listening: dict[str, Callable[[Line], None]] = {}
        """By socket, who takes the other end of a new line."""
        self.accidents: list[object] = []
        """What nobody caught."""
        self.set_exception_handler(lambda _, context: self.accidents.append(context))

    def time(self) -> float:
        return self.now

    async def create_unix_connection(  # type: ignore[override]
        self, factory: Any, path: Any = None, **_: Any
    ) -> Any:
        taken = self.listening.get(path)
        if taken is None:
            raise ConnectionRefusedError(111, "Connection refused")
        protocol = factory()
        line = Line(protocol)
        taken(line)
        return line, protocol


async def turns(count: int = 4) -> None:
    """Lets everything happen that is due."""
    for _ in range(count):
        await asyncio.sleep(0)
