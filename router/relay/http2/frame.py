"""Frames: their kinds, their head, and what makes one a violation.

Source: RFC 9113, sections 4, 6 and 7. `hyperframe` reads and writes the frames that are rare; DATA, HEADERS,
RST_STREAM and WINDOW_UPDATE pass too often for an object each.
"""

from __future__ import annotations

from collections.abc import Iterator
from enum import IntEnum
from struct import Struct

HEAD = Struct(">HBBBL")
"""The head of a frame: the upper 16 and the lower 8 bits of its length, kind, flags, stream."""

HEAD_SIZE = 9

DATA, HEADERS, PRIORITY, RST_STREAM, SETTINGS, PUSH_PROMISE, PING, GOAWAY, WINDOW_UPDATE, CONTINUATION = (
    range(10)
)
"""The kinds of frames that RFC 9113 knows. Others are ignored."""

END_STREAM, ACK, END_HEADERS, PADDED, PRIORITIZED = 0x1, 0x1, 0x4, 0x8, 0x20
"""Flags."""

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
"""What a client sends first."""

SMALLEST_FRAME_LIMIT = 1 << 14
LARGEST_FRAME_LIMIT = (1 << 24) - 1
"""The bounds of SETTINGS_MAX_FRAME_SIZE, in bytes."""

LARGEST_WINDOW = (1 << 31) - 1
"""The most bytes that a window may have."""

DEFAULT_WINDOW = (1 << 16) - 1
"""The bytes of every window before anybody says otherwise."""

LAST_STREAM = (1 << 31) - 1
"""The highest id of a stream."""

_STREAM = 0x7FFFFFFF
_LONG = Struct(">L")


class Code(IntEnum):
    """Why a stream or a connection ended."""

    NO_ERROR = 0x0
    PROTOCOL_ERROR = 0x1
    INTERNAL_ERROR = 0x2
    FLOW_CONTROL_ERROR = 0x3
    SETTINGS_TIMEOUT = 0x4
    STREAM_CLOSED = 0x5
    FRAME_SIZE_ERROR = 0x6
    REFUSED_STREAM = 0x7
    CANCEL = 0x8
    COMPRESSION_ERROR = 0x9
    CONNECT_ERROR = 0xA
    ENHANCE_YOUR_CALM = 0xB
    INADEQUATE_SECURITY = 0xC
    HTTP_1_1_REQUIRED = 0xD


class Violation(Exception):
    """The peer broke the protocol: it loses its connection."""

    def __init__(self, code: Code, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message


class Malformed(Exception):
    """The peer broke the protocol within one stream: it loses that stream."""

    def __init__(self, code: Code, message: str) -> None:
        super().__init__(message)
        self.code = code


def head(size: int, kind: int, flags: int, stream: int) -> bytes:
    """The head of a frame."""
    return HEAD.pack(size >> 8, size & 0xFF, kind, flags, stream)


def rst_stream(stream: int, code: Code) -> bytes:
    """Ends one stream."""
    return head(4, RST_STREAM, 0, stream) + _LONG.pack(code)


def window_update(stream: int, increment: int) -> bytes:
    """Lets the peer send so many bytes more; stream 0 is the connection."""
    return head(4, WINDOW_UPDATE, 0, stream) + _LONG.pack(increment)


def long(payload: bytes | memoryview) -> int:
    """The 31 bits that are the payload of WINDOW_UPDATE."""
    value: int = _LONG.unpack(payload)[0]
    return value & _STREAM


def code(payload: bytes | memoryview) -> int:
    """The error code that is the payload of RST_STREAM, whether RFC 9113 knows it or not."""
    value: int = _LONG.unpack(payload)[0]
    return value


def split(stream: int, block: bytes, flags: int, limit: int) -> Iterator[bytes]:
    """A header block in frames of at most `limit` bytes."""
    kind, at = HEADERS, 0
    while at < len(block):
        part = block[at : at + limit]
        at += len(part)
        last = END_HEADERS if at >= len(block) else 0
        yield head(len(part), kind, (flags if kind == HEADERS else 0) | last, stream) + part
        kind = CONTINUATION
