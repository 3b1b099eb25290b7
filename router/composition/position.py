"""Position: where in a JSON text each value stands.

The parser of the standard library says where a text stops being JSON, and nothing about where the values
of a good one are. Operators swap a provider by editing a line, so the line of a value has to be known.
"""

from __future__ import annotations

import json
import re
from bisect import bisect_right
from collections.abc import Mapping
from dataclasses import dataclass, field

from router.composition.mistake import explain

_TOKEN = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"|[{}\[\],:]|[^\s{}\[\],:"]+')
_NOT_JSON = frozenset({"NaN", "Infinity", "-Infinity"})


class Malformed(ValueError):
    """The text is not JSON."""

    def __init__(self, line: int, column: int, message: str) -> None:
        super().__init__(f"{line}:{column}: {message}")
        self.line = line
        """The line, from 1."""
        self.column = column
        """The column in characters, from 1."""
        self.message = message


@dataclass(frozen=True, slots=True)
class Located:
    """A JSON text, its value, and the place of everything in it."""

    text: str
    value: object
    """What `json.loads` makes of the text."""
    repeated: tuple[tuple[str, int], ...]
    """Keys given again in one object, as pointer and line. JSON leaves open which of the two holds."""
    spans: Mapping[str, tuple[int, int]]
    """By JSON pointer, the characters from the first to behind the last of the value."""
    line_starts: tuple[int, ...]

    def line(self, pointer: str) -> int:
        """The line, from 1, on which the value at `pointer` begins."""
        return bisect_right(self.line_starts, self.spans[pointer][0])

    def raw(self, pointer: str) -> bytes:
        """The value at `pointer`, byte for byte as written."""
        start, end = self.spans[pointer]
        return self.text[start:end].encode()


@dataclass(slots=True)
class _Open:
    """An object or array whose end is not read yet."""

    pointer: str
    start: int
    is_object: bool
    keys: set[str] = field(default_factory=set)
    elements: int = 0


def step(pointer: str, key: str | int) -> str:
    """The pointer to the member `key` of what `pointer` points to (RFC 6901)."""
    return f"{pointer}/{str(key).replace('~', '~0').replace('/', '~1')}"


def locate(raw: bytes) -> Located:
    """The value in `raw` with its positions.

    Raises `Malformed` for what is not UTF-8 or not JSON, for `NaN` and `Infinity`, and for half of a
    surrogate pair, which no module could be sent.
    """
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as broken:
        before = raw[: broken.start].decode("utf-8-sig")
        raise _malformed(before, len(before), "this is not UTF-8") from None
    try:
        value = json.loads(text)
    except json.JSONDecodeError as malformed:
        raise _malformed(text, *explain(text, malformed.pos, malformed.msg)) from None
    except RecursionError:
        raise _malformed(text, _deepest(text), "this is nested too deeply") from None
    except ValueError:
        # The parser reads every other number.
        raise _malformed(text, _longest(text), "the number has too many digits") from None
    return _scan(text, value)


def _deepest(text: str) -> int:
    """Where the innermost value begins."""
    depth = deepest = place = 0
    for token in _TOKEN.finditer(text):
        depth += (token.group() in "{[") - (token.group() in "}]")
        if depth > deepest:
            deepest, place = depth, token.start()
    return place


def _longest(text: str) -> int:
    """Where the number with the most digits begins."""
    numbers = (token for token in _TOKEN.finditer(text) if token.group()[0] in "-0123456789")
    return max(numbers, key=lambda number: len(number.group())).start()


def _scan(text: str, value: object) -> Located:
    """Walks the tokens of a text that is known to be JSON."""
    line_starts = (0, *(newline.end() for newline in re.finditer("\n", text)))
    spans: dict[str, tuple[int, int]] = {}
    repeated: list[tuple[str, int]] = []
    containers: list[_Open] = []
    member: str | None = None
    for token in _TOKEN.finditer(text):
        lexeme = token.group()
        if lexeme in ",:":
            continue
        if lexeme in "}]":
            closed = containers.pop()
            spans[closed.pointer] = (closed.start, token.end())
            continue
        _check_scalar(text, lexeme, token.start())
        inside = containers[-1] if containers else None
        if inside is None:
            pointer = ""
        elif not inside.is_object:
            pointer = step(inside.pointer, inside.elements)
            inside.elements += 1
        elif member is None:
            member = step(inside.pointer, json.loads(lexeme))
            if member in inside.keys:
                repeated.append((member, bisect_right(line_starts, token.start())))
            inside.keys.add(member)
            continue
        else:
            pointer, member = member, None
        if lexeme in "{[":
            containers.append(_Open(pointer, token.start(), lexeme == "{"))
        else:
            spans[pointer] = token.span()
    return Located(text, value, tuple(repeated), spans, line_starts)


def _check_scalar(text: str, lexeme: str, start: int) -> None:
    if lexeme in _NOT_JSON:
        raise _malformed(text, start, f"{lexeme} is not JSON")
    if lexeme[0] == '"' and "\\u" in lexeme:
        try:
            json.loads(lexeme).encode()
        except UnicodeEncodeError:
            raise _malformed(text, start, "the string has half of a surrogate pair") from None


def _malformed(text: str, offset: int, message: str) -> Malformed:
    return Malformed(text.count("\n", 0, offset) + 1, offset - text.rfind("\n", 0, offset), message)
