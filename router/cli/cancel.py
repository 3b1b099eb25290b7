"""`wuu-mesh cancel`."""

from __future__ import annotations

from pathlib import Path

from router.cli.exits import EXIT_USAGE, explained, fail
from router.cli.session import Session
from router.cli.terminal import console
from wuu.mesh.v1.control_pb2 import CancelExecutionRequest, CancelExecutionResponse


def cancel(root: Path | None, execution: str) -> None:
    """Cancels an execution and all that it called."""
    if not execution.isascii():
        fail(EXIT_USAGE, f"'{execution}' is not the id of an execution", "`wuu-mesh executions` shows them.")
    with explained(), Session.of(root) as session:
        request = CancelExecutionRequest(id=execution)
        answer: CancelExecutionResponse = session.ask(session.control.CancelExecution, request)
    count = answer.cancelled
    console().print(f"{count} {'execution was' if count == 1 else 'executions were'} cancelled")
