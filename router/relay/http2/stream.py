"""Stream: one HTTP/2 stream on one connection, its two windows and what waits to be sent on it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from router.relay.http2.frame import (
    DATA,
    DEFAULT_WINDOW,
    END_HEADERS,
    END_STREAM,
    HEAD,
    HEADERS,
    Code,
    Malformed,
    split,
    window_update,
)

if TYPE_CHECKING:
    from router.relay.http2.connection import Connection

LARGEST_RECEIVE_WINDOW = 4 << 20
"""Bytes that a stream may have on its way to us, once it has shown that they leave as fast as they come."""


class Sink(Protocol):
    """Who takes what a peer sends on a stream."""

    def on_headers(self, stream: object, block: bytes, end: bool) -> None: ...
    def on_data(self, stream: object, payload: memoryview, end: bool) -> None: ...
    def on_reset(self, stream: object, code: int) -> None: ...
    def on_lost(self, stream: object, why: str, *, processed: bool) -> None:
        """The connection is gone. `processed` False: the peer has said that it never took up this stream."""


class Source(Protocol):
    """Where bytes came from that are sent on a stream."""

    def consumed(self, size: int) -> None: ...


class _Nobody:
    """Takes what still comes on a stream that is over."""

    def on_headers(self, stream: object, block: bytes, end: bool) -> None: ...
    def on_data(self, stream: object, payload: memoryview, end: bool) -> None: ...
    def on_reset(self, stream: object, code: int) -> None: ...
    def on_lost(self, stream: object, why: str, *, processed: bool) -> None: ...


NOBODY = _Nobody()


class Stream:
    """One stream. What is received is credited to the peer once it has left again: see `consumed`.

    So a reader that is slow slows down its own sender, and what waits here is bounded by the window.
    """

    __slots__ = (
        "connection",
        "expected",
        "got_end",
        "id",
        "last",
        "receive_window",
        "send_window",
        "sent_end",
        "sink",
        "source",
        "unacknowledged",
        "waiting",
        "waiting_end",
        "window",
    )

    def __init__(self, connection: Connection, id: int, sink: Sink) -> None:  # noqa: A002
        self.connection = connection
        self.id = id
        """0 while it waits to be opened."""
        self.sink: Sink = sink
        self.send_window = connection.limits.window
        """Bytes that may be sent; below 0 where the peer has taken some back."""
        self.window = DEFAULT_WINDOW
        """Bytes that the peer may have on their way to us, in all."""
        self.receive_window = DEFAULT_WINDOW
        """How many of them it has not sent."""
        self.unacknowledged = 0
        """How many have left again and were not credited yet."""
        self.source: Source | None = None
        """The stream whose bytes are sent on this one."""
        self.waiting: bytearray | None = None
        """The bytes that wait to be sent; None where none do, and what comes is sent at once."""
        self.waiting_end = False
        """They end the stream, or `last` does."""
        self.last: bytes | None = None
        """The header block that waits behind them."""
        self.sent_end = False
        self.got_end = False
        self.expected: int | None = None
        """Bytes of DATA that are still to come by the content length; None where none was named."""

    # --- sending ---

    def data(self, payload: memoryview | bytes, end: bool) -> None:
        """Sends bytes, as soon as the windows have room for them."""
        connection, size = self.connection, len(payload)
        if (
            self.waiting is None
            and size <= self.send_window
            and size <= connection.send_window
            and size <= connection.limits.frame
            and not connection.paused
        ):
            if size or end:
                self._write_data(payload, size, end)
            return
        if self.waiting is None:
            self.waiting = bytearray()
        self.waiting += payload
        self.waiting_end = end
        connection.waiting += size
        self.pump()

    def headers(self, block: bytes, end: bool) -> None:
        """Sends a header block. One that waits for the bytes before it is the last."""
        if self.waiting is None:
            self._write_headers(block, end)
        else:
            self.last, self.waiting_end = block, end
            # The call is over, and nothing else bounds how many such answers wait.
            self.connection.check_waiting()

    def reset(self, code: Code) -> None:
        """Ends the stream at once, whatever waits."""
        self.connection.reset(self, code)

    def hold(self) -> None:
        """Keeps back what is sent, until the stream has an id."""
        self.waiting = bytearray()

    def drop_data(self) -> None:
        """Forgets what waits to be sent."""
        if self.waiting:
            self.connection.waiting -= len(self.waiting)
        self.waiting = self.last = None
        self.connection.stalled.pop(self, None)

    def pump(self) -> None:
        """Sends of what waits as much as the windows have room for."""
        connection, waiting = self.connection, self.waiting
        if waiting is None or not self.id:
            return
        while waiting and not connection.paused:
            room = min(self.send_window, connection.send_window, connection.limits.frame, len(waiting))
            if room <= 0:
                break
            part = waiting[:room]
            del waiting[:room]
            connection.waiting -= room
            self._write_data(part, room, self.waiting_end and self.last is None and not waiting)
        if not waiting:
            connection.stalled.pop(self, None)
            if self.waiting is waiting:
                self._end_waiting()
        elif connection.paused or connection.send_window <= 0:
            connection.stalled[self] = None
        else:
            # It waits for a window of its own.
            connection.stalled.pop(self, None)

    def _end_waiting(self) -> None:
        """The bytes have gone; so does what was to come behind them."""
        last, end = self.last, self.waiting_end
        self.waiting = self.last = None
        if last is not None:
            self._write_headers(last, end)
        elif end and not self.sent_end:
            self._write_data(b"", 0, True)

    def _write_data(self, payload: memoryview | bytes | bytearray, size: int, end: bool) -> None:
        connection = self.connection
        self.send_window -= size
        connection.send_window -= size
        connection.chatter.count = 0
        connection.write(HEAD.pack(size >> 8, size & 0xFF, DATA, end, self.id), payload)
        if self.source is not None and size:
            self.source.consumed(size)
        if end:
            connection.ended_here(self)

    def _write_headers(self, block: bytes, end: bool) -> None:
        connection = self.connection
        connection.chatter.count = 0
        block, connection.unsaid = connection.unsaid + block, b""
        if len(block) <= connection.limits.frame:
            flags = END_HEADERS | END_STREAM if end else END_HEADERS
            connection.write(HEAD.pack(len(block) >> 8, len(block) & 0xFF, HEADERS, flags, self.id), block)
        else:
            for part in split(self.id, block, END_STREAM if end else 0, connection.limits.frame):
                connection.write(part)
        if end:
            connection.ended_here(self)

    # --- receiving ---

    def expect(self, length: int | None) -> None:
        """The content length that the peer has named. Raises `Malformed` where nothing comes of it."""
        if length and self.got_end:
            raise Malformed(Code.PROTOCOL_ERROR, "less DATA than its content-length")
        self.expected = length

    def consumed(self, size: int) -> None:
        """So many bytes that came on this stream have left again: the peer may send as many more.

        It is told once they are half of its window; the window of a stream that gets this far grows.
        """
        self.unacknowledged += size
        if self.unacknowledged < self.window >> 1 or self.got_end:
            return
        increment, self.unacknowledged = self.unacknowledged, 0
        grown = self.connection.grow(self)
        self.window += grown
        self.receive_window += increment + grown
        self.connection.write(window_update(self.id, increment + grown))
