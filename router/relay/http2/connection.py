"""Connection: what one end of an HTTP/2 connection owes the other, whichever of the two it is.

Its own are the settings, PING, GOAWAY, the stream ids and the window of the connection, which we keep open:
what waits is bounded by the windows of the streams, so that one which stalls never stops its neighbours.
"""

from __future__ import annotations

import asyncio
from typing import Any, cast

from hyperframe.exceptions import HyperframeError, InvalidFrameError
from hyperframe.frame import (
    DataFrame,
    Frame,
    GoAwayFrame,
    HeadersFrame,
    PingFrame,
    PriorityFrame,
    SettingsFrame,
)

from router.relay.http2 import frame
from router.relay.http2.block import Block, Table
from router.relay.http2.chatter import Chatter
from router.relay.http2.frame import (
    CONTINUATION,
    DATA,
    DEFAULT_WINDOW,
    END_HEADERS,
    END_STREAM,
    HEAD,
    HEAD_SIZE,
    HEADERS,
    LARGEST_WINDOW,
    PADDED,
    PREFACE,
    PRIORITIZED,
    RST_STREAM,
    SETTINGS,
    WINDOW_UPDATE,
    Code,
    Malformed,
    Violation,
    rst_stream,
    window_update,
)
from router.relay.http2.limits import Limits
from router.relay.http2.outbox import outbox
from router.relay.http2.pace import Pace
from router.relay.http2.stream import LARGEST_RECEIVE_WINDOW, NOBODY, Stream

FRAME_LIMIT = 1 << 16
"""Bytes that a frame towards us may have."""

BUFFER = 4 * (FRAME_LIMIT + HEAD_SIZE)
"""Bytes that are read at once."""

HEADER_LIST_LIMIT = 1 << 14
"""Bytes of a header list that we take, as RFC 9113 counts them: name, value and 32 for each field."""

WRITES_BEFORE_PAUSE = 1 << 18
"""Bytes that wait to be written past which no more is sent that can wait."""

BACKLOG_LIMIT = 4 << 20
"""Bytes of answers that a peer may leave unread while it goes on asking."""

WAITING_LIMIT = 128 << 20
"""Bytes that may wait to be sent on all streams of a peer that begins calls."""

NO_TABLE = b"\x20"
"""A dynamic table size update to 0. Our blocks use no table, and a peer that takes its own away wants to hear
it (RFC 9113, section 4.3.1)."""

SPARE_WINDOWS = 32 << 20
"""Bytes by which the windows of one connection's streams may have grown, in all."""

REMEMBERED = 1 << 14
"""How many streams are remembered after we have reset them: what was on its way is no violation."""

CLOSE_WITHIN = 1.0
"""Seconds that a peer has to read why it lost its connection."""


class Connection(asyncio.BufferedProtocol):
    """One connection. A subclass says which end it is, and takes what a peer begins."""

    is_client = False

    def __init__(self) -> None:
        self.transport: asyncio.Transport = cast("asyncio.Transport", None)
        self.streams: dict[int, Stream] = {}
        self.stalled: dict[Stream, None] = {}
        """The streams that have something to send and no room for it, the next one first."""
        self.waiting = 0
        """Bytes that wait to be sent on its streams."""
        self.paused = False
        """The peer reads more slowly than we write."""
        self.lost = False
        """Nothing can be sent any more."""
        self.ending = False
        """No new stream begins on it."""
        self.send_window = DEFAULT_WINDOW
        self.limits = Limits()
        self.unsaid = NO_TABLE
        """What the next header block begins with."""
        self.last_begun = 0
        """The highest id of a stream that the client has begun."""
        self._outbox = outbox()
        self._out: list[memoryview | bytes | bytearray] = []
        """What is to be written; views of what was read are good until the read is handled."""
        self._size = 0
        """Bytes of it, the heads of frames aside."""
        self._buffer = bytearray(BUFFER)
        self._view = memoryview(self._buffer)
        self._have = 0
        self._received = 0
        """Bytes of DATA since the window of the connection was opened last."""
        self._preface = b"" if self.is_client else PREFACE
        """What of the preface is still to come."""
        self._greeted = False
        """The peer's first SETTINGS have come."""
        self._table: Table | None = Table()
        """None once the peer knows that there is none: see `router.relay.http2.field`."""
        self._block: Block | None = None
        """A header block that has begun."""
        self._reset: dict[int, int] = {}
        """By stream that we have reset, how many bytes may still be on their way."""
        self._grown = 0
        self.chatter = Chatter()
        self._chatter_since = 0.0

    # --- what a subclass takes ---

    def begun(self, id: int, block: bytes, end: bool) -> None:  # noqa: A002
        """The peer begins a stream."""
        raise NotImplementedError

    def going_away(self, last: int, code: int, debug: bytes) -> None:
        """The peer takes up no stream after `last`."""

    def room(self) -> None:
        """There may be room for another stream."""

    def settings(self) -> dict[int, int]:
        """What this end says about itself."""
        return {
            SettingsFrame.HEADER_TABLE_SIZE: 0,
            SettingsFrame.MAX_FRAME_SIZE: FRAME_LIMIT,
            SettingsFrame.MAX_HEADER_LIST_SIZE: HEADER_LIST_LIMIT,
        }

    # --- the transport ---

    def connection_made(self, transport: Any) -> None:
        self.transport = transport
        self._pace = Pace(transport)
        transport.set_write_buffer_limits(high=WRITES_BEFORE_PAUSE)
        settings = SettingsFrame(settings=self.settings()).serialize()
        # The window of the connection never stops a stream; each has its own.
        opened = window_update(0, LARGEST_WINDOW - DEFAULT_WINDOW)
        self.write((PREFACE if self.is_client else b"") + settings + opened)

    def connection_lost(self, reason: Exception | None) -> None:
        self._lose(str(reason) if reason is not None else "the connection was closed")

    def pause_writing(self) -> None:
        self.paused = True

    def resume_writing(self) -> None:
        self.paused = False
        self._pump()
        self.room()

    def eof_received(self) -> bool:
        return False

    def get_buffer(self, _hint: int) -> memoryview:
        return self._view[self._have :]

    def buffer_updated(self, size: int) -> None:
        self._have += size
        if self.lost:
            self._have = 0
            return
        at, outbox = 0, self._outbox
        outbox.reading = True
        try:
            if self._preface:
                at = self._take_preface()
            at = self._take_frames(at)
        except Violation as violation:
            self.fail(violation.code, violation.message)
            at = self._have
        finally:
            outbox.flush()
        if not self.lost:
            self._pace.read(size)
        left = self._have - at
        if at and left:
            self._buffer[:left] = self._buffer[at : self._have]
        self._have = left
        if self.paused and self.transport.get_write_buffer_size() > BACKLOG_LIMIT:
            self.fail(Code.ENHANCE_YOUR_CALM, "the peer asks and does not read")

    def write(self, head: bytes, payload: memoryview | bytes | bytearray = b"") -> None:
        """Writes one frame, once everything is handled that was read with what led to it."""
        if self.lost:
            return
        if not self._out:
            self._outbox.add(self)
        self._out.append(head)
        if payload:
            self._out.append(payload)
            self._size += len(payload)
            if self._size > WRITES_BEFORE_PAUSE:
                # Only the transport knows when the peer has enough.
                self.flush()

    def flush(self) -> None:
        """Hands to the transport what is to be written."""
        out, self._size = b"".join(self._out), 0
        self._out.clear()
        if out and not self.lost:
            self.transport.write(out)

    def close(self) -> None:
        """Closes the connection once everything is written."""
        self.flush()
        self.transport.close()

    # --- frames ---

    def _take_preface(self) -> int:
        size = min(self._have, len(self._preface))
        if self._buffer[:size] != self._preface[:size]:
            raise Violation(Code.PROTOCOL_ERROR, "this socket speaks gRPC: HTTP/2 with prior knowledge")
        self._preface = self._preface[size:]
        return size

    def _take_frames(self, at: int) -> int:
        """Takes every frame that is there as a whole; returns where the next one begins."""
        buffer, view, have = self._buffer, self._view, self._have
        while have - at >= HEAD_SIZE:
            high, low, kind, flags, id = HEAD.unpack_from(buffer, at)  # noqa: A001
            size = high << 8 | low
            if size > FRAME_LIMIT:
                raise Violation(
                    Code.FRAME_SIZE_ERROR, f"a frame of {size} bytes, and {FRAME_LIMIT} are taken"
                )
            body = at + HEAD_SIZE
            after = body + size
            if after > have:
                break
            id &= 0x7FFFFFFF  # noqa: A001
            if self._block is not None and (kind != CONTINUATION or id != self._block.stream):
                raise Violation(Code.PROTOCOL_ERROR, "a header block that another frame interrupts")
            try:
                if not self._greeted:
                    self._greet(kind, flags)
                if kind == DATA and not flags & PADDED and size:
                    self._data(id, view[body:after], size, bool(flags & END_STREAM))
                elif kind == HEADERS and flags & (PADDED | PRIORITIZED | END_HEADERS) == END_HEADERS:
                    self._headers(id, bytes(view[body:after]), bool(flags & END_STREAM))
                elif kind == WINDOW_UPDATE and size == 4:
                    self._window(id, frame.long(view[body:after]))
                elif kind == RST_STREAM and size == 4:
                    self._was_reset(id, frame.code(view[body:after]))
                else:
                    self._rare(view[at:after])
            except Malformed as malformed:
                self._spoil(id, malformed)
            if self.lost:
                return have
            at = after
        return at

    def _greet(self, kind: int, flags: int) -> None:
        if kind != SETTINGS or flags & frame.ACK:
            raise Violation(Code.PROTOCOL_ERROR, "the first frame is not SETTINGS")
        self._greeted = True

    def _spoil(self, id: int, malformed: Malformed) -> None:  # noqa: A002
        stream = self.streams.get(id)
        if stream is None:
            self._check_begun(id, str(malformed))
            self.write(rst_stream(id, malformed.code))
            self._remember(id)
            return
        sink = stream.sink
        self.reset(stream, malformed.code)
        sink.on_reset(stream, malformed.code)

    def _data(self, id: int, payload: memoryview, size: int, end: bool) -> None:  # noqa: A002
        """`size` counts against the windows, padding included."""
        self._received += size
        if self._received > LARGEST_WINDOW >> 1:
            self.write(window_update(0, self._received))
            self._received = 0
        stream = self.streams.get(id)
        if stream is None:
            self._not_open(id, "DATA", size)
            return
        if stream.got_end:
            raise Malformed(Code.STREAM_CLOSED, "DATA behind the end of its stream")
        stream.receive_window -= size
        if stream.receive_window < 0:
            raise Malformed(Code.FLOW_CONTROL_ERROR, "more DATA than its window has room for")
        if stream.expected is not None:
            stream.expected -= len(payload)
            if stream.expected < 0 or (end and stream.expected):
                raise Malformed(Code.PROTOCOL_ERROR, "DATA that is not as long as its content-length")
        if size != len(payload):
            stream.consumed(size - len(payload))
        stream.got_end = end
        stream.sink.on_data(stream, payload, end)
        if end and stream.sent_end:
            self._forget(stream)

    def _headers(self, id: int, block: bytes, end: bool) -> None:  # noqa: A002
        if self._table is not None:
            block = self._table.stateless(block)
        stream = self.streams.get(id)
        if stream is not None:
            if stream.got_end:
                raise Malformed(Code.STREAM_CLOSED, "HEADERS behind the end of its stream")
            stream.got_end = end
            if end and stream.expected:
                raise Malformed(Code.PROTOCOL_ERROR, "less DATA than its content-length")
            stream.sink.on_headers(stream, block, end)
            if end and stream.sent_end:
                self._forget(stream)
        elif id > self.last_begun and not self.is_client:
            if not id & 1:
                raise Violation(Code.PROTOCOL_ERROR, "a client begins streams with odd ids")
            self.last_begun = id
            self.begun(id, block, end)
        else:
            self._not_open(id, "HEADERS", 0)

    def _window(self, id: int, increment: int) -> None:  # noqa: A002
        if not id:
            if not increment:
                raise Violation(Code.PROTOCOL_ERROR, "a WINDOW_UPDATE of 0")
            self.send_window += increment
            if self.send_window > LARGEST_WINDOW:
                raise Violation(Code.FLOW_CONTROL_ERROR, "a window of more than 2^31-1 bytes")
            if self.stalled:
                self._pump()
            else:
                self.chatter.add()
            return
        if (stream := self.streams.get(id)) is None:
            self._check_begun(id, "WINDOW_UPDATE")
            self.chatter.add()
            return
        if not increment:
            raise Malformed(Code.PROTOCOL_ERROR, "a WINDOW_UPDATE of 0")
        stream.send_window += increment
        if stream.send_window > LARGEST_WINDOW:
            raise Malformed(Code.FLOW_CONTROL_ERROR, "a window of more than 2^31-1 bytes")
        stream.pump()

    def _was_reset(self, id: int, code: int) -> None:  # noqa: A002
        stream = self.streams.get(id)
        if stream is None:
            self._check_begun(id, "RST_STREAM")
            self.chatter.add()
            return
        sink = stream.sink
        self._forget(stream)
        sink.on_reset(stream, code)

    def _rare(self, whole: memoryview) -> None:
        """Every frame that is not on the path of a call."""
        try:
            parsed, _ = Frame.parse_frame_header(whole[:HEAD_SIZE])
            parsed.parse_body(whole[HEAD_SIZE:])
        except InvalidFrameError as broken:
            raise Violation(Code.FRAME_SIZE_ERROR, str(broken)) from None
        except HyperframeError as broken:
            raise Violation(Code.PROTOCOL_ERROR, str(broken)) from None
        id, size = parsed.stream_id, len(whole) - HEAD_SIZE  # noqa: A001
        end, ends_block = "END_STREAM" in parsed.flags, "END_HEADERS" in parsed.flags
        match parsed:
            case DataFrame():
                self.chatter.add()
                self._data(id, memoryview(parsed.data), size, end)
            case HeadersFrame():
                spoiled = "PRIORITY" in parsed.flags and parsed.depends_on == id
                self._block = Block(id, end, spoiled, bytearray(parsed.data))
                if ends_block:
                    self._end_block()
            case PriorityFrame():
                self.chatter.add()
                if parsed.depends_on == id:
                    # Its stream may be one that nobody has begun, and then cannot be reset.
                    raise Violation(Code.PROTOCOL_ERROR, "a stream that depends on itself")
            case SettingsFrame():
                # It may concern every stream.
                self.chatter.add(1 + len(self.streams) // 16)
                self._settings(parsed)
            case PingFrame():
                self.chatter.add()
                if "ACK" not in parsed.flags:
                    self.write(PingFrame(opaque_data=parsed.opaque_data, flags=["ACK"]).serialize())
            case GoAwayFrame():
                self.going_away(parsed.last_stream_id, parsed.error_code, parsed.additional_data)
            case _ if parsed.type == CONTINUATION:
                self._continue_block(cast("Any", parsed).data)
                if ends_block:
                    self._end_block()
            case _ if parsed.type == frame.PUSH_PROMISE:
                raise Violation(Code.PROTOCOL_ERROR, "a PUSH_PROMISE, which nobody may send here")
            case _:
                # Of a kind that RFC 9113 does not know, and tells us to ignore.
                self.chatter.add()

    def _continue_block(self, part: bytes) -> None:
        if self._block is None:
            raise Violation(Code.PROTOCOL_ERROR, "a CONTINUATION of nothing")
        if not part:
            self.chatter.add()
        self._block.extend(part)

    def _end_block(self) -> None:
        block, self._block = self._block, None
        assert block is not None, "the caller has begun it"
        if block.spoiled:
            # Only now, since the next block may refer to this one.
            if self._table is not None:
                self._table.stateless(bytes(block.content))
            self.last_begun = max(block.stream, self.last_begun)
            raise Malformed(Code.PROTOCOL_ERROR, "a stream that depends on itself")
        self._headers(block.stream, bytes(block.content), block.end)

    # --- settings ---

    def _settings(self, said: SettingsFrame) -> None:
        if "ACK" in said.flags:
            # From here on no block of the peer refers to one.
            self._table = None
            return
        before = self.limits.window
        self.limits.take(said.settings, of_server=self.is_client)
        if (change := self.limits.window - before) != 0:
            for stream in self.streams.values():
                stream.send_window += change
                if stream.send_window > LARGEST_WINDOW:
                    raise Violation(Code.FLOW_CONTROL_ERROR, "a window of more than 2^31-1 bytes")
        self.write(SettingsFrame(flags=["ACK"]).serialize())
        for stream in [each for each in self.streams.values() if each.waiting is not None]:
            stream.pump()
        self.room()

    # --- streams ---

    def reset(self, stream: Stream, code: Code) -> None:
        """Ends a stream of ours or of the peer at once."""
        over = stream.got_end and stream.sent_end
        if not over and self.streams.get(stream.id) is stream:
            self.write(rst_stream(stream.id, code))
            self._remember(stream.id, stream.receive_window)
        self._forget(stream)

    def ended_here(self, stream: Stream) -> None:
        """Everything that we have to say on a stream is said."""
        stream.sent_end = True
        if stream.got_end:
            self._forget(stream)
        elif not self.is_client:
            # The rest of a request that is answered already is not wanted.
            self.reset(stream, Code.NO_ERROR)

    def grow(self, stream: Stream) -> int:
        """By how many bytes the window of a stream may grow now."""
        grown = min(stream.window, LARGEST_RECEIVE_WINDOW - stream.window, SPARE_WINDOWS - self._grown)
        self._grown += grown
        return grown

    def fail(self, code: Code, message: str) -> None:
        """Tells the peer what it did, and gives up the connection."""
        self.say_goodbye(code, message)
        self.close()
        asyncio.get_running_loop().call_later(CLOSE_WITHIN, self.transport.abort)
        self._lose(message)

    def check_waiting(self) -> None:
        """Gives up a peer that asks and does not take what it is answered."""
        if self.waiting > WAITING_LIMIT:
            self.fail(Code.ENHANCE_YOUR_CALM, "the peer asks and does not take the answers")

    def say_goodbye(self, code: Code, message: str = "") -> None:
        """GOAWAY: streams that the peer begins from here on are not taken up."""
        self.ending = True
        last = 0 if self.is_client else self.last_begun
        self.write(GoAwayFrame(0, last, code, message.encode()).serialize())

    def _lose(self, why: str) -> None:
        if self.lost:
            return
        self.lost = self.ending = True
        streams = tuple(self.streams.values())
        for stream in streams:
            sink = stream.sink
            self._forget(stream)
            sink.on_lost(stream, why, processed=True)
        self.gone()

    def gone(self) -> None:
        """The connection has ended."""

    def _forget(self, stream: Stream) -> None:
        if self.streams.get(stream.id) is stream:
            del self.streams[stream.id]
            self._grown -= stream.window - DEFAULT_WINDOW
        stream.drop_data()
        # What refers to each other is freed at once only where it lets go.
        stream.sink = NOBODY
        stream.source = None
        stream.got_end = stream.sent_end = True
        self.room()

    def _remember(self, id: int, window: int = DEFAULT_WINDOW) -> None:  # noqa: A002
        if len(self._reset) >= REMEMBERED:
            del self._reset[next(iter(self._reset))]
        self._reset[id] = window

    def _not_open(self, id: int, what: str, size: int) -> None:  # noqa: A002
        self._check_begun(id, what)
        left = self._reset.get(id)
        if left is None:
            raise Violation(Code.STREAM_CLOSED, f"{what} on a stream that is closed")
        if size > left:
            raise Violation(Code.FLOW_CONTROL_ERROR, "more DATA than its window had room for")
        # What was on its way when the stream was reset is no fault of the peer.
        self._reset[id] = left - size
        if not size:
            self.chatter.add()

    def _check_begun(self, id: int, what: str) -> None:  # noqa: A002
        if not id or id > self.last_begun or not id & 1:
            raise Violation(Code.PROTOCOL_ERROR, f"{what} on a stream that nobody has begun")

    def _pump(self) -> None:
        """Gives every stream that waits its turn, as far as the window of the connection goes."""
        for stream in tuple(self.stalled):
            if self.paused or self.send_window <= 0:
                return
            stream.pump()
            if stream in self.stalled:
                # The next turn is another's.
                del self.stalled[stream]
                self.stalled[stream] = None
