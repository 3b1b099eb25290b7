"""`wuu-mesh generations`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from router.cli.answer import emit
from router.cli.exits import explained
from router.cli.moment import date
from router.cli.session import Session
from router.cli.terminal import console, print_table, printable, styled, table
from wuu.mesh.v1.control_pb2 import GenerationRecord, ListGenerationsRequest, ListGenerationsResponse


def show(root: Path | None, limit: int, *, json: bool) -> None:
    """Prints the generations of a home, the newest first."""
    with explained(), Session.of(root) as session:
        request = ListGenerationsRequest(limit=limit)
        answer: ListGenerationsResponse = session.ask(session.control.ListGenerations, request)
    if json:
        emit([generation_json(each) for each in answer.generations])
    else:
        _print(answer.generations)


def generation_json(record: GenerationRecord) -> dict[str, Any]:
    """A generation as `--json` prints it."""
    return {
        "id": record.id,
        "state": record.state,
        "cause": record.cause,
        "created_unix_ms": record.created_unix_ms,
        "committed_unix_ms": record.committed_unix_ms or None,
        "published_unix_ms": record.published_unix_ms or None,
        "retired_unix_ms": record.retired_unix_ms or None,
        "closed_unix_ms": record.closed_unix_ms or None,
        "diagnostics": list(record.diagnostics),
        "executions": record.executions,
        "leases": [
            {
                "module": lease.module,
                "key": lease.key,
                "kind": lease.kind,
                "since_unix_ms": lease.since_unix_ms,
            }
            for lease in record.leases
        ],
        "revocations": [
            {
                "module": revocation.module,
                "instance": revocation.instance,
                "at_unix_ms": revocation.at_unix_ms,
                "cause": revocation.cause,
                "confirmed": revocation.confirmed,
                "message": revocation.message,
            }
            for revocation in record.revocations
        ],
    }


def _print(generations: Sequence[GenerationRecord]) -> None:
    rows = table("generation", "state", "cause", "committed", "executions", "leases", "diagnostics")
    for record in generations:
        rows.add_row(
            record.id,
            styled(record.state),
            printable(record.cause),
            date(record.committed_unix_ms),
            str(record.executions),
            str(len(record.leases)),
            printable("; ".join(record.diagnostics)) or "–",
        )
    out = console()
    print_table(out, rows)
    for record in generations:
        for line in _remarks(record):
            out.print(printable(line), soft_wrap=True)


def _remarks(record: GenerationRecord) -> Iterator[str]:
    """What keeps a generation beside executions, and what did not end well in it; a line each."""
    for lease in record.leases:
        held = f"holds {lease.kind} {lease.key} since {date(lease.since_unix_ms)}"
        yield f"generation {record.id}: {lease.module} {held}"
    for revocation in record.revocations:
        if not revocation.confirmed:
            unconfirmed = f"did not confirm its cleanup ({revocation.cause})"
            yield f"generation {record.id}: {revocation.instance} {unconfirmed}: {revocation.message}"
