"""What a client of the suite is ordered to do, and what it reports: one JSON object on one line each."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterable
from typing import Any

import msgspec

LARGE = 64 * 1024
"""Bytes past which an answer is reported by its digest."""

Pairs = list[tuple[str, str]]
"""Metadata, with base64 for the values of keys that end in `-bin`."""


class Router(msgspec.Struct, kw_only=True):
    """The first line: where the calls go, and under which token."""

    target: str
    token: str


class Order(msgspec.Struct, kw_only=True):
    """A call to make, or one to cancel."""

    cancel: int = 0
    """The call to cancel; 0: the rest describes one to make."""
    id: int = 0
    service: str = ""
    """As `name@major`."""
    rpc: str = ""
    requests: tuple[bytes, ...] = ()
    repeat: int = 1
    """How many times the bytes of each request are repeated in it."""
    metadata: Pairs = []
    timeout_ms: int = 0
    """0: there is no deadline."""
    gzip: bool = False
    """Whether the requests are compressed."""


class Outcome(msgspec.Struct, kw_only=True):
    """What a call came to."""

    id: int
    code: int
    message: str
    initial: Pairs
    trailing: Pairs
    answers: list[str]
    """Each in base64, or its digest where it is large."""


def reported(answer: bytes) -> str:
    """An answer as it is reported."""
    if len(answer) <= LARGE:
        return base64.b64encode(answer).decode()
    return f"sha256:{hashlib.sha256(answer).hexdigest()}"


def listed(metadata: Iterable[Any] | None) -> Pairs:
    """The pairs of gRPC's metadata."""
    return [
        (key, base64.b64encode(value).decode() if isinstance(value, bytes) else value)
        for key, value in metadata or ()
    ]


def unlisted(pairs: Pairs) -> list[tuple[str, str | bytes]]:
    """The opposite of `listed`."""
    return [(key, base64.b64decode(value) if key.endswith("-bin") else value) for key, value in pairs]
