"""Progress: `execution.update@1`, how far an execution is by its own word."""

from __future__ import annotations

import time

from contract.transcoder import Rejected, check_json
from router.generations.kernel import EXECUTION_UPDATE, EXECUTION_UPDATE_DESCRIPTOR
from router.kernel.call import KernelCall, parsed, refused
from wuu.mesh.v1.dynamic_pb2 import InvokeRequest, InvokeResponse
from wuu.mesh.v1.json_pb2 import Json

PROGRESS_LIMIT = 4096
"""Bytes of JSON that an execution may say about its progress."""


def note(call: KernelCall) -> InvokeResponse:
    """Keeps what the execution says; the last word stands."""
    if call.method != "call":
        raise refused("method_not_found", f"{EXECUTION_UPDATE}@1 has the method call")
    parent = call.within(
        EXECUTION_UPDATE_DESCRIPTOR, "call", "an update is made in an execution, and the call names none"
    )
    progress = parsed(InvokeRequest, call.request).params.utf8
    if len(progress) > PROGRESS_LIMIT:
        raise refused("invalid_params", f"an update has at most {PROGRESS_LIMIT} bytes of JSON")
    try:
        check_json(progress)
    except Rejected as rejected:
        raise refused("invalid_params", f"the update is not JSON: {rejected.rule}") from None
    parent.progress, parent.progressed = progress, time.time()
    return InvokeResponse(result=Json(utf8=b"null"))
