"""Messages: what goes with each method of the wire.

Source: the plugin wire, *Host → plugin* and *Plugin → host*. A field that is UNSET is left out.
"""

from __future__ import annotations

from typing import TypeVar

import msgspec
from google.protobuf.message import DecodeError, Message
from msgspec import UNSET, Raw, UnsetType

from bridge_jsonl.frames import spliced
from contract.errors import CONTRACT, MeshError
from contract.transcoder import Rejected, check_json

Proto = TypeVar("Proto", bound=Message)


class Initialize(msgspec.Struct, kw_only=True, frozen=True):
    """The params of `initialize`."""

    protocol_version: int = 1
    """The transport, not the version of the capabilities."""
    capability_protocol_version: int = 3
    lifecycle_version: int
    plugin_id: str
    plugin_root: str
    project_root: str
    """The workspace, or the package where there is none."""
    wuu_home: str
    workspace_state_dir: str | UnsetType = UNSET
    supported_host_services: tuple[str, ...]
    supported_host_features: tuple[str, ...]


class ServiceChanged(msgspec.Struct, kw_only=True, frozen=True):
    """The params of `service.changed`."""

    service: str
    reason: str | UnsetType = UNSET
    """Why it cannot be called; UNSET when it can."""


class ServiceInvoke(msgspec.Struct, kw_only=True, frozen=True):
    """The params of `service.invoke`."""

    service: str
    """Without the major."""
    method: str
    caller: str
    execution_id: str
    params: Raw
    admission: Admission | UnsetType = UNSET
    continuation_id: str | UnsetType = UNSET


class Admission(msgspec.Struct, kw_only=True, frozen=True):
    """The owner's consent to one operation, vouched for by the host."""

    version: int = 1
    action: str
    input_json: str
    """The text that was admitted, exactly; its UTF-8 is what was digested."""
    input_digest: str
    """SHA-256 in lower-case hex."""
    subject: str
    lineage: tuple[str, ...] | UnsetType = UNSET


class ToolExecute(msgspec.Struct, kw_only=True, frozen=True):
    """The params of `tool.execute`."""

    tool_id: str
    tool: str
    arguments: Raw
    call_id: str
    cwd: str
    execution_id: str
    session_id: str | UnsetType = UNSET
    thread_id: str | UnsetType = UNSET
    turn_id: str | UnsetType = UNSET
    actor_id: str | UnsetType = UNSET
    step_index: int | UnsetType = UNSET


class ToolOutput(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a tool says."""

    content: Raw | UnsetType = UNSET
    """An array of content parts."""
    structured_content: Raw | UnsetType = UNSET
    """Any JSON."""
    meta: Raw | UnsetType = UNSET
    """An object for the host, not for the model."""
    is_error: bool | None = None
    activity: Raw | UnsetType = UNSET
    """An object that tells what was done."""


class ToolResult(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The result of `tool.execute`."""

    result: ToolOutput


class CapabilityInvoke(msgspec.Struct, kw_only=True, frozen=True):
    """The params of `capability.invoke`."""

    capability: str
    execution_id: str
    input: Raw
    output: Raw


class CapabilityResult(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The result of `capability.invoke`."""

    output: Raw


class ExecutionCancel(msgspec.Struct, frozen=True):
    """The params of `execution.cancel`."""

    execution_id: str


class ServiceCall(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The params of `host.service.call`."""

    service: str
    method: str
    execution_id: str | None = None
    params: Raw | UnsetType = UNSET


class ServiceContinue(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The params of `host.service.continue`. Nothing of the call that is continued can be said anew."""

    execution_id: str
    continuation_id: str


def given(text: str) -> str | UnsetType:
    """A protobuf string, UNSET where it is empty."""
    return text or UNSET


def parsed(shape: type[Proto], serialized: bytes) -> Proto:
    """The protobuf message that a call carries. Raises `invalid_params`."""
    try:
        return shape.FromString(serialized)
    except DecodeError:
        raise MeshError("invalid_params", f"not a {shape.DESCRIPTOR.full_name}", domain=CONTRACT) from None


def carried(text: bytes, field: str, absent: bytes = b"null") -> Raw:
    """JSON that a call carries, as it goes into a line; `absent` where it is empty.

    Raises `invalid_params` where it is not JSON.
    """
    try:
        check_json(text or absent)
    except Rejected as rejected:
        raise MeshError("invalid_params", f"{field} is not JSON: {rejected.rule}", domain=CONTRACT) from None
    return spliced(text or absent)
