"""Report: transitions, generations and executions, in the messages of the control API."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from router.admission.execution import Execution
from router.control.status import generation_status
from router.generations.difference import Difference
from router.generations.generation import Generation
from router.generations.journal import Recorded
from router.generations.transition import Ended
from wuu.mesh.v1 import control_pb2
from wuu.mesh.v1.json_pb2 import Json

if TYPE_CHECKING:
    from router.mesh import Mesh


def transition(mesh: Mesh, ended: Ended) -> control_pb2.Transition:
    """How a transition ended."""
    return control_pb2.Transition(
        outcome=ended.outcome,
        generation=generation_status(mesh),
        difference=_difference(ended.difference) if ended.difference is not None else None,
        problems=[
            control_pb2.Problem(where=each.where, message=each.message, code=each.code)
            for each in ended.problems
        ],
        took_ms=round(ended.took * 1000),
        start_ms=round(ended.started * 1000),
    )


def _difference(changes: Difference) -> control_pb2.Difference:
    return control_pb2.Difference(
        added=changes.added,
        removed=changes.removed,
        replaced=changes.replaced,
        carried=changes.carried,
        bindings=[
            control_pb2.BindingChange(
                consumer=each.consumer,
                service=each.service,
                major=each.major,
                before=each.before,
                after=each.after,
            )
            for each in changes.bindings
        ],
        blocked=[
            control_pb2.Problem(where=f"module {node.module}", message=node.reason, code=node.reason_code)
            for node in changes.blocked
        ],
    )


def generations(mesh: Mesh, limit: int) -> Iterable[control_pb2.GenerationRecord]:
    """The generations of the journal, with what keeps those that live."""
    living = {generation.number: generation for generation in mesh.retirement.alive}
    for record in mesh.journal.records(limit):
        row = _record(record)
        if (generation := living.get(record.number)) is not None:
            _keep(row, generation)
        yield row


def _record(record: Recorded) -> control_pb2.GenerationRecord:
    return control_pb2.GenerationRecord(
        id=str(record.number),
        state=record.state,
        cause=record.cause,
        created_unix_ms=record.created or 0,
        committed_unix_ms=record.committed or 0,
        published_unix_ms=record.published or 0,
        retired_unix_ms=record.retired or 0,
        closed_unix_ms=record.closed or 0,
        diagnostics=record.diagnostics,
        revocations=[
            control_pb2.Revocation(
                module=each.module,
                instance=each.instance,
                at_unix_ms=each.at,
                cause=each.cause,
                confirmed=each.confirmed,
                message=each.message,
            )
            for each in record.revocations
        ],
    )


def _keep(row: control_pb2.GenerationRecord, generation: Generation) -> None:
    row.state = generation.state
    row.diagnostics[:] = generation.diagnostics
    row.executions = generation.live
    row.leases.extend(
        control_pb2.Lease(
            module=lease.holder.module,
            key=lease.key,
            kind=lease.kind,
            since_unix_ms=round(lease.since * 1000),
        )
        for lease in generation.leases.values()
    )


def executions(mesh: Mesh) -> list[control_pb2.ExecutionStatus]:
    """The live executions, by generation and start."""
    ordered = sorted(
        mesh.admission.executions, key=lambda each: (each.generation.number, each.started, each.id)
    )
    return [_execution(each) for each in ordered]


def _execution(execution: Execution) -> control_pb2.ExecutionStatus:
    return control_pb2.ExecutionStatus(
        id=execution.id,
        generation=execution.generation.id,
        retained=execution.generation.superseded,
        owner=execution.owner.module,
        caller=execution.caller,
        parent=execution.parent.id if execution.parent is not None else "",
        service=execution.service,
        method=execution.method,
        started_unix_ms=round(execution.started * 1000),
        deadline_unix_ms=round(execution.deadline * 1000) if execution.deadline is not None else 0,
        progress=Json(utf8=execution.progress) if execution.progress else None,
        progress_unix_ms=round(execution.progressed * 1000),
        state="running" if execution.cancelled is None else "cancelled",
    )
