"""Inbound: the connection of one consumer, with calls to many instances and generations at once."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from hyperframe.frame import SettingsFrame

from router.relay.http2.connection import Connection
from router.relay.http2.frame import Code, rst_stream
from router.relay.http2.stream import NOBODY, Stream

MAX_STREAMS = 1 << 16
"""Calls that one consumer may have open. Admission refuses far fewer, with a code; none waits for another."""

Accept = Callable[[Stream, bytes], None]
"""Takes a stream that a consumer has begun, and its header block. Raises `Malformed`."""


class Inbound(Connection):
    """The connection of one consumer."""

    def __init__(self, accept: Accept, live: set[Inbound]) -> None:
        super().__init__()
        self._accept = accept
        self._live = live
        self.closed = asyncio.get_running_loop().create_future()
        """Done once it has ended."""
        live.add(self)

    def settings(self) -> dict[int, int]:
        return {**super().settings(), SettingsFrame.MAX_CONCURRENT_STREAMS: MAX_STREAMS}

    def begun(self, id: int, block: bytes, end: bool) -> None:  # noqa: A002
        if self.ending or len(self.streams) >= MAX_STREAMS:
            self.write(rst_stream(id, Code.REFUSED_STREAM))
            self._remember(id)
            return
        stream = self.streams[id] = Stream(self, id, NOBODY)
        stream.got_end = end
        self._accept(stream, block)

    def room(self) -> None:
        if self.ending and not self.streams and not self.lost:
            self.close()

    def gone(self) -> None:
        self._live.discard(self)
        if not self.closed.done():
            self.closed.set_result(None)

    def end(self) -> None:
        """Takes no more calls; the last one that is open closes the connection."""
        if not self.lost:
            self.say_goodbye(Code.NO_ERROR, "the mesh is stopping")
            self.room()

    def abort(self) -> None:
        """Ends it with everything on it."""
        self._lose("the mesh has stopped")
        self.transport.abort()
