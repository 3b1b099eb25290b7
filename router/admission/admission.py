"""Admission: the decision to let one call through.

In this order: token → declaration → execution → phase → binding → method and flags → limits. What passes
becomes an execution of the callee, with a context signed for it alone. Nothing here sees a payload.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from functools import lru_cache

from contract.context import (
    MAX_HOPS,
    METHOD_KEY,
    OPERATOR,
    SERVICE_KEY,
    CallContext,
    Phase,
    sign,
)
from contract.declaration import parse_service
from contract.errors import MeshError
from contract.transport import DYNAMIC
from router.admission.continuation import check_ordinary, issue, redeem
from router.admission.envelope import Envelope
from router.admission.execution import Execution, Executions
from router.generations.generation import Generation
from router.generations.kernel import CONTRIBUTIONS
from router.generations.method import Method
from router.generations.route import Route
from router.instances.instance import Instance
from wuu.mesh.v1.declaration_pb2 import ServiceDescriptor

CONTEXT_LIFETIME_MS = 60_000
"""How long after its admission a call may be started at the provider."""


@dataclass(slots=True)
class Admitted:
    """A call that was let through."""

    execution: Execution
    route: Route
    method: Method
    context: bytes
    """The serialized SignedContext for the provider."""


class Admission:
    """Who may call what, in which generation, right now."""

    def __init__(self) -> None:
        self.executions = Executions()
        self.instances: dict[str, Instance] = {}
        """Live instances by token."""
        self.generation: Generation | None = None
        """The newest published generation."""
        self.closed = False
        """The mesh is stopping: the operator calls nothing any more."""

    def published(self) -> Generation:
        """The newest published generation.

        `service_unavailable` while there is none yet, `generation_closed` when there will be none any more.
        """
        if self.closed:
            raise _refused("generation_closed", "the mesh is stopping")
        if self.generation is None:
            raise _refused(
                "service_unavailable",
                "the mesh is still starting",
                remedy="Wait until `up` says 'mesh is up'.",
            )
        return self.generation

    def admit(self, envelope: Envelope) -> Admitted:
        """Admits a call of an instance. Raises the kernel's `MeshError` with `outcome: not_dispatched`."""
        caller, service, major = self.called(envelope)
        parent = self.parent(envelope, caller)
        phase = stricter(parent.phase if parent is not None else _ACTIVE, caller.phase)
        if parent is not None:
            generation = parent.generation
        else:
            generation = self._outside(caller)
            if generation.superseded and not (caller.executions or caller.leases):
                phase = _CLEANUP
        route = (
            generation.contributions_of(envelope.module)
            if service == CONTRIBUTIONS
            else generation.route(caller.module, service, major)
        )
        return self._pass(envelope, caller, generation, parent, phase, route)

    def admit_continuation(self, envelope: Envelope, id: str) -> Admitted:  # noqa: A002
        """Admits the call that an execution is once more, to the delegate of its owner. It uses up the id.

        Raises as `admit` does, and as `wuu.mesh.v1.Continuations` says.
        """
        caller = self._caller(envelope)
        parent = self.parent(envelope, caller)
        continuation = redeem(id, parent, caller)
        assert parent is not None, "there is something to redeem"
        again = Envelope(continuation.path, envelope.deadline, method=continuation.method)
        phase = stricter(parent.phase, caller.phase)
        return self._pass(
            again, caller, parent.generation, parent, phase, continuation.delegate, continued=True
        )

    def called(self, envelope: Envelope) -> tuple[Instance, str, int]:
        """Who calls which service: the token and the declaration, the first two questions of admission."""
        caller = self._caller(envelope)
        service, major = _service(envelope.service)
        key = envelope.service
        if major is None:
            major = caller.declared(service)
            key = f"{service}@{major}"
        if key not in caller.required:
            raise _refused(
                "service_not_authorized", f"{caller.module} does not declare {key} in required_services"
            )
        return caller, service, major

    def _caller(self, envelope: Envelope) -> Instance:
        caller = self.instances.get(envelope.token)
        if caller is None:
            raise _refused("unauthenticated", "the call carries no token of a live instance")
        return caller

    def _outside(self, caller: Instance) -> Generation:
        """The generation of a call outside of any execution: the newest that has its instance."""
        if caller.generation is None:
            raise _refused("generation_closed", f"no generation has {caller.module} any more")
        return caller.generation

    def admit_operator(self, envelope: Envelope) -> Admitted:
        """Admits a call that came over the control socket. It alone may address a module directly."""
        generation = self.published()
        service, major = _service(envelope.service)
        if service == CONTRIBUTIONS:
            route = generation.contributions_of(envelope.module)
        elif envelope.module:
            route = generation.direct(envelope.module, service, major)
        else:
            route = generation.route(envelope.as_module or None, service, major)
        return self._pass(envelope, None, generation, None, _ACTIVE, route)

    def parent(self, envelope: Envelope, caller: Instance) -> Execution | None:
        """The execution that a call is made in; None outside of any. It must be live, and the caller's."""
        if not envelope.execution:
            return None
        parent = self.executions.get(envelope.execution)
        if parent is None or parent.owner is not caller:
            raise _refused(
                "execution_not_found", f"{envelope.execution} is not a live execution of {caller.module}"
            )
        if parent.cancelled is not None:
            raise _refused(
                "execution_cancelled", f"execution {parent.id} was cancelled: {parent.cancelled.message}"
            )
        return parent

    def _pass(
        self,
        envelope: Envelope,
        caller: Instance | None,
        generation: Generation,
        parent: Execution | None,
        phase: Phase,
        route: Route,
        *,
        continued: bool = False,
    ) -> Admitted:
        """`caller` None is the operator."""
        callee = route.instance
        if callee.failure is None:
            phase = stricter(phase, callee.phase)
        method = _method(envelope, route)
        check_phase(phase, route.label, method)
        revoked = (caller.revoked if caller is not None else None) or callee.revoked
        if revoked is not None and not method.cleanup:
            raise revoked
        if caller is not None and not continued:
            check_ordinary(caller, route.label, method)
        if callee.failure is not None:
            why = callee.failure.message
            named = why if why.startswith(callee.module) else f"{callee.module}: {why}"
            raise _refused("service_unavailable", named, remedy=callee.failure.remedy)
        hops = 0 if parent is None else parent.hops + 1
        if hops > MAX_HOPS:
            raise _refused("limit_exceeded", f"calls nest deeper than {MAX_HOPS}")
        counted = parent is None or not (parent.owner is callee or parent.descends_from(callee))
        if counted and callee.outside >= callee.max_in_flight:
            raise _refused(
                "admission_full", f"{callee.module} has {callee.outside} calls in flight, its maximum"
            )
        deadline = envelope.deadline
        if parent is not None and parent.deadline is not None:
            deadline = parent.deadline if deadline is None else min(deadline, parent.deadline)
        if deadline is not None and deadline <= time.time():
            raise _refused("deadline_exceeded", "the deadline had passed before the call was admitted")
        named = OPERATOR if caller is None else caller.module
        continuation = issue(envelope.path, envelope.method, method, route, generation)
        execution = Execution(
            id=self.executions.next_id(),
            parent=parent,
            caller=named,
            owner=callee,
            generation=generation,
            phase=phase,
            service=route.label,
            method=method.name,
            hops=hops,
            deadline=deadline,
            counted=counted,
            holds=parent.holds if parent is not None else caller is None,
            continuation=continuation,
        )
        context = CallContext(
            audience=callee.id,
            caller=named,
            generation=generation.id,
            execution=execution.id,
            parent=parent.id if parent is not None else "",
            phase=phase,
            service=route.label,
            method=method.name,
            deadline_unix_ms=0 if deadline is None else int(deadline * 1000),
            expires_unix_ms=int(execution.started * 1000) + CONTEXT_LIFETIME_MS,
            hops=hops,
            continuation="" if continuation is None else continuation.id,
        )
        signed = sign(context.SerializeToString(), callee.key)
        self.executions.begin(execution)
        return Admitted(execution, route, method, signed)


def check_phase(phase: Phase, service: str, method: Method) -> None:
    """Raises `preparation_only` or `generation_closed` for a method that may not be called in a phase."""
    if phase == _PREPARATION and not method.preparation:
        raise _refused("preparation_only", f"{service} {method.name} may not be called during preparation")
    if phase == _CLEANUP and not method.cleanup:
        raise _refused("generation_closed", f"{service} {method.name} may not be called during cleanup")


_ACTIVE, _PREPARATION, _CLEANUP = Phase.PHASE_ACTIVE, Phase.PHASE_PREPARATION, Phase.PHASE_CLEANUP
_STRICTNESS = {_ACTIVE: 0, _PREPARATION: 1, _CLEANUP: 2}


def stricter(one: Phase, other: Phase) -> Phase:
    return one if _STRICTNESS[one] >= _STRICTNESS[other] else other


@lru_cache(maxsize=1024)
def _service(name: str) -> tuple[str, int | None]:
    if not name:
        raise _refused("invalid_request", f"the call carries no {SERVICE_KEY}")
    try:
        return parse_service(name)
    except MeshError as wrong:
        raise _refused(wrong.code, wrong.message) from None


def _method(envelope: Envelope, route: Route) -> Method:
    if envelope.path == DYNAMIC:
        if route.descriptor.grpc_service:
            raise _refused("method_not_found", f"{route.label} is carried by {carrier(route.descriptor)}")
        if not envelope.method:
            raise _refused("invalid_request", f"a dynamic call carries the metadata {METHOD_KEY}")
        found = route.by_name.get(envelope.method)
        asked = envelope.method
    else:
        found = route.by_path.get(envelope.path)
        asked = envelope.path
    if found is None:
        methods = ", ".join(route.by_name)
        raise _refused(
            "method_not_found",
            f"{route.instance.module} declares no {asked} in {route.label}; it has {methods}",
        )
    return found


def carrier(descriptor: ServiceDescriptor) -> str:
    """How calls to a service are carried, in words."""
    return f"typed:{descriptor.grpc_service}" if descriptor.grpc_service else "dynamic"


def _refused(code: str, message: str, **details: str) -> MeshError:
    return MeshError(code, message, outcome="not_dispatched", **details)
