"""Outbound: the connection to one instance, made when it is called first and again after it was lost."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

from hyperframe.frame import SettingsFrame

from router.relay.http2.connection import Connection
from router.relay.http2.frame import LAST_STREAM, Code
from router.relay.http2.stream import Sink, Stream


class Channel:
    """The way to the instance that listens on one socket."""

    def __init__(self, socket: Path) -> None:
        self._socket = socket
        self._connection: _Outbound | None = None
        self._retired = False

    def open(self, sink: Sink, block: bytes) -> Stream:
        """Begins a stream with a header block that does not end it."""
        connection = self._connection
        if connection is None or connection.ending:
            connection = self._connection = _Outbound(self._socket)
        stream = connection.open(sink, block)
        if self._retired:
            # Not before: a connection that is retired and has nothing to do ends itself.
            connection.retire()
        return stream

    @property
    def header_list_limit(self) -> int | None:
        """Bytes of a header list that the instance takes; None where it has not said."""
        return self._connection.limits.header_list if self._connection is not None else None

    def retire(self) -> None:
        """The instance is about to end: the last stream closes the connection."""
        self._retired = True
        if self._connection is not None:
            self._connection.retire()

    def close(self) -> None:
        """The instance has ended."""
        if self._connection is not None:
            self._connection.end()


class _Outbound(Connection):
    is_client = True

    def __init__(self, socket: Path) -> None:
        super().__init__()
        self._next = 1
        self._retiring = False
        self._waiting: dict[Stream, bytes] = {}
        """Streams for which there was no room yet. One that is reset before there is leaves no trace."""
        self._connecting = asyncio.get_running_loop().create_task(self._connect(str(socket)))

    def settings(self) -> dict[int, int]:
        return {SettingsFrame.ENABLE_PUSH: 0, **super().settings()}

    def open(self, sink: Sink, block: bytes) -> Stream:
        stream = Stream(self, 0, sink)
        if self._waiting or not self._has_room():
            stream.hold()
            self._waiting[stream] = block
        else:
            self._begin(stream, block)
        return stream

    def retire(self) -> None:
        self._retiring = True
        self.room()

    def end(self) -> None:
        self.ending = True
        if self.transport is None:
            self._connecting.cancel()
            self.lost = True
            self._give_up("the instance has ended")
        elif not self.lost and not self.transport.is_closing():
            self.say_goodbye(Code.NO_ERROR)
            self.close()

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        self.room()

    def reset(self, stream: Stream, code: Code) -> None:
        self._waiting.pop(stream, None)
        super().reset(stream, code)

    def room(self) -> None:
        while self._waiting and self._has_room():
            stream = next(iter(self._waiting))
            self._begin(stream, self._waiting.pop(stream))
            stream.pump()
        if (self._retiring or self.ending) and not self.streams and not self._waiting and not self.lost:
            self.end()

    def going_away(self, last: int, code: int, debug: bytes) -> None:
        self.ending = True
        said = debug.decode("utf-8", "replace") or "it takes no more calls"
        for stream in [each for each in self.streams.values() if each.id > last]:
            sink = stream.sink
            self._forget(stream)
            sink.on_lost(stream, said, processed=False)
        self._give_up(said)
        self.room()

    def gone(self) -> None:
        self._give_up("the connection was closed")

    def begun(self, id: int, block: bytes, end: bool) -> None:  # noqa: A002
        raise AssertionError("a server begins no streams: PUSH_PROMISE is refused")

    def _has_room(self) -> bool:
        most = self.limits.streams
        return (
            self.transport is not None
            and not self.paused
            and not self.ending
            and (most is None or len(self.streams) < most)
        )

    def _begin(self, stream: Stream, block: bytes) -> None:
        stream.id = self.last_begun = self._next
        self._next += 2
        if self._next > LAST_STREAM:
            self.ending = True
        stream.send_window = self.limits.window
        self.streams[stream.id] = stream
        waiting, stream.waiting = stream.waiting, None
        stream.headers(block, end=False)
        if waiting or stream.waiting_end:
            stream.waiting = waiting

    async def _connect(self, socket: str) -> None:
        try:
            await asyncio.get_running_loop().create_unix_connection(lambda: self, socket)
        except OSError as refused:
            self.lost = self.ending = True
            self._give_up(refused.strerror or str(refused))

    def _give_up(self, why: str) -> None:
        """Nothing of what waits was sent."""
        while self._waiting:
            stream, _ = self._waiting.popitem()
            sink = stream.sink
            self._forget(stream)
            sink.on_lost(stream, why, processed=False)
