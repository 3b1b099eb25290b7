"""A peer of the router that sends the frames it is told to, and looks at those that come back."""

from __future__ import annotations

import socket
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any

from hpack import Decoder, Encoder
from hyperframe.frame import (
    DataFrame,
    Frame,
    GoAwayFrame,
    HeadersFrame,
    RstStreamFrame,
    SettingsFrame,
)

from tests.support.http2 import PREFACE, grpc_request
from tests.support.probe import STREAMS
from tests.support.process import PATIENCE

Headers = Sequence[tuple[bytes, bytes]]

CALL: Headers = (*grpc_request(f"/{STREAMS}/Both".encode()), (b"wuu-service", b"probe.streams@1"))
"""A call that answers each message of its request and stays open until that ends."""

GATHER: Headers = (*grpc_request(f"/{STREAMS}/Gather".encode()), (b"wuu-service", b"probe.streams@1"))
"""A call that answers once its request has ended."""


class Peer:
    """One connection to a socket of the router."""

    def __init__(self, path: Path, **settings: int) -> None:
        """`settings` by their names in RFC 9113, in lower case."""
        self._socket = socket.socket(socket.AF_UNIX)
        self._socket.settimeout(PATIENCE)
        self._socket.connect(str(path))
        # The router's table has no room.
        self._encoder = Encoder()
        self._encoder.header_table_size = 0
        self._decoder = Decoder()
        self._received = b""
        self._socket.sendall(PREFACE)
        self.settings(*settings.items())
        self.send(SettingsFrame(flags=["ACK"]))

    def __enter__(self) -> Peer:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._socket.close()

    def send(self, *frames: Frame) -> None:
        """Sends frames at once."""
        self._socket.sendall(b"".join(frame.serialize() for frame in frames))

    def settings(self, *values: tuple[str, int]) -> None:
        """Sends SETTINGS, in the order given; a name may stand twice."""
        body = b"".join(
            getattr(SettingsFrame, name.upper()).to_bytes(2) + value.to_bytes(4) for name, value in values
        )
        self._socket.sendall(len(body).to_bytes(3) + b"\x04\0" + bytes(4) + body)

    def headers(self, stream: int, fields: Headers, *, end: bool = False) -> HeadersFrame:
        """A HEADERS frame."""
        flags = ["END_HEADERS", "END_STREAM"] if end else ["END_HEADERS"]
        return HeadersFrame(stream, self._encoder.encode(fields), flags=flags)

    def message(self, stream: int, content: bytes = b"", *, end: bool = False) -> DataFrame:
        """A DATA frame with one message of gRPC."""
        return DataFrame(stream, frame(content), flags=["END_STREAM"] if end else [])

    def opened(self, stream: int = 1, fields: Headers = CALL) -> None:
        """Begins a call, and returns once its provider answers."""
        self.send(self.headers(stream, fields), self.message(stream, b"hello"))
        while not isinstance(self.next(stream), DataFrame):
            pass

    def next(self, stream: int) -> Frame:
        """The next frame of a stream, or the GOAWAY that ends the connection."""
        return next(
            each for each in self._frames() if each.stream_id == stream or isinstance(each, GoAwayFrame)
        )

    def reset(self, stream: int = 1) -> int:
        """The code with which the router gives up a stream, or the connection with it."""
        while True:
            found = self.next(stream)
            if isinstance(found, RstStreamFrame | GoAwayFrame):
                code: int = found.error_code
                return code
            assert "END_STREAM" not in found.flags, "the call has ended well"

    def data(self, stream: int, size: int) -> list[bytes]:
        """The payloads of the DATA frames that bring so many bytes, or more."""
        payloads: list[bytes] = []
        while sum(map(len, payloads)) < size:
            found = self.next(stream)
            assert not isinstance(found, RstStreamFrame | GoAwayFrame), found
            if isinstance(found, DataFrame):
                payloads.append(found.data)
        return payloads

    def status(self, stream: int) -> str:
        """The grpc-status that ends a stream."""
        while True:
            found = self.next(stream)
            assert not isinstance(found, RstStreamFrame | GoAwayFrame), found
            if isinstance(found, HeadersFrame) and "END_STREAM" in found.flags:
                fields: dict[Any, Any] = dict(self._decoder.decode(found.data))
                return str(fields["grpc-status"])

    def _frames(self) -> Iterator[Frame]:
        while True:
            while len(self._received) < 9 or len(self._received) < 9 + int.from_bytes(self._received[:3]):
                chunk = self._socket.recv(65536)
                assert chunk, "the router has closed the connection"
                self._received += chunk
            size = int.from_bytes(self._received[:3])
            found, _ = Frame.parse_frame_header(memoryview(self._received[:9]))
            found.parse_body(memoryview(self._received[9 : 9 + size]))
            self._received = self._received[9 + size :]
            yield found


def frame(content: bytes) -> bytes:
    """A message as gRPC frames it."""
    return b"\0" + len(content).to_bytes(4) + content
