"""Fields: what a header block says, field by field, each still in the bytes that it came in.

Towards every peer we announce a dynamic table of size 0. Once it has said that it knows, a field means the
same wherever it stands: it can be passed on in its own bytes, and what was once made of it can be kept.
Huffman codes and tables are `hpack`'s; only where a field begins and ends is found here, which is what a
relayed call pays for (RFC 7541, sections 5 and 6).
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Generic, TypeVar

from hpack import Decoder
from hpack.exceptions import HPACKError

from router.relay.http2.frame import Code, Violation

F = TypeVar("F")

Make = Callable[[bytes, bytes, bytes], F]
"""Makes a field of its name, its value, and the bytes in which it can be passed on."""

KEPT = 4096
"""How many fields are kept."""

KEPT_SIZE = 512
"""Bytes that a field which is kept may have."""


class Fields(Generic[F]):
    """Reads header blocks into fields of one kind, and keeps those that it has seen."""

    def __init__(self, make: Make[F]) -> None:
        self._make = make
        self._seen: dict[bytes, F] = {}
        self._decoder = _stateless()

    def read(self, block: bytes) -> list[F]:
        """The fields of a block that refers to no dynamic table. Raises `Violation` where it does."""
        fields: list[F] = []
        seen, at, end = self._seen, 0, len(block)
        try:
            while at < end:
                begin, first = at, block[at]
                at += 1
                if first & 0x80:
                    if first == 0xFF:
                        _, at = _integer(block, at, 0x7F)
                elif first & 0x60 == 0x20:
                    size, at = _integer(block, at, 0x1F) if first == 0x3F else (first & 0x1F, at)
                    if size or fields:
                        raise _broken("a dynamic table size update that is not 0, or not at the beginning")
                    continue
                else:
                    index = 0x3F if first & 0x40 else 0x0F
                    if first & index == index:
                        _, at = _integer(block, at, index)
                    elif not first & index:
                        at = _past_string(block, at)
                    at = _past_string(block, at)
                if at > end:
                    raise _broken("a field that ends behind its block")
                raw = block[begin:at]
                field = seen.get(raw)
                if field is None:
                    field = self._learn(raw)
                fields.append(field)
        except IndexError:
            raise _broken("a field that ends behind its block") from None
        return fields

    def made(self, name: bytes, value: bytes) -> F:
        """A field that came in a block which referred to a dynamic table."""
        return self._make(name, value, literal(name, value))

    def _learn(self, raw: bytes) -> F:
        try:
            ((name, value),) = self._decoder.decode(raw, raw=True)
        except HPACKError as broken:
            self._decoder = _stateless()
            raise _broken(str(broken)) from None
        field = self._make(bytes(name), bytes(value), _unindexed(raw))
        if len(raw) <= KEPT_SIZE:
            if len(self._seen) >= KEPT:
                self._seen.clear()
            self._seen[raw] = field
        return field


def is_sound(key: str, value: str) -> bool:
    """Whether an HTTP/2 message may have a field, pseudo-headers aside (RFC 9113, section 8.2)."""
    return (
        _TOKEN.fullmatch(key) is not None
        and key not in _OF_CONNECTIONS
        and not any(byte in value for byte in ("\0", "\r", "\n"))
    )


_TOKEN = re.compile(r"[!#$%&'*+\-.^_`|~0-9a-z]+")
"""A field name in lower case (RFC 9110, section 5.6.2)."""

_OF_CONNECTIONS = frozenset({"connection", "proxy-connection", "keep-alive", "transfer-encoding", "upgrade"})


def literal(name: bytes, value: bytes) -> bytes:
    """A field in bytes that mean the same in every block: a literal that is not indexed (section 6.2.2)."""
    return b"\x00" + string(name) + string(value)


def string(text: bytes) -> bytes:
    """A string without a Huffman code (section 5.2)."""
    return _prefixed(len(text), 0x7F) + text


def _prefixed(value: int, mask: int) -> bytes:
    """An integer behind a prefix of as many bits as the mask has (section 5.1)."""
    if value < mask:
        return bytes((value,))
    out, value = bytearray((mask,)), value - mask
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def _integer(block: bytes, at: int, mask: int) -> tuple[int, int]:
    """The integer whose prefix is full, and where it ends."""
    value, shift = mask, 0
    while True:
        byte = block[at]
        at += 1
        value += (byte & 0x7F) << shift
        shift += 7
        if not byte & 0x80:
            return value, at
        if shift > 28:
            raise _broken("an integer that is too large")


def _past_string(block: bytes, at: int) -> int:
    size = block[at] & 0x7F
    at += 1
    if size == 0x7F:
        size, at = _integer(block, at, 0x7F)
    return at + size


def _unindexed(raw: bytes) -> bytes:
    """The field without the wish to be indexed: the next peer shall keep nothing."""
    first = raw[0]
    if first & 0xC0 != 0x40:
        return raw
    if first & 0x3F != 0x3F:
        return _prefixed(first & 0x3F, 0x0F) + raw[1:]
    index, at = _integer(raw, 1, 0x3F)
    return _prefixed(index, 0x0F) + raw[at:]


def _stateless() -> Decoder:
    decoder = Decoder(max_header_list_size=1 << 24)
    decoder.header_table_size = 0
    decoder.max_allowed_table_size = 0
    return decoder


def _broken(message: str) -> Violation:
    return Violation(Code.COMPRESSION_ERROR, message)
