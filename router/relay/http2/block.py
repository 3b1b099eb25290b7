"""Block: how a header block comes to be whole, and to mean the same wherever it stands."""

from __future__ import annotations

from dataclasses import dataclass, field

from hpack import Decoder
from hpack.exceptions import HPACKError, OversizedHeaderListError

from router.relay.http2.field import literal
from router.relay.http2.frame import Code, Violation

BLOCK_LIMIT = 1 << 16
"""Bytes of a header block past which the peer loses its connection."""


@dataclass(slots=True)
class Block:
    """A header block that comes in several frames."""

    stream: int
    end: bool
    """It ends its stream."""
    spoiled: bool
    """Its stream is malformed, whatever the block says."""
    content: bytearray = field(default_factory=bytearray)

    def extend(self, part: bytes) -> None:
        """Adds what came in one frame. Raises `Violation` where it never ends."""
        self.content += part
        if len(self.content) > BLOCK_LIMIT:
            raise Violation(Code.ENHANCE_YOUR_CALM, f"a header block of more than {BLOCK_LIMIT} bytes")


class Table:
    """The peer's dynamic table, which lasts until it has said that it knows that there is none."""

    def __init__(self) -> None:
        self._decoder = Decoder(max_header_list_size=BLOCK_LIMIT)

    def stateless(self, block: bytes) -> bytes:
        """The same fields in a block that refers to no table. Raises `Violation`."""
        try:
            fields = self._decoder.decode(block, raw=True)
        except OversizedHeaderListError as large:
            raise Violation(Code.ENHANCE_YOUR_CALM, str(large)) from None
        except HPACKError as broken:
            raise Violation(Code.COMPRESSION_ERROR, str(broken)) from None
        return b"".join(literal(bytes(name), bytes(value)) for name, value in fields)
