"""Reports: `wuu.mesh.v1.Diagnostics`, what instances say about themselves."""

from __future__ import annotations

from collections.abc import Callable

from contract.errors import CODE_LIMIT, WORDS_LIMIT, MeshError, clip
from router.admission.admission import Admission
from router.admission.envelope import Envelope
from router.instances.instance import Instance
from router.kernel.call import parsed
from wuu.mesh.v1.diagnostics_pb2 import ReportRequest, ReportResponse

STRAY_LINE_LIMIT = 800
"""Bytes of UTF-8 that are kept of a stray line: 200 characters of any script."""

REPORT = "/wuu.mesh.v1.Diagnostics/Report"


class Reports:
    """Takes the reports of live instances."""

    def __init__(self, admission: Admission, failed: Callable[[Instance, MeshError], None]) -> None:
        """`failed` is called with an instance that says that it cannot go on, and why."""
        self._admission = admission
        self._failed = failed

    def report(self, request: bytes, envelope: Envelope) -> bytes:
        """Takes one."""
        instance = self._admission.instances.get(envelope.token)
        if instance is None:
            raise MeshError(
                "unauthenticated", "the call carries no token of a live instance", outcome="not_dispatched"
            )
        report = parsed(ReportRequest, request)
        instance.stray_lines = report.stray_lines
        instance.last_stray_line = clip(report.last_stray_line, STRAY_LINE_LIMIT)
        if report.HasField("failure"):
            failure = report.failure
            instance.reported.set()
            self._failed(
                instance, MeshError(clip(failure.code, CODE_LIMIT), clip(failure.message, WORDS_LIMIT))
            )
        return ReportResponse().SerializeToString()
