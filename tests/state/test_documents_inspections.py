"""Inspections: guards that hold writes off until they are released, through restarts too."""

from __future__ import annotations

import secrets

import pytest

from contract.errors import MeshError
from tests.state.conftest import Make
from tests.state.instance import Instance, Place, admission, refused, transaction, write
from wuu.state.documents.v1 import documents_pb2 as pb

LIST, RECONCILE = "state/inspections/list", "state/inspections/reconcile"


def named() -> str:
    """A name that no other test has."""
    return f"i-{secrets.token_hex(6)}"


async def acquire(
    store: Instance, guard: str, *namespaces: str, caller: str = "test.caller"
) -> pb.AcquireInspectionResponse:
    answer: pb.AcquireInspectionResponse = await store.ask(
        pb.AcquireInspectionRequest(id=guard, namespaces=namespaces), caller=caller
    )
    return answer


async def release(store: Instance, guard: str, caller: str = "test.caller") -> None:
    await store.ask(pb.ReleaseInspectionRequest(id=guard), caller=caller)


async def listed(store: Instance) -> dict[str, pb.Inspection]:
    """The guards that are held, by id."""
    request = pb.ListInspectionsRequest()
    answer = await store.ask(request, admission=admission(LIST, request))
    assert answer.provider == store.place.module
    return {each.id: each for each in answer.inspections}


def resolution(
    guard: str, owner: str, *namespaces: str, outcome: str = "COMPLETED"
) -> pb.ReconcileInspectionRequest:
    return pb.ReconcileInspectionRequest(
        id=guard,
        expected_owner=owner,
        namespaces=namespaces,
        outcome=f"INSPECTION_OUTCOME_{outcome}",
        reason="its receipt was found",
    )


async def reconcile(
    store: Instance, request: pb.ReconcileInspectionRequest
) -> pb.ReconcileInspectionResponse:
    answer: pb.ReconcileInspectionResponse = await store.ask(request, admission=admission(RECONCILE, request))
    return answer


async def test_a_guard_holds_off_every_write_to_its_namespaces_and_no_other(store: Instance) -> None:
    guard, held, free = named(), named(), named()
    await store.put(held, a=b"1")
    answer = await acquire(store, guard, held)
    assert (answer.id, list(answer.namespaces)) == (guard, [held])
    assert answer.revision == (await store.read(held)).revision
    with refused("inspection_active", guard):
        await store.put(held, a=b"2")
    # All or none: a write elsewhere in the same transaction is held off with it.
    revision = (await store.read(held)).revision
    with refused("inspection_active"):
        await store.commit(transaction(named(), revision, write(free, "a", b"1"), write(held, "a", b"2")))
    await store.put(free, a=b"1")
    await release(store, guard)
    await store.put(held, a=b"2")


async def test_a_committed_transaction_gets_its_receipt_though_a_guard_holds(store: Instance) -> None:
    guard, namespace = named(), named()
    revision = (await store.read(namespace)).revision
    request = transaction(named(), revision, write(namespace, "a", b"1"))
    receipt = await store.commit(request)
    await acquire(store, guard, namespace)
    assert await store.commit(request) == receipt
    await release(store, guard)


async def test_to_acquire_it_again_is_the_same_guard_and_to_others_a_conflict(store: Instance) -> None:
    guard, one, other = named(), named(), named()
    first = await acquire(store, guard, one, other)
    await store.put(named(), a=b"1")
    assert (await acquire(store, guard, other, one)).revision == first.revision
    with refused("state_operation_conflict"):
        await acquire(store, guard, one)
    with refused("state_operation_conflict"):
        await acquire(store, guard, one, other, caller="another")
    with refused("state_operation_conflict", "test.caller"):
        await release(store, guard, caller="another")
    assert guard in await listed(store)
    await release(store, guard)


async def test_a_released_id_is_sealed_also_where_it_was_never_acquired(store: Instance) -> None:
    used, unused, namespace = named(), named(), named()
    await acquire(store, used, namespace)
    for guard in (used, unused):
        await release(store, guard)
        await release(store, guard)
        with refused("state_operation_conflict", "sealed"):
            await acquire(store, guard, namespace)
    await store.put(namespace, a=b"1")


@pytest.mark.parametrize("end", ["stop", "kill"])
async def test_guards_and_seals_survive_the_process(make: Make, place: Place, end: str) -> None:
    first = await make(place).start()
    await acquire(first, "held", "n")
    await release(first, "sealed")
    await (first.stop() if end == "stop" else first.kill())
    second = await make(place).start()
    with refused("inspection_active", "held"):
        await second.put("n", a=b"1")
    with refused("state_operation_conflict"):
        await acquire(second, "sealed", "n")
    await second.ask(pb.CompactRequest())
    with refused("inspection_active", "held"):
        await second.put("n", a=b"1")
    await release(second, "held")
    await second.put("n", a=b"1")


async def test_a_list_tells_whose_guards_are_held_and_needs_the_owner(store: Instance) -> None:
    guard, namespace = named(), named()
    await acquire(store, guard, namespace, caller="holder")
    found = (await listed(store))[guard]
    assert (found.owner, list(found.namespaces)) == ("holder", [namespace])
    request = pb.ListInspectionsRequest()
    with refused("service_not_authorized", LIST):
        await store.ask(request)
    for wrong in (
        admission(RECONCILE, request),
        admission(LIST, request, input_digest=bytes(32)),
        admission(LIST, pb.ReleaseInspectionRequest(id="x")),
    ):
        with refused("service_not_authorized"):
            await store.ask(request, admission=wrong)
    await release(store, guard, caller="holder")
    assert guard not in await listed(store)


async def test_a_guard_of_a_holder_that_is_gone_ends_with_evidence(make: Make, place: Place) -> None:
    store = await make(place).start()
    await acquire(store, "g", "n", "m", caller="gone")
    request = resolution("g", "gone", "m", "n")
    receipt = await reconcile(store, request)
    assert (receipt.owner, receipt.reconciler, receipt.reason) == (
        "gone",
        "test.owner",
        "its receipt was found",
    )
    await store.put("n", a=b"1")
    assert await reconcile(store, request) == receipt
    with refused("state_operation_conflict", "otherwise"):
        await reconcile(store, resolution("g", "gone", "m", "n", outcome="NOT_DISPATCHED"))
    with refused("state_operation_conflict"):
        await acquire(store, "g", "n", caller="gone")
    await store.stop()
    assert await reconcile(await make(place).start(), request) == receipt


async def test_a_resolution_names_the_guard_exactly_and_needs_the_owner(store: Instance) -> None:
    guard, namespace = named(), named()
    await acquire(store, guard, namespace, caller="gone")
    for wrong in (
        resolution(named(), "gone", namespace),
        resolution(guard, "another", namespace),
        resolution(guard, "gone", named()),
    ):
        with refused("state_operation_conflict"):
            await reconcile(store, wrong)
    right = resolution(guard, "gone", namespace)
    for request, rule in (
        (resolution(guard, "gone", namespace, outcome="UNSPECIFIED"), "/outcome"),
        (
            pb.ReconcileInspectionRequest(
                id=guard, expected_owner="gone", namespaces=[namespace], outcome=right.outcome, reason=" "
            ),
            "/reason",
        ),
    ):
        with refused("invalid_params", rule):
            await reconcile(store, request)
    with refused("service_not_authorized"):
        await store.ask(right)
    with refused("service_not_authorized", "another input"):
        await store.ask(right, admission=admission(RECONCILE, resolution(guard, "gone", named())))
    await reconcile(store, right)


@pytest.mark.parametrize(
    ("request_", "pointer"),
    [
        (pb.AcquireInspectionRequest(id="", namespaces=["n"]), "/id"),
        (pb.AcquireInspectionRequest(id="x" * 257, namespaces=["n"]), "/id"),
        (pb.AcquireInspectionRequest(id="x"), "/namespaces"),
        (pb.AcquireInspectionRequest(id="x", namespaces=["n", "n"]), "/namespaces/1"),
        (pb.AcquireInspectionRequest(id="x", namespaces=["a\0"]), "/namespaces/0"),
        (pb.ReleaseInspectionRequest(), "/id"),
    ],
)
async def test_a_malformed_guard_is_refused_with_its_pointer(
    store: Instance, request_: pb.AcquireInspectionRequest, pointer: str
) -> None:
    with pytest.raises(MeshError) as caught:
        await store.ask(request_)
    assert (caught.value.code, caught.value.details["pointer"]) == ("invalid_params", pointer)
