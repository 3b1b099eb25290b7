"""The caller: for whom a call of the document store is made, and with which authority.

Identity is the context's alone. The host's stewardship of the store is no user: it lets its bearer verify or
migrate, or send again what a recorded consumer had sent, and nothing else.
Source: 消费者拥有的权威命名空间, 持久检查保护.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Any

from google.protobuf.message import Message

from contract.context import CallContext
from contract.errors import MeshError
from contract.transcoder.read import to_message
from contract.transcoder.rejected import Rejected
from wuu.mesh.v1.json_pb2 import Json

STEWARDSHIP_VERSION = 1

_ALLOWED = {
    "verify": ("read", "export"),
    "migration": ("read", "export", "import"),
    "recover": ("commit", "claim-namespaces"),
}
"""By what the stewardship is for, the methods that it is good for."""


@dataclass(frozen=True, slots=True)
class Caller:
    """For whom a call is made."""

    module: str
    """The consumer: of a call that is sent again, the recorded one."""
    sees_all: bool = False
    """Ownership hides nothing from it."""
    migrates: bool = False
    """It may bring in what others own."""


def caller_of(context: CallContext, request: Message, provider: str) -> Caller:
    """The caller of a call. `provider` is this module.

    Raises `service_not_authorized` for a stewardship that is not for this very call.
    """
    if not context.HasField("stewardship"):
        return Caller(context.caller)
    steward = context.stewardship
    if steward.version != STEWARDSHIP_VERSION or steward.provider != provider:
        raise _refused(f"the stewardship is of version {steward.version} and for {steward.provider}")
    if context.method not in _ALLOWED.get(steward.operation, ()):
        raise _refused(f"the stewardship is for {steward.operation}, which is no {context.method}")
    _check_input(steward.input_json, steward.input_digest, request, "stewardship")
    if steward.operation == "recover":
        return Caller(steward.consumer)
    return Caller(context.caller, sees_all=True, migrates=steward.operation == "migration")


def admitted_by(context: CallContext, request: Message, action: str) -> str:
    """Who admitted an operation of the owner. Raises `service_not_authorized` where nobody did."""
    if not context.HasField("admission") or context.admission.action != action:
        raise _refused(f"{context.method} needs the owner's admission of {action}")
    admission = context.admission
    _check_input(admission.input_json, admission.input_digest, request, "admission")
    return admission.subject


def _check_input(said: Json, digest: bytes, request: Message, what: str) -> None:
    """The authority must be for exactly this input."""
    if hashlib.sha256(said.utf8).digest() != digest:
        raise _refused(f"the digest of the {what} is not that of its input")
    try:
        descriptor: Any = request.DESCRIPTOR
        admitted = to_message(descriptor, said.utf8)
    except Rejected as rejected:
        raise _refused(f"the input of the {what} cannot be read: {rejected.rule}") from None
    if admitted != request:
        raise _refused(f"the {what} is for another input")


def _refused(message: str) -> MeshError:
    return MeshError("service_not_authorized", message, domain="wuu")
