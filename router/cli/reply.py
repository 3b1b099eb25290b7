"""Reply: what a provider answered, read and checked before anything of it is printed."""

from __future__ import annotations

from typing import TypeVar

from google.protobuf.message import DecodeError, Message

from contract.errors import MeshError
from contract.transcoder import Rejected, check_json, to_json

Reply = TypeVar("Reply", bound=Message)


def read(kind: type[Reply], serialized: bytes, provider: str) -> Reply:
    """The message that a provider answered. Raises `protocol_violation`."""
    try:
        return kind.FromString(serialized)
    except DecodeError:
        raise _violation(provider, f"what is no {kind.DESCRIPTOR.full_name}") from None


def as_json(message: Message, provider: str) -> bytes:
    """The JSON of a message of a provider. Raises `protocol_violation`."""
    try:
        return to_json(message)
    except Rejected as rejected:
        raise _violation(provider, f"what JSON cannot say: {rejected}") from None


def checked(text: bytes, provider: str, what: str) -> bytes:
    """A text of a provider that should be JSON. Raises `protocol_violation`."""
    try:
        check_json(text)
    except Rejected as rejected:
        raise _violation(provider, f"{what} that is not JSON: {rejected.rule}") from None
    return text


def _violation(provider: str, what: str) -> MeshError:
    return MeshError("protocol_violation", f"{provider} answered {what}", outcome="unknown")
