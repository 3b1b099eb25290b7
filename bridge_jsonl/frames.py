"""Frames: the lines that go over a plugin's pipes, cut, read and written. Pure.

Source: the plugin wire, *Frames*.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import msgspec
from msgspec import UNSET, Raw, UnsetType

LINE_LIMIT = 64 * 1024 * 1024
"""Bytes that a line may have, its end not counted."""

Line = bytes | bytearray
"""One line without its end."""

_BOM = codecs.BOM_UTF8
_CHECKED_AT_ONCE = 1024 * 1024
_SEPARATORS = ((b"\xe2\x80\xa8", b"\\u2028"), (b"\xe2\x80\xa9", b"\\u2029"))


class LineTooLong(Exception):
    """A line is longer than the limit. Nothing of it is held any more."""


class Splitter:
    """Cuts what a plugin writes into lines, wherever it is split into chunks."""

    def __init__(self, limit: int = LINE_LIMIT) -> None:
        self._limit = limit
        self._held = bytearray()

    def feed(self, chunk: bytes) -> Iterator[Line]:
        """The lines that end in this chunk. Exhaust them before the next chunk.

        Blank lines are left out, and so are the byte order mark and the `\\r` around a line. Raises
        `LineTooLong` as soon as a line passes the limit; then no more may be fed.
        """
        start = 0
        while (end := chunk.find(b"\n", start)) >= 0:
            if self._held:
                self._hold(memoryview(chunk)[start:end])
                yield from self.end()
            elif end - start > self._limit:
                raise LineTooLong
            else:
                yield from _written(chunk[start:end])
            start = end + 1
        self._hold(memoryview(chunk)[start:])

    def end(self) -> Iterator[Line]:
        """The last line, where the plugin ended without ending it."""
        line, self._held = self._held, bytearray()
        yield from _written(line)

    def _hold(self, part: memoryview) -> None:
        if len(self._held) + len(part) > self._limit:
            self._held = bytearray()
            raise LineTooLong
        self._held += part


def _written(line: Line) -> Iterator[Line]:
    if line.endswith(b"\r"):
        line = line[:-1]
    if line.startswith(_BOM):
        line = line[len(_BOM) :]
    if line and not line.isspace():
        yield line


class Fault(msgspec.Struct, frozen=True):
    """The error of an answer."""

    message: str
    code: str | None = None


@dataclass(frozen=True, slots=True)
class Request:
    """The other side asks for something."""

    id: str
    method: str
    params: Raw | None
    """None where the frame has none."""


@dataclass(frozen=True, slots=True)
class Answer:
    """The other side answers a request of ours."""

    id: str
    result: Raw | Fault


@dataclass(frozen=True, slots=True)
class Stray:
    """A line that is not a frame."""

    why: str
    id: str = ""
    """The id that the line begins with, so that whoever waits for it is told."""
    kind: Literal["request", "answer"] = "answer"
    """What the line would have been, where it has an id."""


class _Frame(msgspec.Struct):
    id: str
    method: str | UnsetType = UNSET
    params: Raw | UnsetType = UNSET
    result: Raw | UnsetType = UNSET
    error: Fault | UnsetType = UNSET


_FRAME = msgspec.json.Decoder(_Frame)
_BEGINNING = re.compile(
    rb'\s*\{\s*"id"\s*:\s*"([\x21\x23-\x5b\x5d-\x7e]{1,256})"\s*,\s*"(method|result|error)"'
)


def read(line: Line) -> Request | Answer | Stray:
    """What a line says. Its JSON is well-formed and in UTF-8 unless it is a `Stray`."""
    try:
        frame = _FRAME.decode(line)
    except msgspec.MsgspecError as unreadable:
        return _stray(line, str(unreadable))
    except RecursionError:
        return _stray(line, "nested too deeply")
    if not frame.id:
        return Stray("`id` is empty")
    if not _is_utf8(line):
        return _stray(line, "not UTF-8")
    answered = (frame.result is not UNSET) + (frame.error is not UNSET)
    if frame.method is not UNSET:
        if answered:
            return Stray("a request has neither `result` nor `error`", frame.id, "request")
        return Request(frame.id, frame.method, None if frame.params is UNSET else frame.params)
    if answered != 1 or frame.params is not UNSET:
        return Stray("an answer has exactly one of `result` and `error`, and no `params`", frame.id)
    if frame.error is not UNSET:
        return Answer(frame.id, frame.error)
    assert frame.result is not UNSET
    return Answer(frame.id, frame.result)


def _stray(line: Line, why: str) -> Stray:
    # What cannot be parsed may still be an answer that somebody waits for (a lone surrogate, NaN).
    beginning = _BEGINNING.match(line)
    if beginning is None:
        return Stray(why)
    kind: Literal["request", "answer"] = "request" if beginning[2] == b"method" else "answer"
    return Stray(why, beginning[1].decode(), kind)


def _is_utf8(line: Line) -> bool:
    """Whether a line is UTF-8, which the JSON decoder leaves unchecked in what it does not decode."""
    if line.isascii():
        return True
    # In parts: decoded as a whole, 64 MiB could take four times as much.
    decoder = codecs.getincrementaldecoder("utf-8")()
    view = memoryview(line)
    try:
        # The last part ends with the brace of the object, so nothing is left undecided.
        for start in range(0, len(line), _CHECKED_AT_ONCE):
            decoder.decode(view[start : start + _CHECKED_AT_ONCE])
    except UnicodeDecodeError:
        return False
    return True


class _Asked(msgspec.Struct):
    id: str
    method: str
    params: object = UNSET


class _Done(msgspec.Struct):
    id: str
    result: Raw


class _Failed(msgspec.Struct):
    id: str
    error: Fault


_ENCODER = msgspec.json.Encoder()


def request(number: str, method: str, params: object = UNSET) -> bytes:
    """The line of a request. `params` is a Struct; JSON in it goes through `spliced`."""
    return _line(_Asked(number, method, params))


def result(asked: str, value: bytes) -> bytes:
    """The line of an answer with a result, which is well-formed JSON, to the request with that id."""
    return _line(_Done(asked, spliced(value)))


def error(asked: str, code: str, message: str) -> bytes:
    """The line of an answer with an error, to the request with that id."""
    return _line(_Failed(asked, Fault(code=code, message=message)))


def spliced(text: bytes) -> Raw:
    """Well-formed JSON as it may stand in a line: a line end in it can only be white space between tokens."""
    return Raw(text.replace(b"\n", b" ").replace(b"\r", b" "))


def _line(frame: msgspec.Struct) -> bytes:
    line = _ENCODER.encode_lines((frame,))
    if line.isascii():
        return line
    # Node's readline ends a line at U+2028 and U+2029 too (since Node 24; Bun as well). In JSON they stand in
    # strings only, where the escape means the same.
    for separator, escape in _SEPARATORS:
        line = line.replace(separator, escape)
    return line
