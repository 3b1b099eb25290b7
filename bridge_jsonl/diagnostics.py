"""Diagnostics: what a plugin did wrong, in its log and in reports to the router."""

from __future__ import annotations

import asyncio
import logging
from datetime import UTC, datetime

from bridge_jsonl.frames import Answer, Fault, Line
from contract.errors import MeshError
from provider_kit.mesh import Mesh
from wuu.mesh.v1.diagnostics_pb2 import Failure

log = logging.getLogger(__name__)

STRAY_LINES = 256
"""Stray lines that an instance may write."""

STRAY_BYTES = 1024 * 1024
"""Bytes of stray lines that an instance may write."""

QUOTED = 200
"""Characters of a stray line that are kept."""

NOTED_ANSWERS = 256
"""Answers to no open call that are logged one by one; all are counted."""

LAST_REPORT = 1.0
"""Seconds that the last report may take."""


class Diagnostics:
    """The log and the reports of one instance."""

    def __init__(self, path: str, mesh: Mesh) -> None:
        """Opens the log for appending. Raises OSError."""
        self._log = open(path, "ab", buffering=0)  # noqa: SIM115 - `close` closes it
        self._mesh = mesh
        self._stray_lines = 0
        self._stray_bytes = 0
        self._last_stray_line = ""
        self._ignored = 0
        self._failure: Failure | None = None
        self._reporting: asyncio.Task[None] | None = None
        self._unreported = False

    def note(self, text: str) -> None:
        """Writes one line to the instance's log."""
        moment = datetime.now(UTC).isoformat(timespec="milliseconds")
        try:
            self._log.write(f"{moment} wuu.bridge: {text}\n".encode(errors="replace"))
        except OSError:
            pass  # A full disk must not keep the plugin's frames from being read.

    def stray(self, line: Line, why: str) -> bool:
        """Takes note of a line that is not a frame. False when it is one too many."""
        # No character takes more than four bytes.
        self._last_stray_line = line[: 4 * QUOTED].decode(errors="replace")[:QUOTED]
        self._stray_lines += 1
        self._stray_bytes += len(line)
        self.note(f"stray line on stdout ({why}): {self._last_stray_line}")
        self._report()
        return self._stray_lines <= STRAY_LINES and self._stray_bytes <= STRAY_BYTES

    def ignored(self, answer: Answer) -> None:
        """Takes note of an answer that no open call waits for: it is late, or has an id that nobody gave.

        The SDK answers a line that it cannot read with the id `invalid`; its message says why.
        """
        self._ignored += 1
        if self._ignored <= NOTED_ANSWERS:
            told = f": {answer.result.message}" if isinstance(answer.result, Fault) else ""
            self.note(f"answer to no open call, id {answer.id[:QUOTED]!r}{told[:QUOTED]}")

    def failed(self, code: str, message: str) -> None:
        """Tells the router that the instance cannot go on; the router ends it."""
        self.note(f"failed: {code}: {message}")
        self._failure = Failure(code=code, message=message)
        self._report()

    async def close(self) -> None:
        """Sends what is not reported yet, if the router still listens, and closes the log."""
        if self._ignored:
            self.note(f"{self._ignored} answers to no open call")
        if self._reporting is not None:
            await asyncio.wait((self._reporting,), timeout=LAST_REPORT)
            self._reporting.cancel()
        self._log.close()

    def _report(self) -> None:
        self._unreported = True
        if self._reporting is None or self._reporting.done():
            self._reporting = asyncio.create_task(self._report_latest())

    async def _report_latest(self) -> None:
        # One report is under way at most; what changes meanwhile goes with the next.
        while self._unreported:
            self._unreported = False
            try:
                await self._mesh.report(
                    stray_lines=self._stray_lines,
                    last_stray_line=self._last_stray_line,
                    failure=self._failure,
                )
            except MeshError as lost:
                log.warning("report lost", extra={"code": lost.code, "reason": lost.message})
