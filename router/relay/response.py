"""Response: what the header blocks of an answer say, before its messages and behind them.

A provider says nearly always the same, and a block that refers to no table means the same wherever it stands:
short ones are read once.
"""

from __future__ import annotations

import binascii
from base64 import b64decode
from dataclasses import dataclass
from urllib.parse import unquote

from contract.context import RESERVED_PREFIX
from contract.errors import DETAILS_KEY, clip
from router.relay.http2.field import Fields, is_sound
from router.relay.http2.frame import Code, Malformed

KEPT = 1024
"""How many blocks are kept."""

KEPT_SIZE = 512
"""Bytes that a block which is kept may have."""

UNKNOWN = 2
"""The number of the gRPC status of whoever says none that there is."""


@dataclass(frozen=True, slots=True)
class Field:
    """One field of an answer."""

    name: str
    value: str
    raw: bytes
    passes: bool
    """It may reach the caller."""
    malformed: bool
    """No answer may have it."""


@dataclass(slots=True)
class Response:
    """One header block of an answer."""

    raw: bytes
    """What of it may reach the caller."""
    http: str = ""
    """The status of HTTP; empty in trailers."""
    content_type: str = ""
    status: int | None = None
    """The gRPC status by its number; None where there is none."""
    message: str = ""
    details: bytes = b""
    """A serialized `google.rpc.Status`; empty where there is none, or none that can be read."""
    beside: bytes = b""
    """What goes with a status, whatever it is."""


def read(block: bytes) -> Response:
    """Reads a header block of a provider.

    Raises `Malformed` for fields that nobody may pass on, and `Violation` where it breaks HPACK.
    """
    seen = _SEEN.get(block)
    if seen is not None:
        return seen
    response = _read(FIELDS.read(block))
    if len(block) <= KEPT_SIZE and not response.details:
        if len(_SEEN) >= KEPT:
            _SEEN.clear()
        _SEEN[block] = response
    return response


def _read(fields: list[Field]) -> Response:
    raw, beside = [], []
    response = Response(b"")
    for index, said in enumerate(fields):
        if said.malformed or (said.name == ":status" and index):
            raise Malformed(Code.PROTOCOL_ERROR, f"{clip(said.name, 100)} is no field of an answer there")
        if said.passes:
            raw.append(said.raw)
        match said.name:
            case ":status":
                response.http = said.value
            case "content-type":
                response.content_type = said.value
            case "grpc-status":
                response.status = int(said.value) if said.value in _STATUSES else UNKNOWN
            case "grpc-message":
                response.message = unquote(said.value, errors="replace")
            case name if name == DETAILS_KEY:
                response.details = _binary(said.value)
            case _ if said.passes:
                beside.append(said.raw)
    response.raw, response.beside = b"".join(raw), b"".join(beside)
    return response


def _binary(value: str) -> bytes:
    """The bytes of the first value under a key that ends with -bin: base64, padded or not."""
    first = value.partition(",")[0]
    try:
        return b64decode(first + "=" * (-len(first) % 4), validate=True)
    except (binascii.Error, ValueError):
        return b""


_STATUSES = frozenset(str(number) for number in range(17))
_SEEN: dict[bytes, Response] = {}


def _field(name: bytes, value: bytes, raw: bytes) -> Field:
    key, said = name.decode("latin-1"), value.decode("latin-1")
    # Where the relay ends an answer itself, a length of the provider's would be wrong.
    passes = not key.startswith(RESERVED_PREFIX) and key != "content-length"
    return Field(key, said, raw, passes, not is_sound("x" if key == ":status" else key, said))


FIELDS = Fields(_field)
"""The fields of answers, of every provider."""
