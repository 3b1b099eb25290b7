"""Kernel calls: what modules call of the router itself, admitted like every call as far as it goes."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

import grpc
from google.protobuf.message import DecodeError, Message

from contract.context import SERVICE_KEY
from contract.declaration import major_of
from contract.errors import MeshError, to_status
from contract.transcoder import Rejected, check_json
from contract.transport import DYNAMIC
from router.admission.admission import Admission, check_phase, stricter
from router.admission.envelope import Envelope
from router.admission.execution import Execution
from router.generations.generation import Lease
from router.generations.kernel import EXECUTION_UPDATE, EXECUTION_UPDATE_DESCRIPTOR, LEASES_DESCRIPTOR
from router.instances.instance import Instance
from wuu.mesh.v1.declaration_pb2 import ServiceDescriptor
from wuu.mesh.v1.dynamic_pb2 import InvokeRequest, InvokeResponse
from wuu.mesh.v1.json_pb2 import Json
from wuu.mesh.v1.leases_pb2 import (
    AcquireLeaseRequest,
    AcquireLeaseResponse,
    ReleaseLeaseRequest,
    ReleaseLeaseResponse,
)

KEY_LIMIT = 128
"""Bytes that the key of a lease may have."""

KIND_LIMIT = 64
"""Bytes that the kind of a lease may have."""

MOST_LEASES = 4096
"""Leases that one instance may hold."""

PROGRESS_LIMIT = 4096
"""Bytes of JSON that an execution may say about its progress."""

_ACQUIRE = "/wuu.mesh.v1.Leases/AcquireLease"
_RELEASE = "/wuu.mesh.v1.Leases/ReleaseLease"

Parsed = TypeVar("Parsed", bound=Message)


@dataclass(frozen=True, slots=True)
class KernelCall:
    """One call of a kernel service, as far as it was admitted."""

    request: bytes
    caller: Instance
    parent: Execution | None
    """The execution in which it is made; None outside of any, and where that does not matter."""
    method: str
    """Of a dynamic call."""


Serve = Callable[[KernelCall], Message]


class KernelCalls(grpc.GenericRpcHandler):
    """Serves `wuu.mesh.leases@1` and `execution.update@1`."""

    def __init__(self, admission: Admission) -> None:
        self._admission = admission
        self._typed = {_ACQUIRE: self._handler(_acquire), _RELEASE: self._handler(_release, scoped=False)}
        self._update = self._handler(_note_progress)

    def service(self, handler_call_details: Any) -> Any:
        path: str = handler_call_details.method
        if path == DYNAMIC:
            service = next((v for k, v in handler_call_details.invocation_metadata if k == SERVICE_KEY), "")
            return self._update if service.partition("@")[0] == EXECUTION_UPDATE else None
        return self._typed.get(path)

    def _handler(self, serve: Serve, *, scoped: bool = True) -> Any:
        async def answer(request: bytes, context: Any) -> bytes:
            try:
                envelope = Envelope.read("", context.invocation_metadata(), context.time_remaining())
                caller, _, _ = self._admission.called(envelope)
                parent = self._admission.parent(envelope, caller) if scoped else None
                call = KernelCall(request, caller, parent, envelope.method)
                return serve(call).SerializeToString()
            except MeshError as refused:
                status = to_status(refused)
                await context.abort(status.code, status.message, status.trailers)
                raise AssertionError("abort raises") from None

        return grpc.unary_unary_rpc_method_handler(answer)


def _acquire(call: KernelCall) -> AcquireLeaseResponse:
    asked, caller = _parsed(AcquireLeaseRequest, call.request), call.caller
    for field, value, limit in (("key", asked.key, KEY_LIMIT), ("kind", asked.kind, KIND_LIMIT)):
        if not 1 <= len(value.encode()) <= limit:
            raise _refused("invalid_request", f"`{field}` has 1 to {limit} bytes")
    if call.parent is None:
        raise _refused("execution_not_found", "a lease is taken in an execution, and the call names none")
    if caller.revoked is not None:
        raise caller.revoked
    _check_phase(call.parent, caller, LEASES_DESCRIPTOR, "acquire")
    generation = call.parent.generation
    if generation.state in ("closing", "closed"):
        # The execution was begun outside of any, and has not kept it.
        raise _refused("generation_closed", f"generation {generation.id} is closed")
    held = caller.leases.get(asked.key)
    if held is not None and held is not generation:
        raise _refused(
            "state_operation_conflict", f"the lease {asked.key} is held in generation {held.id} already"
        )
    if held is None:
        if len(caller.leases) >= MOST_LEASES:
            raise _refused("limit_exceeded", f"{caller.module} holds {MOST_LEASES} leases")
        caller.leases[asked.key] = generation
        generation.leases[caller, asked.key] = Lease(caller, asked.key, asked.kind)
    return AcquireLeaseResponse(generation=generation.id)


def _release(call: KernelCall) -> ReleaseLeaseResponse:
    key = _parsed(ReleaseLeaseRequest, call.request).key
    generation = call.caller.leases.pop(key, None)
    if generation is None:
        return ReleaseLeaseResponse(released=False)
    del generation.leases[call.caller, key]
    generation.settle()
    return ReleaseLeaseResponse(released=True)


def _note_progress(call: KernelCall) -> InvokeResponse:
    if call.method != "call":
        raise _refused("method_not_found", f"{EXECUTION_UPDATE}@1 has the method call")
    if call.parent is None:
        raise _refused("execution_not_found", "an update is made in an execution, and the call names none")
    _check_phase(call.parent, call.caller, EXECUTION_UPDATE_DESCRIPTOR, "call")
    progress = _parsed(InvokeRequest, call.request).params.utf8
    if len(progress) > PROGRESS_LIMIT:
        raise _refused("invalid_params", f"an update has at most {PROGRESS_LIMIT} bytes of JSON")
    try:
        check_json(progress)
    except Rejected as rejected:
        raise _refused("invalid_params", f"the update is not JSON: {rejected.rule}") from None
    call.parent.progress, call.parent.progressed = progress, time.time()
    return InvokeResponse(result=Json(utf8=b"null"))


def _check_phase(parent: Execution, caller: Instance, service: ServiceDescriptor, method: str) -> None:
    declared = next(each for each in service.methods if each.name == method)
    label = f"{service.name}@{major_of(service.version)}"
    check_phase(stricter(parent.phase, caller.phase), label, declared)


def _parsed(kind: type[Parsed], request: bytes) -> Parsed:
    try:
        return kind.FromString(request)
    except DecodeError:
        raise _refused("invalid_request", f"the request is not a {kind.DESCRIPTOR.full_name}") from None


def _refused(code: str, message: str) -> MeshError:
    return MeshError(code, message, outcome="not_dispatched")
