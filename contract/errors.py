"""Errors: one table of codes, and `MeshError` ⇄ gRPC status with `google.rpc.ErrorInfo`.

A failure has a code (`ErrorInfo.reason`), a reason for people (the status message) and a remedy
(`ErrorInfo.metadata["remedy"]`). Contract codes have the domain `wuu`, kernel codes `wuu.mesh`.
The table is printed into `docs/errors.md`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import grpc
from google.protobuf.message import DecodeError
from google.rpc import error_details_pb2, status_pb2

KERNEL = "wuu.mesh"
"""The domain of codes that only the router gives."""

CONTRACT = "wuu"
"""The domain of codes that providers give."""

DETAILS_KEY = "grpc-status-details-bin"
"""The trailer that carries a serialized `google.rpc.Status`."""

CODE_LIMIT = 128
"""Bytes of UTF-8 that a code may have; providers make up codes of their own."""

WORDS_LIMIT = 960
"""Bytes of UTF-8 that a message may have: it stands in a status twice, which stays under 3 KiB."""

DETAIL_LIMIT = 512
"""Bytes of UTF-8 that the metadata of an `ErrorInfo` may have, the outcome and the remedy aside."""

Outcome = Literal["not_dispatched", "unknown"]


@dataclass(frozen=True, slots=True)
class Code:
    """One row of the table of errors."""

    name: str
    domain: str
    status: grpc.StatusCode
    meaning: str
    remedy: str


_S = grpc.StatusCode

_TABLE = (
    Code("unauthenticated", KERNEL, _S.UNAUTHENTICATED, "The call carries no valid token or context.", "Send the token of the handshake as `wuu-token`; a provider takes calls from the router only."),
    Code("invalid_request", KERNEL, _S.INVALID_ARGUMENT, "The call is malformed.", "Correct the call; the message says what is wrong."),
    Code("invalid_params", KERNEL, _S.INVALID_ARGUMENT, "The parameters are not what the contract takes.", "Correct the field that the pointer names."),
    Code("service_not_authorized", KERNEL, _S.PERMISSION_DENIED, "The caller did not declare the service.", "Add the service to the caller's `required_services`."),
    Code("service_not_found", KERNEL, _S.NOT_FOUND, "Nothing provides the service.", "Add a module that provides it to the composition."),
    Code("service_version_mismatch", KERNEL, _S.FAILED_PRECONDITION, "The service exists in another major version.", "Select a provider of the major version that the caller requires."),
    Code("service_ambiguous", KERNEL, _S.FAILED_PRECONDITION, "Several modules provide the service and none is selected.", "Select one under `services` in the composition."),
    Code("method_not_found", KERNEL, _S.UNIMPLEMENTED, "The provider does not declare the method.", "Call a method that the provider declares, or select another provider."),
    Code("service_unavailable", KERNEL, _S.UNAVAILABLE, "The selected provider cannot be reached.", "See `wuu-mesh status` and `wuu-mesh logs MODULE`."),
    Code("service_optional_absent", KERNEL, _S.NOT_FOUND, "The optional service has neither a provider nor a binding.", "Go on without it, or add a module that provides it."),
    Code("preparation_only", KERNEL, _S.FAILED_PRECONDITION, "The method may not be called during preparation.", "Move the call to activate."),
    Code("execution_not_found", KERNEL, _S.NOT_FOUND, "The execution is not live, or belongs to another instance.", "Use the execution of the present call."),
    Code("execution_cancelled", KERNEL, _S.CANCELLED, "The execution was cancelled.", "Check what was done before starting anew."),
    Code("generation_closed", KERNEL, _S.FAILED_PRECONDITION, "The generation of the call takes no more work.", "Call from a new execution."),
    Code("module_revoked", KERNEL, _S.PERMISSION_DENIED, "The module was disabled or removed.", "Enable the module, or stop using it."),
    Code("admission_full", KERNEL, _S.RESOURCE_EXHAUSTED, "The provider has as many calls in flight as it may.", "Call again later; nothing was dispatched."),
    Code("deadline_exceeded", KERNEL, _S.DEADLINE_EXCEEDED, "The deadline passed before the reply.", "Check whether the effect took place before calling again."),
    Code("limit_exceeded", KERNEL, _S.RESOURCE_EXHAUSTED, "A message or a line is larger than 64 MiB, or a bound is passed.", "Send less at once; large data goes in ranges."),
    Code("protocol_violation", KERNEL, _S.INTERNAL, "The peer broke the protocol.", "Correct the provider; its log has more."),
    Code("host_error", KERNEL, _S.INTERNAL, "The provider or the host failed.", "See `wuu-mesh logs MODULE`."),
    Code("session_send_unavailable", KERNEL, _S.UNAVAILABLE, "`host.session.send` has no handler; nothing was dispatched.", "Retry with the same request id once the service is back."),
    Code("state_conflict", CONTRACT, _S.ABORTED, "The store has another revision.", "Read again and build a new transaction."),
    Code("state_operation_conflict", CONTRACT, _S.ALREADY_EXISTS, "The id was used for another intent.", "Use a new id for a new intent."),
    Code("inspection_active", CONTRACT, _S.FAILED_PRECONDITION, "A guard holds the namespace.", "Wait for its release, or reconcile it."),
    Code("namespace_ownership", CONTRACT, _S.PERMISSION_DENIED, "The namespace belongs to another module.", "Use a namespace of your own."),
)  # fmt: skip

CODES: Mapping[str, Code] = {code.name: code for code in _TABLE}
"""Every code of the kernel and of our own contracts, by name."""

PROVIDER_CODES = frozenset(
    {
        "invalid_request",
        "invalid_params",
        "method_not_found",
        "limit_exceeded",
        "service_not_authorized",
        "host_error",
    }
)
"""Kernel codes that a provider may give in its own name, in the domain `wuu`: they say something about
the request or the provider that the router cannot know."""


class MeshError(Exception):
    """A failure with a code of the table, a message for people, and details for programs.

    A provider may give codes of its own; they then have the domain `wuu` and the status `FAILED_PRECONDITION`.
    """

    def __init__(self, code: str, message: str, *, domain: str | None = None, **details: str) -> None:
        super().__init__(f"{code}: {message}")
        self.code = code
        self.message = message
        row = CODES.get(code)
        self.domain = domain or (row.domain if row else CONTRACT)
        self.details = details
        if row and "remedy" not in details:
            self.details["remedy"] = row.remedy

    def saying(self, message: str) -> MeshError:
        """The same failure in other words."""
        other = MeshError(self.code, message, domain=self.domain)
        other.details.update(self.details)
        return other

    @property
    def remedy(self) -> str:
        """What to do about it; empty for a code that is not in the table."""
        return self.details.get("remedy", "")

    @property
    def outcome(self) -> str:
        """`not_dispatched`, `unknown`, or empty where the provider itself answered."""
        return self.details.get("outcome", "")

    @property
    def grpc_code(self) -> grpc.StatusCode:
        """The gRPC status code that carries this error."""
        row = CODES.get(self.code)
        return row.status if row else grpc.StatusCode.FAILED_PRECONDITION


@dataclass(frozen=True, slots=True)
class WireStatus:
    """A status as it stands on the wire."""

    code: grpc.StatusCode
    message: str
    details: bytes

    @property
    def trailers(self) -> tuple[tuple[str, str | bytes], ...]:
        """The trailing metadata that goes with the status."""
        return ((DETAILS_KEY, self.details),)


def of_provider(error: MeshError) -> MeshError:
    """The error as a provider may give it: never in the domain of the kernel.

    A kernel code that reached the provider from a call of its own says nothing about the provider's caller,
    who would take it for the router's word; it becomes `host_error` with the code in the message.
    """
    if error.domain != KERNEL:
        return error
    if error.code in PROVIDER_CODES:
        other = MeshError(error.code, error.message, domain=CONTRACT)
        other.details.update(error.details)
        return other
    return MeshError("host_error", f"{error.code}: {error.message}", domain=CONTRACT)


def to_status(error: MeshError, code: grpc.StatusCode | None = None) -> WireStatus:
    """The status of an error, with its `ErrorInfo`; message and details are cut to stay under 3 KiB.

    `code` stands in place of the error's own.
    """
    code = code or error.grpc_code
    message = clip(error.message, WORDS_LIMIT)
    info = error_details_pb2.ErrorInfo(reason=clip(error.code, CODE_LIMIT), domain=error.domain)
    room = DETAIL_LIMIT
    for key, value in error.details.items():
        if key in ("outcome", "remedy"):
            info.metadata[key] = clip(value, DETAIL_LIMIT // 2)
        elif room > len(key):
            kept = clip(value, room - len(key))
            info.metadata[key] = kept
            room -= len(key) + len(kept.encode())
    # Clients that read the details take the message from there, too.
    status = status_pb2.Status(code=code.value[0], message=message)
    status.details.add().Pack(info)
    return WireStatus(code, message, status.SerializeToString())


def error_info(trailers: Sequence[tuple[str, str | bytes]] | None) -> error_details_pb2.ErrorInfo | None:
    """The `ErrorInfo` among trailing metadata; None where there is none that can be read.

    Of several, one in the kernel's domain goes before the others, so that none passes behind another.
    """
    details = next((value for key, value in trailers or () if key == DETAILS_KEY), None)
    return error_info_in(details) if isinstance(details, bytes) else None


def error_info_in(details: bytes) -> error_details_pb2.ErrorInfo | None:
    """The `ErrorInfo` in a serialized `google.rpc.Status`, likewise."""
    found = _infos_in(details)
    return next((info for info in found if info.domain == KERNEL), found[0] if found else None)


def _infos_in(serialized: bytes) -> list[error_details_pb2.ErrorInfo]:
    infos: list[error_details_pb2.ErrorInfo] = []
    try:
        for detail in status_pb2.Status.FromString(serialized).details:
            info = error_details_pb2.ErrorInfo()
            if detail.Unpack(info):
                infos.append(info)
    except DecodeError:
        return []
    return infos


_TRANSPORT_CODES = {
    grpc.StatusCode.CANCELLED: "execution_cancelled",
    grpc.StatusCode.DEADLINE_EXCEEDED: "deadline_exceeded",
    grpc.StatusCode.UNAVAILABLE: "service_unavailable",
    grpc.StatusCode.UNIMPLEMENTED: "method_not_found",
}


def transport_code(status: grpc.StatusCode, message: str) -> str:
    """The code of a status without an `ErrorInfo`: the transport made it, or someone who has no codes."""
    if status == grpc.StatusCode.RESOURCE_EXHAUSTED and "larger than max" in message:
        return "limit_exceeded"
    return _TRANSPORT_CODES.get(status, "host_error")


def from_rpc_error(error: grpc.aio.AioRpcError | grpc.Call) -> MeshError:
    """The error that a status carries; without an `ErrorInfo`, what its gRPC code stands for."""
    trailers: Any = error.trailing_metadata()
    message = error.details() or error.code().name
    info = error_info(tuple(trailers or ()))
    if info is None:
        code = transport_code(error.code(), message)
        return MeshError(code, f"{error.code().name}: {message}", outcome="unknown")
    return stated(info, message)


def stated(info: error_details_pb2.ErrorInfo, message: str) -> MeshError:
    """The error that an `ErrorInfo` and the message of its status say."""
    # Who names no domain is not the router.
    error = MeshError(info.reason, message, domain=info.domain or CONTRACT)
    # Not as keywords: the keys are the provider's, and `message` may be one of them.
    error.details.update(info.metadata)
    return error


def table_markdown() -> str:
    """The table of codes for `docs/errors.md`."""
    rows = [
        f"| `{row.name}` | `{row.domain}` | {row.status.name} | {row.meaning} | {row.remedy} |"
        for row in _TABLE
    ]
    head = ["| code | domain | gRPC status | meaning | remedy |", "| --- | --- | --- | --- | --- |"]
    return "\n".join([*head, *rows]) + "\n"


def clip(text: str, limit: int) -> str:
    """`text` cut to at most `limit` bytes of UTF-8, at a character, with an ellipsis where it was cut."""
    raw = text.encode("utf-8", "replace")
    if len(raw) <= limit:
        return raw.decode()
    return raw[: max(limit - 3, 0)].decode("utf-8", "ignore") + "…"
