"""Kernel calls: what modules call of the router itself, admitted like every call as far as it goes."""

from __future__ import annotations

from collections.abc import Callable

from google.protobuf.message import Message

from contract.continuation import CONTINUE
from contract.transport import DYNAMIC
from router.admission.admission import Admission
from router.admission.envelope import Envelope
from router.generations.kernel import EXECUTION_UPDATE
from router.kernel import leases, progress
from router.kernel.call import KernelCall, parsed
from router.kernel.reports import REPORT, Reports
from router.relay.local import Serve
from router.relay.relay import Relay
from wuu.mesh.v1.continuation_pb2 import ContinueRequest, ContinueResponse

_ACQUIRE = "/wuu.mesh.v1.Leases/AcquireLease"
_RELEASE = "/wuu.mesh.v1.Leases/ReleaseLease"


class KernelCalls:
    """Serves leases, updates of executions, continuations and reports."""

    def __init__(self, admission: Admission, relay: Relay, reports: Reports) -> None:
        self._admission = admission
        self._relay = relay
        self._typed: dict[str, Serve] = {
            REPORT: reports.report,
            _ACQUIRE: self._serving(leases.acquire),
            _RELEASE: self._serving(leases.release, scoped=False),
            CONTINUE: self._continue,
        }
        self._update = self._serving(progress.note)

    def find(self, envelope: Envelope) -> Serve | None:
        """What serves a call; None where a provider does."""
        if envelope.path == DYNAMIC:
            return self._update if envelope.service.partition("@")[0] == EXECUTION_UPDATE else None
        return self._typed.get(envelope.path)

    def _serving(self, serve: Callable[[KernelCall], Message], *, scoped: bool = True) -> Serve:
        def answer(request: bytes, envelope: Envelope) -> bytes:
            caller, _, _ = self._admission.called(envelope)
            parent = self._admission.parent(envelope, caller) if scoped else None
            return serve(KernelCall(request, caller, parent, envelope.method)).SerializeToString()

        return answer

    async def _continue(self, request: bytes, envelope: Envelope) -> bytes:
        """The call that an execution is, once more, to whom its owner is bound to."""
        asked = parsed(ContinueRequest, request)
        admitted = self._admission.admit_continuation(envelope, asked.id)
        return ContinueResponse(response=await self._relay.resume(admitted)).SerializeToString()
