"""Leases: `wuu.mesh.v1.Leases`, what keeps a generation for work that outlives a call."""

from __future__ import annotations

from router.generations.generation import Lease
from router.generations.kernel import LEASES_DESCRIPTOR
from router.kernel.call import KernelCall, parsed, refused
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


def acquire(call: KernelCall) -> AcquireLeaseResponse:
    """Takes a lease on the generation of the execution."""
    asked, caller = parsed(AcquireLeaseRequest, call.request), call.caller
    for field, value, limit in (("key", asked.key, KEY_LIMIT), ("kind", asked.kind, KIND_LIMIT)):
        if not 1 <= len(value.encode()) <= limit:
            raise refused("invalid_request", f"`{field}` has 1 to {limit} bytes")
    if call.parent is not None and caller.revoked is not None:
        raise caller.revoked
    parent = call.within(
        LEASES_DESCRIPTOR, "acquire", "a lease is taken in an execution, and the call names none"
    )
    generation = parent.generation
    if generation.state in ("closing", "closed"):
        # The execution was begun outside of any, and has not kept it.
        raise refused("generation_closed", f"generation {generation.id} is closed")
    held = caller.leases.get(asked.key)
    if held is not None and held is not generation:
        raise refused(
            "state_operation_conflict", f"the lease {asked.key} is held in generation {held.id} already"
        )
    if held is None:
        if len(caller.leases) >= MOST_LEASES:
            raise refused("limit_exceeded", f"{caller.module} holds {MOST_LEASES} leases")
        caller.leases[asked.key] = generation
        generation.leases[caller, asked.key] = Lease(caller, asked.key, asked.kind)
    return AcquireLeaseResponse(generation=generation.id)


def release(call: KernelCall) -> ReleaseLeaseResponse:
    """Releases a lease, whatever the execution."""
    key = parsed(ReleaseLeaseRequest, call.request).key
    generation = call.caller.leases.pop(key, None)
    if generation is None:
        return ReleaseLeaseResponse(released=False)
    del generation.leases[call.caller, key]
    generation.settle()
    return ReleaseLeaseResponse(released=True)
