"""Reports: `wuu.mesh.v1.Diagnostics`, what instances say about themselves."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import grpc
from google.protobuf.message import DecodeError

from contract.context import TOKEN_KEY
from contract.errors import CODE_LIMIT, WORDS_LIMIT, MeshError, clip, to_status
from router.admission.admission import Admission
from router.instances.instance import Instance
from wuu.mesh.v1.diagnostics_pb2 import ReportRequest, ReportResponse

STRAY_LINE_LIMIT = 800
"""Bytes of UTF-8 that are kept of a stray line: 200 characters of any script."""

_REPORT = "/wuu.mesh.v1.Diagnostics/Report"


class Reports(grpc.GenericRpcHandler):
    """Takes the reports of live instances."""

    def __init__(self, admission: Admission, failed: Callable[[Instance, MeshError], None]) -> None:
        """`failed` is called with an instance that says that it cannot go on, and why."""
        self._admission = admission
        self._failed = failed

    def service(self, handler_call_details: Any) -> Any:
        if handler_call_details.method != _REPORT:
            return None
        return grpc.unary_unary_rpc_method_handler(self._report)

    async def _report(self, request: bytes, context: Any) -> bytes:
        try:
            instance, report = self._instance(context), _parse(request)
        except MeshError as refused:
            status = to_status(refused)
            await context.abort(status.code, status.message, status.trailers)
            raise AssertionError("abort raises") from None
        instance.stray_lines = report.stray_lines
        instance.last_stray_line = clip(report.last_stray_line, STRAY_LINE_LIMIT)
        if report.HasField("failure"):
            failure = report.failure
            instance.reported.set()
            self._failed(
                instance, MeshError(clip(failure.code, CODE_LIMIT), clip(failure.message, WORDS_LIMIT))
            )
        return ReportResponse().SerializeToString()

    def _instance(self, context: Any) -> Instance:
        token = next((value for key, value in context.invocation_metadata() if key == TOKEN_KEY), "")
        instance = self._admission.instances.get(token)
        if instance is None:
            raise MeshError(
                "unauthenticated", "the call carries no token of a live instance", outcome="not_dispatched"
            )
        return instance


def _parse(request: bytes) -> ReportRequest:
    try:
        return ReportRequest.FromString(request)
    except DecodeError:
        raise MeshError(
            "invalid_request", "the request is not a wuu.mesh.v1.ReportRequest", outcome="not_dispatched"
        ) from None
