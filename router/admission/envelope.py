"""The envelope: what a caller says about a call beside its payload."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field

from contract.context import (
    AS_KEY,
    EXECUTION_KEY,
    METHOD_KEY,
    MODULE_KEY,
    RESERVED_PREFIX,
    SERVICE_KEY,
    TOKEN_KEY,
)
from contract.errors import MeshError, clip


@dataclass(slots=True)
class Envelope:
    """What a caller says about a call beside its payload."""

    path: str
    """`/package.Service/Rpc`."""
    deadline: float | None
    """In the clock of `time.time()`, seconds."""
    token: str = ""
    service: str = ""
    execution: str = ""
    method: str = ""
    module: str = ""
    as_module: str = ""
    forwarded: list[tuple[str, str | bytes]] = field(default_factory=list)
    """The metadata that goes on to the provider."""

    @classmethod
    def read(
        cls, path: str, metadata: Sequence[tuple[str, str | bytes]], remaining: float | None
    ) -> Envelope:
        """The envelope in the metadata of a call with `remaining` seconds to its deadline.

        Raises `invalid_request` for metadata that cannot go on to a provider.
        """
        envelope = cls(path, None if remaining is None else time.time() + remaining)
        for key, value in metadata:
            attribute = _ATTRIBUTES.get(key)
            if attribute is not None:
                setattr(envelope, attribute, value)
            elif passes(key):
                if not is_valid(key, value):
                    raise MeshError(
                        "invalid_request",
                        f"the value of the metadata {clip(key, 100)} is not printable ASCII",
                        outcome="not_dispatched",
                        remedy="Give it a name that ends with -bin, which may have any bytes.",
                    )
                envelope.forwarded.append((key, value))
        return envelope


def passes(key: str) -> bool:
    """Whether metadata of this key may cross the router: the kernel's and the transport's own may not."""
    return key not in _TRANSPORT_KEYS and not key.startswith(_KEPT_PREFIXES)


def is_valid(key: str, value: str | bytes) -> bool:
    """Whether gRPC sends a value under its key: any bytes under `…-bin`, else printable ASCII."""
    return key.endswith("-bin") or (isinstance(value, str) and value.isascii() and value.isprintable())


_TRANSPORT_KEYS = frozenset({"user-agent", "content-type", "te"})
_KEPT_PREFIXES = (RESERVED_PREFIX, "grpc-", ":")


_ATTRIBUTES = {
    TOKEN_KEY: "token",
    SERVICE_KEY: "service",
    EXECUTION_KEY: "execution",
    METHOD_KEY: "method",
    MODULE_KEY: "module",
    AS_KEY: "as_module",
}
