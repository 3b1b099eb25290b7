"""Kernel calls: what modules call of the router itself, admitted like every call as far as it goes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import grpc
from google.protobuf.message import Message

from contract.context import SERVICE_KEY
from contract.continuation import CONTINUE
from contract.errors import MeshError, to_status
from contract.transport import DYNAMIC, check_size
from router.admission.admission import Admission
from router.admission.envelope import Envelope
from router.generations.kernel import EXECUTION_UPDATE
from router.kernel import leases, progress
from router.kernel.call import KernelCall, parsed
from router.relay.relay import Relay
from wuu.mesh.v1.continuation_pb2 import ContinueRequest, ContinueResponse

_ACQUIRE = "/wuu.mesh.v1.Leases/AcquireLease"
_RELEASE = "/wuu.mesh.v1.Leases/ReleaseLease"

Serve = Callable[[KernelCall], Message]


class KernelCalls(grpc.GenericRpcHandler):
    """Serves `wuu.mesh.leases@1`, `execution.update@1` and `wuu.mesh.v1.Continuations`."""

    def __init__(self, admission: Admission, relay: Relay) -> None:
        self._admission = admission
        self._relay = relay
        self._typed = {
            _ACQUIRE: self._handler(leases.acquire),
            _RELEASE: self._handler(leases.release, scoped=False),
            CONTINUE: grpc.unary_unary_rpc_method_handler(self._continue),
        }
        self._update = self._handler(progress.note)

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
            except MeshError as error:
                return await _refuse(error, context)

        return grpc.unary_unary_rpc_method_handler(answer)

    async def _continue(self, request: bytes, context: Any) -> bytes:
        """The call that an execution is, once more, to whom its owner is bound to."""
        try:
            envelope = Envelope.read(CONTINUE, context.invocation_metadata(), context.time_remaining())
            asked = parsed(ContinueRequest, request)
            admitted = self._admission.admit_continuation(envelope, asked.id)
        except MeshError as error:
            return await _refuse(error, context)
        answer = ContinueResponse(response=await self._relay.resume(admitted, context)).SerializeToString()
        try:
            check_size(answer, "the answer", outcome="unknown")
        except MeshError as error:
            return await _refuse(error, context)
        return answer


async def _refuse(error: MeshError, context: Any) -> bytes:
    status = to_status(error)
    await context.abort(status.code, status.message, status.trailers)
    raise AssertionError("abort raises")
