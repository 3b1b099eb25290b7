"""Request: what the header block of a call says, read once and split into what is whose.

The envelope is admission's, some fields are the transport's, and the rest goes on to the provider in its own
bytes. Source: *Contracts* of the design; RFC 9113, section 8; the protocol of gRPC over HTTP/2.
"""

from __future__ import annotations

import re
import time
from dataclasses import dataclass, replace
from enum import IntEnum, auto

from contract.context import RESERVED_PREFIX
from contract.errors import MeshError, clip
from router.admission.envelope import ATTRIBUTES, Envelope
from router.relay.http2.connection import HEADER_LIST_LIMIT
from router.relay.http2.field import Fields, is_sound
from router.relay.http2.frame import Code, Malformed

CONTENT_TYPE = "application/grpc"

KEPT = 1024
"""How many header blocks are kept."""

KEPT_SIZE = 1024
"""Bytes that a header block which is kept may have."""


class Role(IntEnum):
    """What becomes of a field."""

    FORWARD = auto()
    """It goes on to the provider."""
    ENVELOPE = auto()
    """Admission reads it."""
    PSEUDO = auto()
    TIMEOUT = auto()
    CONTENT_TYPE = auto()
    ACCEPTS = auto()
    TE = auto()
    LENGTH = auto()
    DROP = auto()
    """It says nothing to a provider, or nobody may say it to one."""
    UNSENDABLE = auto()
    """It is metadata that gRPC does not send."""
    MALFORMED = auto()
    """No HTTP/2 request may have it."""


@dataclass(frozen=True, slots=True)
class Field:
    """One field of a request."""

    name: str
    value: str
    raw: bytes
    size: int
    """As RFC 9113 counts it: name, value and 32."""
    role: Role
    slot: str = ""
    """The attribute of the envelope, or which pseudo-header it is."""
    number: float = 0.0
    """Of a timeout its seconds, of a length its bytes; below 0 where it is none."""


@dataclass(slots=True)
class Request:
    """A call before admission. Who makes the same call again gets the same one."""

    envelope: Envelope
    timeout: float | None
    """Seconds that the caller gives it; None where nothing bounds it."""
    forwarded: list[bytes]
    """The fields that go on to the provider, in their own bytes."""
    size: int
    """Bytes of them in the header list of the provider."""
    accepts: bytes
    """The field that says which compressions of the answer the caller takes; empty where there is none."""
    length: int | None
    """Its content length; None where it names none."""


class Unsuitable(Exception):
    """A request that is well-formed and no gRPC call. It is answered with a status of HTTP."""

    def __init__(self, status: int, error: MeshError) -> None:
        super().__init__(error.message)
        self.status = status
        self.error = error


def read(block: bytes) -> Request:
    """Reads the header block of a call. Its deadline begins now.

    Raises `Malformed`, `Unsuitable`, and `invalid_request` or `limit_exceeded` for metadata that cannot go on
    to a provider.
    """
    request = _SEEN.get(block)
    if request is None:
        request = _read(FIELDS.read(block))
        if len(block) <= KEPT_SIZE:
            if len(_SEEN) >= KEPT:
                _SEEN.clear()
            _SEEN[block] = request
    if request.timeout is None:
        return request
    return replace(request, envelope=replace(request.envelope, deadline=time.time() + request.timeout))


_SEEN: dict[bytes, Request] = {}
"""The calls of whoever makes the same one again and again, by their header blocks."""


def _read(fields: list[Field]) -> Request:
    envelope, timeout = Envelope("", None), None
    forwarded: list[bytes] = []
    pseudo: dict[str, str] = {}
    content_type, trailers, accepts, length, unsendable = "", False, b"", None, None
    size = total = 0
    for index, field in enumerate(fields):
        total += field.size
        role = field.role
        if role is Role.FORWARD:
            forwarded.append(field.raw)
            size += field.size
        elif role is Role.ENVELOPE:
            setattr(envelope, field.slot, field.value)
        elif role is Role.PSEUDO:
            if index != len(pseudo) or field.slot in pseudo:
                raise _malformed(f"{field.name} stands twice, or behind other fields")
            pseudo[field.slot] = field.value
        elif role is Role.TIMEOUT:
            if field.number < 0:
                raise _invalid(f"grpc-timeout is '{clip(field.value, 40)}'", "Send digits and one of HMSmun.")
            timeout = field.number
        elif role is Role.CONTENT_TYPE:
            content_type = field.value
            forwarded.append(field.raw)
            size += field.size
        elif role is Role.TE:
            trailers = True
        elif role is Role.ACCEPTS:
            accepts = field.raw
            size += field.size
        elif role is Role.LENGTH:
            if field.number < 0:
                raise _malformed("content-length is no number")
            length = int(field.number)
        elif role is Role.UNSENDABLE:
            unsendable = unsendable or field
        elif role is Role.MALFORMED:
            raise _malformed(f"{clip(field.name, 100)} is no field of a request")
    path = pseudo.get("path", "")
    if not path or "method" not in pseudo or "scheme" not in pseudo:
        raise _malformed(":method, :scheme and :path are not all there")
    if pseudo["method"] != "POST":
        raise Unsuitable(405, _invalid("a call is a POST", "Use a gRPC client."))
    if not content_type.startswith(CONTENT_TYPE):
        raise Unsuitable(415, _invalid(f"the content-type is not {CONTENT_TYPE}", "Use a gRPC client."))
    if not trailers:
        raise _invalid("the call has no `te: trailers`", "Call without an intermediary that drops it.")
    if total > HEADER_LIST_LIMIT:
        raise MeshError(
            "limit_exceeded",
            f"the metadata has {total} bytes, and {HEADER_LIST_LIMIT} are taken",
            outcome="not_dispatched",
            remedy="Send what is large in the request.",
        )
    if unsendable is not None:
        raise _invalid(
            f"the value of the metadata {clip(unsendable.name, 100)} is not printable ASCII",
            "Give it a name that ends with -bin, which may have any bytes.",
        )
    envelope.path = path
    return Request(envelope, timeout, forwarded, size, accepts, length)


def check_trailers(block: bytes) -> None:
    """What a caller says behind its messages is nobody's, but it must be well-formed."""
    for field in FIELDS.read(block):
        if field.role in (Role.PSEUDO, Role.MALFORMED):
            raise _malformed(f"{clip(field.name, 100)} is no field of trailers")


_PSEUDO = frozenset({":method", ":scheme", ":path", ":authority"})


_DROPPED = frozenset({"user-agent", "host"})

_SECONDS = {"H": 3600.0, "M": 60.0, "S": 1.0, "m": 1e-3, "u": 1e-6, "n": 1e-9}
_LENGTH = re.compile(r"[0-9]{1,15}")
_TIMEOUT = re.compile(r"([0-9]{1,8})([HMSmun])")


def _field(name: bytes, value: bytes, raw: bytes) -> Field:
    key, said = name.decode("latin-1"), value.decode("latin-1")
    role, slot, number = _role(key, said)
    return Field(key, said, raw, len(name) + len(value) + 32, role, slot, number)


def _role(key: str, said: str) -> tuple[Role, str, float]:
    if key in _PSEUDO and is_sound("x", said):
        return Role.PSEUDO, key[1:], 0
    if not is_sound(key, said) or (key == "te" and said.lower() != "trailers"):
        return Role.MALFORMED, "", 0
    if key in ATTRIBUTES:
        return Role.ENVELOPE, ATTRIBUTES[key], 0
    match key:
        case "te":
            return Role.TE, "", 0
        case "content-type":
            return Role.CONTENT_TYPE, "", 0
        case "grpc-encoding":
            # The messages pass as they are.
            return Role.FORWARD, "", 0
        case "grpc-accept-encoding":
            return Role.ACCEPTS, "", 0
        case "grpc-timeout":
            found = _TIMEOUT.fullmatch(said)
            return Role.TIMEOUT, "", int(found[1]) * _SECONDS[found[2]] if found else -1
        case "content-length":
            return Role.LENGTH, "", int(said) if _LENGTH.fullmatch(said) else -1
    if key in _DROPPED or key.startswith((RESERVED_PREFIX, "grpc-")):
        return Role.DROP, "", 0
    if not key.endswith("-bin") and not (said.isascii() and said.isprintable()):
        return Role.UNSENDABLE, "", 0
    return Role.FORWARD, "", 0


FIELDS = Fields(_field)
"""The fields of requests, of every consumer."""


def _malformed(message: str) -> Malformed:
    return Malformed(Code.PROTOCOL_ERROR, message)


def _invalid(message: str, remedy: str) -> MeshError:
    return MeshError("invalid_request", message, outcome="not_dispatched", remedy=remedy)
