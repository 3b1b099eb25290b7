"""Inspections: durable guards over namespaces, from check to operation. Pure.

| the record of the id | acquire | release | reconcile |
| --- | --- | --- | --- |
| none | held | sealed | conflict |
| held by the caller | the same, for the same namespaces | sealed | resolved, with its evidence |
| held by another | conflict | conflict | resolved, with its evidence |
| sealed | conflict | nothing to do | conflict |
| resolved | conflict | nothing to do | the receipt, for the same resolution |

A guard has no timeout, and no restart ends it. Source: 持久检查保护.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from contract.errors import MeshError
from providers.state.documents.bounds import check_id, check_namespace, invalid
from wuu.state.documents.v1.documents_pb2 import (
    AcquireInspectionRequest,
    InspectionOutcome,
    ReconcileInspectionRequest,
    ReconcileInspectionResponse,
)

State = Literal["held", "sealed", "resolved"]


@dataclass(frozen=True, slots=True)
class Inspection:
    """What a store keeps of a guard, for ever."""

    id: str
    owner: str
    """The module that holds it, or held it; of an id that was sealed unacquired, who sealed it."""
    namespaces: tuple[str, ...]
    """As they were requested."""
    revision: str
    """The revision of the store at which it was set."""
    state: State = "held"
    outcome: int = 0
    """Of a resolved one, an `InspectionOutcome`, and so the next two."""
    reason: str = ""
    reconciler: str = ""


def namespaces_of(requested: Sequence[str]) -> tuple[str, ...]:
    """The namespaces of a request: at least one, no repeats. Raises `invalid_params`."""
    if not requested:
        raise invalid("/namespaces", "at least one")
    for index, namespace in enumerate(requested):
        check_namespace(namespace, f"/namespaces/{index}")
        if namespace in requested[:index]:
            raise invalid(f"/namespaces/{index}", f"'{namespace}' stands twice")
    return tuple(requested)


def acquired(
    recorded: Inspection | None, request: AcquireInspectionRequest, caller: str, revision: str
) -> Inspection:
    """The guard that a request asks for, new or as it stands. Raises `state_operation_conflict`."""
    namespaces = tuple(request.namespaces)
    if recorded is None:
        return Inspection(request.id, caller, namespaces, revision)
    if recorded.state != "held":
        raise _conflict(f"the id of inspection '{recorded.id}' is {recorded.state} and serves no more")
    if (recorded.owner, set(recorded.namespaces)) != (caller, set(namespaces)):
        raise _conflict(f"inspection '{recorded.id}' is held by {recorded.owner}, or over other namespaces")
    return recorded


def released(recorded: Inspection | None, id: str, caller: str, revision: str) -> Inspection:  # noqa: A002
    """The record of a guard once its holder has let go. Raises `state_operation_conflict`."""
    if recorded is None:
        return Inspection(id, caller, (), revision, "sealed")
    if recorded.state == "held":
        if recorded.owner != caller:
            raise _conflict(f"inspection '{id}' is held by {recorded.owner}; reconciliation alone ends it")
        return replace(recorded, state="sealed")
    return recorded


def check_resolution(request: ReconcileInspectionRequest) -> None:
    """Raises `invalid_params` for a resolution without its parts."""
    check_id(request.id, "/id")
    check_id(request.expected_owner, "/expected_owner")
    namespaces_of(request.namespaces)
    if request.outcome not in (
        InspectionOutcome.INSPECTION_OUTCOME_COMPLETED,
        InspectionOutcome.INSPECTION_OUTCOME_NOT_DISPATCHED,
    ):
        raise invalid("/outcome", "must be completed or not-dispatched: what is unknown is no evidence")
    if not request.reason.strip():
        raise invalid("/reason", "must say what is known of the operation")


def resolved(recorded: Inspection | None, request: ReconcileInspectionRequest, reconciler: str) -> Inspection:
    """The record of a guard with its resolution. Raises `state_operation_conflict`."""
    if recorded is None or recorded.state == "sealed":
        raise _conflict(f"no inspection '{request.id}' is held")
    if (recorded.owner, set(recorded.namespaces)) != (request.expected_owner, set(request.namespaces)):
        raise _conflict(f"inspection '{request.id}' is of {recorded.owner}, or over other namespaces")
    if recorded.state == "held":
        return replace(
            recorded,
            state="resolved",
            outcome=int(request.outcome),
            reason=request.reason,
            reconciler=reconciler,
        )
    if (recorded.outcome, recorded.reason) != (request.outcome, request.reason):
        raise _conflict(f"inspection '{request.id}' was resolved otherwise by {recorded.reconciler}")
    return recorded


def receipt_of(record: Inspection) -> ReconcileInspectionResponse:
    """The receipt of a resolution."""
    return ReconcileInspectionResponse(
        id=record.id,
        owner=record.owner,
        namespaces=record.namespaces,
        outcome=record.outcome,  # type: ignore[arg-type]
        reason=record.reason,
        reconciler=record.reconciler,
    )


def check_unguarded(held: Iterable[Inspection], written: Iterable[str]) -> None:
    """Raises `inspection_active` where a guard holds a namespace that is written, whoever holds it."""
    guards = tuple(held)
    for namespace in dict.fromkeys(written):
        for guard in guards:
            if namespace in guard.namespaces:
                raise MeshError(
                    "inspection_active",
                    f"inspection '{guard.id}' of {guard.owner} holds '{namespace}'",
                    inspection=guard.id,
                    owner=guard.owner,
                )


def _conflict(message: str) -> MeshError:
    return MeshError("state_operation_conflict", message)
