"""The signed context: what the router vouches for about one call.

Source: `proto/wuu/mesh/v1/context.proto`. Signing and verifying are on the path of every call.
"""

from __future__ import annotations

import hmac
import time
from functools import lru_cache

from google.protobuf.message import DecodeError

from contract.errors import MeshError
from wuu.mesh.v1.context_pb2 import CallContext, Phase, SignedContext

CONTEXT_KEY = "wuu-context-bin"
"""The metadata that carries a SignedContext."""

TOKEN_KEY = "wuu-token"
"""The metadata by which an instance names itself to the router."""

SERVICE_KEY = "wuu-service"
"""The metadata that names the service: `name@major`."""

METHOD_KEY = "wuu-method"
"""The metadata that names the method of a dynamic call."""

EXECUTION_KEY = "wuu-execution"
"""The metadata that names the execution on whose behalf a call is made."""

MODULE_KEY = "wuu-module"
"""The metadata that names the module whose contribution, or (operator only) whose service, is called."""

AS_KEY = "wuu-as"
"""The metadata by which the operator borrows the bindings of a module."""

RESERVED_PREFIX = "wuu-"
"""Metadata that the router consumes and never passes on."""

MAX_HOPS = 32
"""How deep executions may nest."""

ROUTER = "wuu.mesh"
"""The caller in contexts of calls that the router itself makes."""

OPERATOR = "wuu.operator"
"""The caller in contexts of calls that the operator makes."""


@lru_cache(maxsize=1024)
def _keyed(key: bytes) -> hmac.HMAC:
    """What a key makes of nothing. To begin with it costs half of what to make it anew does."""
    return hmac.new(key, digestmod="sha256")


def _signature(context: bytes, key: bytes) -> bytes:
    signing = _keyed(key).copy()
    signing.update(context)
    return signing.digest()


def sign(context: bytes, key: bytes) -> bytes:
    """A serialized SignedContext over a serialized CallContext, under the key of the audience."""
    return SignedContext(context=context, hmac_sha256=_signature(context, key)).SerializeToString()


def verify(signed: bytes, *, key: bytes, audience: str, now_ms: float | None = None) -> CallContext:
    """The context of a call, once it is proven.

    Raises `unauthenticated` when the signature, the audience or the expiry is wrong.
    """
    try:
        envelope = SignedContext.FromString(signed)
        if not hmac.compare_digest(_signature(envelope.context, key), envelope.hmac_sha256):
            raise MeshError("unauthenticated", "the signature of the context is wrong", domain="wuu")
        context = CallContext.FromString(envelope.context)
    except DecodeError:
        raise MeshError("unauthenticated", "the context cannot be read", domain="wuu") from None
    if context.audience != audience:
        raise MeshError("unauthenticated", "the context was made for another instance", domain="wuu")
    if context.expires_unix_ms < (time.time() * 1000 if now_ms is None else now_ms):
        raise MeshError("unauthenticated", "the context has expired", domain="wuu")
    return context


__all__ = [
    "AS_KEY",
    "CONTEXT_KEY",
    "EXECUTION_KEY",
    "MAX_HOPS",
    "METHOD_KEY",
    "MODULE_KEY",
    "OPERATOR",
    "RESERVED_PREFIX",
    "ROUTER",
    "SERVICE_KEY",
    "TOKEN_KEY",
    "CallContext",
    "Phase",
    "sign",
    "verify",
]
