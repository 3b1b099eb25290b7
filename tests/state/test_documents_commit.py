"""What a commit does, and what the same transaction does again."""

from __future__ import annotations

import asyncio
import hashlib
from pathlib import Path

from tests.state.conftest import Make
from tests.state.instance import ENGINES, Instance, Place, keys_of, refused, transaction, values_of, write
from wuu.state.documents.v1 import documents_pb2 as pb


def digest_of(request: pb.CommitRequest) -> str:
    """The digest that the proto defines, said once more."""
    fields = [request.id.encode(), request.expected_revision.encode()]
    for one in request.writes:
        change = b"-" if one.delete else b"=" + one.value.utf8
        fields += [one.namespace.encode(), one.key.encode(), change]
    return hashlib.sha256(b"".join(len(f).to_bytes(8, "big") + f for f in fields)).hexdigest()


async def revision_of(store: Instance) -> str:
    """The revision of the store."""
    return (await store.read("nothing", keys=[])).revision


async def test_a_commit_raises_the_revision_by_one_and_leaves_its_receipt(store: Instance) -> None:
    revision = await revision_of(store)
    request = transaction("commit-receipt", revision, write("commit.one", "a", b"1"))
    receipt = await store.commit(request)
    assert receipt.id == "commit-receipt"
    assert receipt.revision == str(int(revision) + 1) == await revision_of(store)
    assert receipt.digest == digest_of(request)


async def test_values_keep_their_exact_bytes(store: Instance) -> None:
    values = {
        "spaced": b'{"a": 1.0,\n "a":2}',
        "broken": b" [1,\r\n\t2]\n",
        "escaped": b'"\\u00e9\\/\\ud83d\\ude00"',
        "unicode": '"é😀\u2028\x7f"'.encode(),
        "number": b"-0.10e+05",
        "huge": b"123456789012345678901234567890",
        "null": b"null",
    }
    await store.put("commit.bytes", **values)
    assert values_of(await store.read("commit.bytes")) == values


async def test_all_writes_take_place_at_once(store: Instance) -> None:
    await store.put("commit.all", a=b"1", b=b"2")
    revision = await revision_of(store)
    await store.commit(
        transaction(
            "commit-all",
            revision,
            write("commit.all", "c", b"3"),
            write("commit.all", "a", b"4"),
            write("commit.all", "b", None),
            write("commit.all", "never-there", None),
            write("commit.all.other", "a", b"5"),
        )
    )
    assert values_of(await store.read("commit.all")) == {"a": b"4", "c": b"3"}
    assert values_of(await store.read("commit.all.other")) == {"a": b"5"}


async def test_a_commit_on_another_revision_writes_nothing(store: Instance) -> None:
    revision = await revision_of(store)
    await store.put("commit.conflict", a=b"1")
    late = transaction("commit-late", revision, write("commit.conflict", "a", b"2"))
    with refused("state_conflict", revision):
        await store.commit(late)
    assert values_of(await store.read("commit.conflict")) == {"a": b"1"}
    ahead = transaction("commit-ahead", str(int(revision) + 5), write("commit.conflict", "a", b"2"))
    with refused("state_conflict"):
        await store.commit(ahead)


async def test_a_conflict_leaves_the_id_unused(store: Instance) -> None:
    with refused("state_conflict"):
        await store.commit(transaction("commit-again", "999999", write("commit.again", "a", b"1")))
    revision = await revision_of(store)
    receipt = await store.commit(transaction("commit-again", revision, write("commit.again", "a", b"2")))
    assert receipt.revision == str(int(revision) + 1)


async def test_the_same_transaction_again_returns_the_first_receipt(store: Instance) -> None:
    request = transaction("commit-twice", await revision_of(store), write("commit.twice", "a", b"1"))
    first = await store.commit(request)
    assert await store.commit(request) == first
    await store.put("commit.twice", a=b"2")
    revision = await revision_of(store)
    assert await store.commit(request) == first
    assert values_of(await store.read("commit.twice")) == {"a": b"2"}
    assert await revision_of(store) == revision


async def test_an_id_stands_for_one_intent_for_ever(store: Instance) -> None:
    revision = await revision_of(store)
    await store.commit(transaction("commit-intent", revision, write("commit.intent", "a", b"1")))
    now = await revision_of(store)
    for other in (
        transaction("commit-intent", now, write("commit.intent", "a", b"1")),
        transaction("commit-intent", revision, write("commit.intent", "a", b"2")),
        transaction("commit-intent", revision, write("commit.intent", "a", b"1 ")),
        transaction("commit-intent", revision, write("commit.intent", "a", None)),
        transaction("commit-intent", revision, write("commit.intent", "b", b"1")),
    ):
        with refused("state_operation_conflict", "commit-intent"):
            await store.commit(other)
    assert await revision_of(store) == now


async def test_of_concurrent_commits_on_one_revision_one_wins(store: Instance) -> None:
    revision = await revision_of(store)
    requests = [
        transaction(f"commit-race-{n}", revision, write("commit.race", str(n), b"1")) for n in range(10)
    ]
    results = await asyncio.gather(*(store.commit(request) for request in requests), return_exceptions=True)
    won = [result for result in results if isinstance(result, pb.CommitResponse)]
    assert len(won) == 1
    assert keys_of(await store.read("commit.race")) == [won[0].id.removeprefix("commit-race-")]


async def test_a_cancelled_commit_takes_place_wholly_or_not_at_all(store: Instance) -> None:
    ids = [f"commit-cancel-{n}" for n in range(20)]
    for transaction_id in ids:
        request = transaction(
            transaction_id,
            await revision_of(store),
            write("commit.cancel.a", transaction_id, b"1"),
            write("commit.cancel.b", transaction_id, b"1"),
        )
        call = asyncio.create_task(store.commit(request))
        await asyncio.wait([asyncio.create_task(revision_of(store))])
        call.cancel()
        await asyncio.wait([call])
    export = await store.export()
    committed = {receipt.id for receipt in export.receipts} & set(ids)
    assert set(keys_of(await store.read("commit.cancel.a"))) == committed
    assert set(keys_of(await store.read("commit.cancel.b"))) == committed


async def test_every_engine_gives_the_same_receipt(make: Make, tmp_path: Path) -> None:
    request = transaction(
        "same é",
        "0",
        write("n", "é\uffff", b'{"a": 1.0,\n "a":2}'),
        write("n", "\U00010000", None),
        write("m", "-", b'"-"'),
    )
    for engine in ENGINES:
        (tmp_path / engine).mkdir()
        instance = await make(Place(engine, tmp_path / engine)).start()
        receipt = await instance.commit(request)
        assert receipt == pb.CommitResponse(id="same é", revision="1", digest=digest_of(request))
