"""A query: every condition of a read folded into one half-open range of keys.

Strings are compared by code point, which is the order of their UTF-8 bytes (not that of UTF-16).
"""

from __future__ import annotations

from dataclasses import dataclass

from providers.state.documents.bounds import check_key, check_limit, check_namespace, check_revision
from wuu.state.documents.v1.documents_pb2 import ReadRequest

_GREATEST = "\U0010ffff"
_SURROGATES = range(0xD800, 0xE000)


@dataclass(frozen=True, slots=True)
class Query:
    """What a read selects. A document satisfies it whose key is in the range and, where keys are named, one
    of them."""

    namespace: str
    """The namespace to read."""
    low: str
    """The range begins with it, included; empty: at the least key."""
    high: str | None
    """The range ends before it; None: after the greatest key."""
    keys: tuple[str, ...] | None
    """The keys that are named and in the range, each once, in the direction of the query; None: all."""
    reverse: bool
    """From the greatest key down."""
    limit: int
    """At most this many documents; 0: all."""
    at_revision: str | None
    """The revision that the store must have; None: any."""


def query_of(request: ReadRequest) -> Query:
    """The query that a request asks for. Raises `invalid_params`."""
    check_namespace(request.namespace, "/namespace")
    check_limit(request.limit, "/limit")
    at_revision = request.at_revision if request.HasField("at_revision") else None
    if at_revision is not None:
        check_revision(at_revision, "/at_revision")
    for index, key in enumerate(request.keys.keys):
        check_key(key, f"/keys/{index}")
    low, high = _range(request)
    keys = None
    if request.HasField("keys"):
        named = {key for key in request.keys.keys if low <= key and (high is None or key < high)}
        keys = tuple(sorted(named, reverse=request.reverse))
    return Query(request.namespace, low, high, keys, request.reverse, request.limit, at_revision)


def beyond(prefix: str) -> str | None:
    """The least string after all that begin with the prefix; None where they reach to the end."""
    kept = prefix.rstrip(_GREATEST)
    if not kept:
        return None
    code = ord(kept[-1]) + 1
    return kept[:-1] + chr(_SURROGATES.stop if code in _SURROGATES else code)


def _range(request: ReadRequest) -> tuple[str, str | None]:
    lows = [request.prefix, request.start]
    highs = [beyond(request.prefix)]
    if request.HasField("end"):
        highs.append(request.end)
    if request.HasField("cursor"):
        if request.reverse:
            highs.append(request.cursor)
        else:
            # No key contains NUL, so nothing lies between a key and the key with a NUL behind it.
            lows.append(request.cursor + "\0")
    return max(lows), min((high for high in highs if high is not None), default=None)
