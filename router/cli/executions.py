"""`wuu-mesh executions`."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import msgspec
from rich.live import Live
from rich.table import Table

from router.cli.answer import emit, emit_line
from router.cli.exits import NoMesh, explained, say
from router.cli.moment import age
from router.cli.session import Session
from router.cli.terminal import console, print_table, printable, table
from wuu.mesh.v1.control_pb2 import ExecutionStatus

LOOK = 1.0
"""Seconds between looks at executions that are watched; they do not say when they change."""

Executions = Sequence[ExecutionStatus]


def show(root: Path | None, *, watch: bool, json: bool) -> None:
    """Prints the executions that live, and with `watch` how they change."""
    with explained(), Session.of(root) as session:
        if not watch:
            executions = session.executions()
            if json:
                emit([execution_json(each) for each in executions])
            else:
                print_table(console(), executions_table(executions))
            return
        try:
            _watch(session, json=json)
        except KeyboardInterrupt:
            # That is how watching ends.
            return
        except NoMesh:
            say("the mesh has stopped")


def execution_json(execution: ExecutionStatus) -> dict[str, Any]:
    """An execution as `--json` prints it."""
    progress = execution.progress.utf8
    return {
        "id": execution.id,
        "generation": execution.generation,
        "retained": execution.retained,
        "owner": execution.owner,
        "caller": execution.caller,
        "parent": execution.parent or None,
        "service": execution.service,
        "method": execution.method,
        "started_unix_ms": execution.started_unix_ms,
        "deadline_unix_ms": execution.deadline_unix_ms or None,
        "progress": msgspec.Raw(progress) if progress else None,
        "progress_unix_ms": execution.progress_unix_ms or None,
        "state": execution.state,
    }


def executions_table(executions: Executions) -> Table:
    """The executions, a row each."""
    columns = ("generation", "execution", "owner", "caller", "service method", "age", "retained", "progress")
    rows, now_ms = table(*columns), round(time.time() * 1000)
    for execution in executions:
        progress = execution.progress.utf8
        cancelled = " (cancelled)" if execution.state == "cancelled" else ""
        rows.add_row(
            execution.generation,
            f"{execution.id}{cancelled}",
            execution.owner,
            execution.caller,
            f"{execution.service} {execution.method}",
            age(execution.started_unix_ms, now_ms),
            "retained" if execution.retained else "–",
            printable(msgspec.json.format(progress, indent=0).decode()) if progress else "–",
        )
    return rows


def _watch(session: Session, *, json: bool) -> None:
    out = console()
    if json:
        _look(session, lambda executions: emit_line([execution_json(each) for each in executions]))
    elif out.is_terminal and not out.is_dumb_terminal:
        with Live(console=out, auto_refresh=False) as live:
            while True:
                live.update(executions_table(session.executions()), refresh=True)
                time.sleep(LOOK)
    else:
        _look(session, lambda executions: print_table(out, executions_table(executions)))


def _look(session: Session, show: Callable[[Executions], None]) -> None:
    """Shows the executions, and again whenever they have changed."""
    shown: Executions | None = None
    while True:
        executions = session.executions()
        if executions != shown:
            show(executions)
            shown = executions
        time.sleep(LOOK)
