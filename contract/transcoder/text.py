"""Text: JSON taken apart one level at a time, its values kept as the bytes that they were written in."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from contract.transcoder.field import escape
from contract.transcoder.rejected import Rejected


class _Key:
    """A member name that equals only itself, so that duplicate names survive into the dict."""

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name


def _key(_: type, name: Any) -> _Key:
    return _Key(name)


OBJECT = msgspec.json.Decoder(dict[_Key, msgspec.Raw], dec_hook=_key)
ARRAY = msgspec.json.Decoder(list[msgspec.Raw])
RAW = msgspec.json.Decoder(msgspec.Raw)
STRING = msgspec.json.Decoder(str)
INTEGER = msgspec.json.Decoder(int)
FLOAT = msgspec.json.Decoder(float)
BOOL = msgspec.json.Decoder(bool)


def check_json(text: bytes) -> None:
    """Raises `Rejected` unless `text` is one well-formed JSON text in UTF-8."""
    check_text(text)
    try:
        RAW.decode(text)
    except msgspec.MsgspecError as malformed:
        raise Rejected("", _words(malformed)) from None
    except RecursionError:
        raise Rejected("", "nested too deeply") from None


def check_text(text: bytes) -> None:
    """Raises `Rejected` unless `text` is UTF-8."""
    try:
        text.decode("utf-8")
    except UnicodeDecodeError as wrong:
        raise Rejected("", f"not UTF-8 at byte {wrong.start}") from None


def decode(decoder: msgspec.json.Decoder[Any], text: bytes, at: str, expected: str) -> Any:
    """What the decoder makes of the value at a pointer. Raises `Rejected`: it must be what is `expected`."""
    try:
        return decoder.decode(text)
    except msgspec.ValidationError:
        raise Rejected(at, f"must be {expected}") from None
    except msgspec.MsgspecError as malformed:
        raise Rejected(at, _words(malformed)) from None
    except RecursionError:
        raise Rejected(at, "nested too deeply") from None


def members(text: bytes, at: str) -> Iterator[tuple[str, bytes]]:
    """The members of an object. Raises `Rejected` for a name that appears twice."""
    seen: set[str] = set()
    for key, value in decode(OBJECT, text, at, "an object").items():
        if key.name in seen:
            raise Rejected(f"{at}/{escape(key.name)}", "appears twice")
        seen.add(key.name)
        yield key.name, bytes(value)


def _words(malformed: msgspec.MsgspecError) -> str:
    # What the decoder says of a surrogate whose other half is missing, or is none.
    words = str(malformed)
    if words == "Input data was truncated" or "surrogate" in words or "hex escape" in words:
        return f"cut off, or a lone surrogate ({words})"
    return words
