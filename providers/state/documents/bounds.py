"""The bounds of every field of the contract. A field outside them is `invalid_params`, with its pointer.

Source: the comments of `proto/wuu/state/documents/v1/documents.proto`.
"""

from __future__ import annotations

from contract.errors import MeshError
from contract.transcoder import Rejected, check_json
from providers.state.documents.revision import is_revision

NAMESPACE_LIMIT = 1024
"""Bytes of UTF-8 that a namespace may have."""

KEY_LIMIT = 4096
"""Bytes of UTF-8 that a key may have."""

ID_LIMIT = 256
"""Bytes of UTF-8 that the id of a transaction may have."""

PAGE_LIMIT = 10_000
"""Documents that a bounded read may ask for."""

NAMESPACE_OWNERS = "wuu.state.namespace_owners.v1"
"""The namespace that a commit never writes: it says whose the others are."""


def invalid(pointer: str, rule: str) -> MeshError:
    """The error for a field that breaks a rule."""
    return MeshError("invalid_params", f"{pointer}: {rule}", pointer=pointer)


def check_namespace(namespace: str, pointer: str) -> None:
    """A namespace: not empty, no NUL, at most 1 KiB."""
    _check_name(namespace, pointer, NAMESPACE_LIMIT)


def check_key(key: str, pointer: str) -> None:
    """A key: not empty, no NUL, at most 4 KiB."""
    _check_name(key, pointer, KEY_LIMIT)


def check_id(transaction: str, pointer: str) -> None:
    """The id of a transaction: not empty, no NUL, at most 256 bytes."""
    _check_name(transaction, pointer, ID_LIMIT)


def check_revision(revision: str, pointer: str) -> None:
    """A revision in its only spelling."""
    if not is_revision(revision):
        raise invalid(pointer, "must be a decimal string without leading zeros")


def check_limit(limit: int, pointer: str) -> None:
    """The size of a page: 1 to 10000, or 0 for everything."""
    if not 0 <= limit <= PAGE_LIMIT:
        raise invalid(pointer, f"must be from 0 to {PAGE_LIMIT}, not {limit}")


def check_value(value: bytes, pointer: str) -> None:
    """A value: one well-formed JSON text."""
    if not value:
        raise invalid(pointer, "must be a JSON value; an empty text is none")
    try:
        check_json(value)
    except Rejected as rejected:
        raise invalid(pointer, f"not JSON: {rejected.rule}") from None


def _check_name(text: str, pointer: str, limit: int) -> None:
    if not text:
        raise invalid(pointer, "must not be empty")
    if "\0" in text:
        raise invalid(pointer, "must not contain NUL")
    if (size := len(text.encode())) > limit:
        raise invalid(pointer, f"at most {limit} bytes of UTF-8, not {size}")
