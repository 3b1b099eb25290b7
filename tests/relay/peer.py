"""A peer: the other end of a line. It holds the router to RFC 9113, whatever it does itself.

Of what the router sends it checks the size of frames, the continuity of header blocks, both windows, the
order and the state of streams, that no field refers to a dynamic table, and that each block is well-formed.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from hpack import Decoder, Encoder
from hyperframe.frame import (
    ContinuationFrame,
    DataFrame,
    Frame,
    GoAwayFrame,
    HeadersFrame,
    PingFrame,
    RstStreamFrame,
    SettingsFrame,
    WindowUpdateFrame,
)

from tests.relay.line import Line

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
WINDOW = 65535
FRAME = 16384

Fields = list[tuple[str, str]]

_OF_CONNECTIONS = {"connection", "proxy-connection", "keep-alive", "transfer-encoding", "upgrade"}


@dataclass(eq=False)
class Told:
    """What the router has told on one stream, and what may still pass on it."""

    id: int
    window: int
    """Bytes that the router may send."""
    room: int = WINDOW
    """Bytes that it takes."""
    blocks: list[Fields] = field(default_factory=list)
    body: bytearray = field(default_factory=bytearray)
    ended: bool = False
    reset: int | None = None
    """The code with which the router reset it."""
    abandoned: bool = False
    """We have reset it."""
    crossed: bool = False
    """Something was on its way then."""
    waiting: deque[tuple[bytes, bool]] = field(default_factory=deque)
    """What is to be sent once the router takes it."""
    trailers: Fields | None = None
    """What is to be sent behind it."""
    said_end: bool = False

    @property
    def status(self) -> str:
        """The gRPC status; empty while there is none."""
        return dict(self.blocks[-1]).get("grpc-status", "") if self.ended and self.blocks else ""


class Peer:
    """One end that keeps the rules, as long as nobody lets it send anything else."""

    def __init__(self, line: Line, *, is_client: bool) -> None:
        self.line = line
        self.is_client = is_client
        self.lawless = False
        """It has sent what nobody can keep account of: only the form of what the router sends is checked."""
        self.reading = True
        self.generous = True
        """It gives back every window at once; what it owes otherwise is in `owed`."""
        self.owed: Counter[Told | None] = Counter()
        """Bytes that it has read and not given back, by stream and for the connection."""
        self.streams: dict[int, Told] = {}
        self.goodbye: GoAwayFrame | None = None
        self.on_begun: Callable[[Told], None] = lambda _: None
        self.on_data: Callable[[Told, bytes], None] = lambda _, __: None
        self.on_end: Callable[[Told], None] = lambda _: None
        self.on_reset: Callable[[Told], None] = lambda _: None
        self.encoder = Encoder()
        self._decoder = Decoder()
        self._decoder.max_allowed_table_size = self._decoder.header_table_size = 0
        self._next = 1
        self._last = 0
        self.window = WINDOW
        """Bytes that the router may send, on all streams."""
        self._initial = WINDOW
        self._frame = FRAME
        self._room = WINDOW
        self.said: deque[dict[int, int]] = deque()
        """What it has said of itself and the router has not acknowledged."""
        self._block: tuple[int, bool, bytearray] | None = None
        self._unread = b""
        self._preface = b"" if is_client else PREFACE
        self._greeted = False

    # --- what it sends ---

    def greet(self, settings: dict[int, int] | None = None) -> None:
        """The preface of a client, and its settings."""
        if self.is_client:
            self.line.feed(PREFACE)
        self.settings(settings or {})

    def send(self, frame: Frame, pieces: int = 1 << 18) -> None:
        """Sends a frame."""
        self.line.feed(frame.serialize(), pieces)

    def settings(self, settings: dict[int, int]) -> None:
        """Says something about itself, which holds once the router has acknowledged it."""
        self.said.append(settings)
        self.send(SettingsFrame(0, settings=settings))

    def begin(self, fields: Iterable[tuple[str, str]], *, end: bool = False) -> Told:
        """Begins a stream."""
        told = self.expect(self.reserve())
        self.headers(told, fields, end=end)
        return told

    def reserve(self) -> int:
        """The id of the next stream."""
        self._next += 2
        return self._next - 2

    def expect(self, id: int) -> Told:  # noqa: A002
        """A stream that it begins, or has begun."""
        if id not in self.streams:
            self.streams[id] = Told(id, self._initial)
        return self.streams[id]

    def headers(self, told: Told, fields: Iterable[tuple[str, str]], *, end: bool = False) -> None:
        """Sends a header block."""
        flags = ["END_HEADERS", *(["END_STREAM"] if end else [])]
        told.said_end = told.said_end or end
        self.send(HeadersFrame(told.id, self.encoder.encode(list(fields)), flags=flags))

    def data(self, told: Told, payload: bytes, *, end: bool = False) -> None:
        """Sends bytes, as soon as the windows have room for them."""
        told.waiting.append((payload, end))
        self._flush(told)

    def finish(self, told: Told, trailers: Fields) -> None:
        """Sends what ends a stream, behind the bytes that wait."""
        told.trailers = trailers
        self._flush(told)

    def grant(self, told: Told | None, size: int) -> None:
        """Lets the router send so many bytes more, on a stream or on the connection."""
        if told is None:
            self.window += size
        else:
            told.window += size
        self.send(WindowUpdateFrame(0 if told is None else told.id, window_increment=size))

    def repay(self) -> None:
        """Gives back every window."""
        owed, self.owed = self.owed, Counter()
        for told, size in owed.items():
            if told is None or not (told.ended or told.abandoned or told.reset is not None):
                self.grant(told, size)

    def abandon(self, told: Told, code: int = 8) -> None:
        """Resets a stream."""
        self.forsake(told)
        self.send(RstStreamFrame(told.id, error_code=code))

    def forsake(self, told: Told) -> None:
        """A stream is about to be reset."""
        told.crossed = told.crossed or (not told.abandoned and self.line.get_write_buffer_size() > 0)
        told.abandoned = True
        told.waiting.clear()

    def _flush(self, told: Told) -> None:
        while told.waiting and not (told.said_end or told.abandoned or told.reset is not None):
            payload, end = told.waiting[0]
            size = min(len(payload), told.room, self._room, FRAME)
            if size <= 0 and payload:
                return
            told.waiting.popleft()
            if size < len(payload):
                told.waiting.appendleft((payload[size:], end))
                end = False
            told.room -= size
            self._room -= size
            told.said_end = end
            self.send(DataFrame(told.id, payload[:size], flags=["END_STREAM"] if end else []))
        if told.trailers is not None and not (told.said_end or told.abandoned or told.reset is not None):
            self.headers(told, told.trailers, end=True)

    # --- what it reads ---

    def read(self) -> bool:
        """Reads everything that there is; whether there was anything."""
        if not self.reading:
            return False
        taken = self.line.take()
        if not taken:
            return False
        self._unread += taken
        if self._preface:
            size = min(len(self._preface), len(self._unread))
            assert self._unread[:size] == self._preface[:size]
            self._preface, self._unread = self._preface[size:], self._unread[size:]
        while len(self._unread) >= 9:
            parsed, size = Frame.parse_frame_header(memoryview(self._unread[:9]))
            if len(self._unread) < 9 + size:
                break
            parsed.parse_body(memoryview(self._unread[9 : 9 + size]))
            self._unread = self._unread[9 + size :]
            self._take(parsed, size)
        return True

    def _take(self, parsed: Frame, size: int) -> None:
        assert size <= self._frame, f"a frame of {size} bytes, and {self._frame} are taken"
        if not self._greeted:
            assert isinstance(parsed, SettingsFrame) and "ACK" not in parsed.flags, parsed
            self._greeted = True
        if self._block is not None:
            assert isinstance(parsed, ContinuationFrame) and parsed.stream_id == self._block[0], parsed
        id, end = parsed.stream_id, "END_STREAM" in parsed.flags  # noqa: A001
        match parsed:
            case SettingsFrame():
                self._settings(parsed)
            case PingFrame():
                assert "ACK" in parsed.flags, "the router never asks"
            case GoAwayFrame():
                assert self.goodbye is None or parsed.error_code, "the router says goodbye twice"
                self.goodbye = parsed
            case WindowUpdateFrame():
                assert 0 < parsed.window_increment < 1 << 31
                self._granted(id, parsed.window_increment)
            case RstStreamFrame():
                self._reset(id, parsed.error_code)
            case DataFrame():
                self._data(self._open(id), parsed.data, size, end)
            case HeadersFrame():
                self._open(id)
                self._block = (id, end, bytearray(parsed.data))
                self._end_block(parsed)
            case ContinuationFrame():
                assert self._block is not None, "a CONTINUATION of nothing"
                self._block[2].extend(parsed.data)
                self._end_block(parsed)
            case _:
                raise AssertionError(f"the router sends {parsed!r}")

    def _open(self, id: int) -> Told:  # noqa: A002
        told = self.streams.get(id)
        if told is None and not self.is_client:
            assert id & 1 and id > self._last, f"stream {id} behind {self._last}"
            self._last = id
            told = self.expect(id)
        if told is None and self.lawless:
            told = self.expect(id)
        assert told is not None, f"stream {id}, which nobody has begun"
        assert not told.ended, f"something behind the end of stream {id}"
        assert told.reset is None, f"something behind the reset of stream {id}"
        assert self.lawless or told.crossed or not told.abandoned, (
            f"something on stream {id}, which was reset"
        )
        return told

    def _settings(self, parsed: SettingsFrame) -> None:
        if "ACK" not in parsed.flags:
            self.encoder.header_table_size = min(
                parsed.settings.get(SettingsFrame.HEADER_TABLE_SIZE, 4096), 4096
            )
            self.send(SettingsFrame(0, flags=["ACK"]))
            return
        said = self.said.popleft() if self.said else {}
        initial = said.get(SettingsFrame.INITIAL_WINDOW_SIZE, self._initial)
        for told in self.streams.values():
            told.window += initial - self._initial
        self._initial = initial
        self._frame = said.get(SettingsFrame.MAX_FRAME_SIZE, self._frame)

    def _granted(self, id: int, size: int) -> None:  # noqa: A002
        if not id:
            self._room += size
        elif (told := self.streams.get(id)) is not None:
            told.room += size
            self._flush(told)
            return
        for told in self.streams.values():
            self._flush(told)

    def _reset(self, id: int, code: int) -> None:  # noqa: A002
        told = self.expect(id) if self.lawless else self.streams.get(id)
        assert told is not None, f"a reset of stream {id}, which nobody has begun"
        told.reset = code
        told.waiting.clear()
        self.on_reset(told)

    def _data(self, told: Told, payload: bytes, size: int, end: bool) -> None:
        if size:
            told.window -= size
            self.window -= size
            if not self.lawless:
                assert told.window >= 0, f"stream {told.id} has no room for {size} bytes"
                assert self.window >= 0, f"the connection has no room for {size} bytes"
        assert told.blocks or not self.is_client, "DATA before any header"
        told.body += payload
        told.ended = end
        self.on_data(told, payload)
        if size:
            self.owed[None] += size
            self.owed[told] += size
        if self.generous and not self.line.is_closing():
            self.repay()
        if end:
            self.on_end(told)

    def _check_length(self, told: Told) -> None:
        """That as many bytes came as a message has said that it has."""
        said = dict(told.blocks[0]).get("content-length")
        assert said is None or int(said) == len(told.body), f"{len(told.body)} bytes, and {said} were said"

    def _end_block(self, parsed: Frame) -> None:
        if "END_HEADERS" not in parsed.flags:
            return
        assert self._block is not None
        id, end, block = self._block  # noqa: A001
        self._block = None
        told = self.streams[id]
        fields: Fields = [
            (bytes(name).decode("latin-1"), bytes(value).decode("latin-1"))
            for name, value in self._decoder.decode(bytes(block), raw=True)
        ]
        self._check(fields, trailers=bool(told.blocks), end=end)
        told.blocks.append(fields)
        told.ended = end
        if end:
            self._check_length(told)
        if len(told.blocks) == 1:
            self.on_begun(told)
        if end:
            self.on_end(told)

    def _check(self, fields: Fields, *, trailers: bool, end: bool) -> None:
        """That a header block is well-formed: RFC 9113, section 8.2 and 8.3."""
        pseudo = [name for name, _ in fields if name.startswith(":")]
        assert [name for name, _ in fields][: len(pseudo)] == pseudo, "a pseudo-header behind other fields"
        assert len(set(pseudo)) == len(pseudo), f"{pseudo}"
        if trailers:
            assert not pseudo and end, fields
        elif self.is_client:
            assert pseudo == [":status"], pseudo
        else:
            assert sorted(pseudo) == [":authority", ":method", ":path", ":scheme"], pseudo
        for name, value in fields:
            assert name == name.lower() and name not in _OF_CONNECTIONS, name
            assert name.removeprefix(":").isascii() and " " not in name and name, name
            assert not set(value) & set("\0\r\n"), (name, value)
            assert name != "te" or value == "trailers", value
