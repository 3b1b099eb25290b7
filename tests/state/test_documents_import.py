"""Import and compaction: a whole snapshot comes into an empty store or nothing does, and space comes back."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import msgspec
import pytest

from providers.state.documents.bounds import NAMESPACE_OWNERS
from tests.state.conftest import Make
from tests.state.instance import Instance, Place, refused, stewardship, transaction, values_of, write
from wuu.mesh.v1.json_pb2 import Json
from wuu.state.documents.v1 import documents_pb2 as pb


def snapshot(exported: pb.ExportResponse) -> pb.ImportRequest:
    """What an export gave, as an import takes it."""
    return pb.ImportRequest(
        revision=exported.revision, documents=exported.documents, receipts=exported.receipts
    )


async def source(make: Make, place: Place) -> tuple[Instance, pb.CommitRequest, pb.CommitResponse]:
    """A store with some history."""
    store = await make(place).start()
    request = transaction("first", "0", write("m", "\U00010000", b"1"), write("n", "a", b' {"b": 1} '))
    receipt = await store.commit(request)
    await store.put("n", a=b"2", c=b"3")
    return store, request, receipt


async def test_a_snapshot_comes_whole_with_its_revision_and_receipts(
    make: Make, place: Place, tmp_path_factory: pytest.TempPathFactory
) -> None:
    store, request, receipt = await source(make, place)
    exported = await store.export()
    target_place = Place(place.engine, tmp_path_factory.mktemp("target"))
    target = await make(target_place).start()
    answer = await target.ask(snapshot(exported))
    assert (answer.revision, answer.documents, answer.receipts) == ("2", 3, 2)
    assert await target.export() == exported
    assert await target.commit(request) == receipt
    assert await target.ask(snapshot(exported)) == answer
    await target.kill()
    again = await make(target_place).start()
    assert await again.export() == exported
    assert await again.ask(snapshot(exported)) == answer
    await again.put("n", a=b"4")
    with refused("state_conflict", "something else"):
        await again.ask(snapshot(exported))


def _twice(taken: pb.ImportRequest) -> None:
    taken.documents.append(taken.documents[-1])


def _backwards(taken: pb.ImportRequest) -> None:
    documents = list(reversed(taken.documents))
    del taken.documents[:]
    taken.documents.extend(documents)


def _same_receipt(taken: pb.ImportRequest) -> None:
    taken.receipts[1].id = taken.receipts[0].id


def _late_receipt(taken: pb.ImportRequest) -> None:
    taken.receipts[1].revision = "3"


def _receipts_backwards(taken: pb.ImportRequest) -> None:
    taken.receipts[0].revision, taken.receipts[1].revision = "2", "1"


def _digest(taken: pb.ImportRequest) -> None:
    taken.receipts[0].digest = "abc"


def _value(taken: pb.ImportRequest) -> None:
    taken.documents[0].value.utf8 = b"{"


def _revision(taken: pb.ImportRequest) -> None:
    taken.revision = "0"


def _owner(taken: pb.ImportRequest) -> None:
    taken.documents.add(namespace=NAMESPACE_OWNERS, key="n").value.utf8 = b'{"version":1}'


DAMAGES = (
    _twice,
    _backwards,
    _same_receipt,
    _late_receipt,
    _receipts_backwards,
    _digest,
    _value,
    _revision,
    _owner,
)


@pytest.mark.parametrize("damage", DAMAGES)
async def test_a_damaged_snapshot_is_refused_and_nothing_of_it_stays(
    make: Make,
    place: Place,
    tmp_path_factory: pytest.TempPathFactory,
    damage: Callable[[pb.ImportRequest], None],
) -> None:
    taken = pb.ImportRequest(
        revision="2",
        documents=[pb.Document(namespace="n", key=key, value=Json(utf8=b"1")) for key in "ab"],
        receipts=[pb.Receipt(id=f"t{n}", revision=str(n), digest="0" * 64) for n in (1, 2)],
    )
    damage(taken)
    target = await make(Place(place.engine, tmp_path_factory.mktemp("target"))).start()
    with refused("invalid_params"):
        await target.ask(taken)
    assert (await target.read("n")).revision == "0"
    assert not (await target.export()).documents


async def test_what_is_another_consumers_comes_by_a_migration_alone(make: Make, place: Place) -> None:
    owner = msgspec.json.encode({"version": 1, "namespace": "n", "owner": "owner"})
    taken = pb.ImportRequest(revision="5")
    taken.documents.add(namespace="n", key="a").value.utf8 = b"1"
    taken.documents.add(namespace=NAMESPACE_OWNERS, key="n").value.utf8 = owner
    target = await make(place).start()
    with refused("namespace_ownership", "owner"):
        await target.ask(taken)
    with refused("service_not_authorized"):
        await target.ask(taken, stewardship=stewardship(place, "verify", taken))
    await target.ask(taken, stewardship=stewardship(place, "migration", taken))
    with refused("namespace_ownership"):
        await target.read("n")


async def test_compaction_gives_space_back_and_changes_nothing(make: Make, place: Place) -> None:
    store, request, receipt = await source(make, place)
    for number in range(20):
        await store.put("n", a=b'"' + b"%d" % number + b"x" * 20_000 + b'"')
    before = await store.export()
    done = await store.ask(pb.CompactRequest())
    assert done.revision == before.revision
    assert done.bytes_after < done.bytes_before / 2
    assert await store.export() == before
    assert await store.commit(request) == receipt
    await store.put("n", a=b"1")
    await store.kill()
    again = await make(place).start()
    assert values_of(await again.read("n"))["a"] == b"1"
    assert await again.commit(request) == receipt


async def test_another_process_goes_on_after_a_compaction(make: Make, place: Place) -> None:
    one, other = await make(place).start(), await make(place).start()
    await one.put("n", a=b"1")
    await other.put("n", b=b"2")
    await one.ask(pb.CompactRequest())
    assert values_of(await other.read("n")) == {"a": b"1", "b": b"2"}
    await other.put("n", c=b"3")
    await other.ask(pb.CompactRequest())
    await asyncio.gather(one.ask(pb.CompactRequest()), other.ask(pb.CompactRequest()))
    assert values_of(await one.read("n")) == {"a": b"1", "b": b"2", "c": b"3"}
