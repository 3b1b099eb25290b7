"""Two processes on one store, and a store that somebody else holds."""

from __future__ import annotations

import asyncio
import json
import secrets
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager

import filelock

from contract.errors import MeshError
from tests.state.conftest import Make
from tests.state.instance import Instance, Place, refused, transaction, values_of, write
from wuu.state.documents.v1 import documents_pb2 as pb


async def add_one(store: Instance) -> pb.CommitResponse:
    """Raises a counter by one, anew at every conflict."""
    while True:
        page = await store.read("n", keys=["counter"])
        count = int(values_of(page).get("counter", b"0")) + 1
        name = f"add-{secrets.token_hex(8)}"
        try:
            return await store.commit(transaction(name, page.revision, write("n", "counter", b"%d" % count)))
        except MeshError as error:
            if error.code != "state_conflict":
                raise


def through_link(place: Place) -> bytes:
    """A configuration that reaches the store through a symbolic link."""
    link = place.directory / "link"
    link.symlink_to(place.path)
    return json.dumps({"path": str(link)}).encode()


async def test_two_processes_on_one_store_are_one_store(make: Make, place: Place) -> None:
    # Both make the store at once, and one reaches it through a link.
    one, two = await asyncio.gather(make(place).start(), make(place, through_link(place)).start())
    receipts = await asyncio.gather(*(add_one(store) for store in (one, two) for _ in range(20)))
    assert sorted(int(receipt.revision) for receipt in receipts) == list(range(1, 41))
    for store in (one, two):
        page = await store.read("n")
        assert (page.revision, values_of(page)) == ("40", {"counter": b"40"})
    assert await one.export() == await two.export()


async def test_what_one_process_acknowledged_the_other_sees_at_once(make: Make, place: Place) -> None:
    one, two = await asyncio.gather(make(place).start(), make(place).start())
    for number in range(10):
        request = transaction(f"t{number}", str(number), write("n", "a", b"%d" % number))
        receipt = await one.commit(request)
        page = await two.read("n", at_revision=receipt.revision)
        assert values_of(page) == {"a": b"%d" % number}
        assert await two.commit(request) == receipt
        one, two = two, one
    await one.kill()
    await two.put("n", a=b"10")
    assert (await two.read("n")).revision == "11"


@contextmanager
def held(place: Place) -> Iterator[None]:
    """Holds what the engine takes to write."""
    if place.engine == "jsonl":
        with filelock.FileLock(f"{place.path}.lock"):
            yield
        return
    connection = sqlite3.connect(place.path, isolation_level=None)
    connection.execute("BEGIN IMMEDIATE")
    yield
    connection.execute("ROLLBACK")
    connection.close()


async def test_an_instance_answers_while_a_commit_waits_for_another_process(make: Make, place: Place) -> None:
    store = await make(place, through_link(place)).start()
    with held(place):
        commit = asyncio.create_task(store.commit(transaction("waits", "0", write("n", "a", b"1"))))
        for _ in range(10):
            assert await store.healthy()
        assert not commit.done()
    assert (await commit).revision == "1"


async def test_a_commit_that_was_cancelled_while_it_waited_in_line_is_never_begun(
    make: Make, place: Place
) -> None:
    store = await make(place).start()
    with held(place):
        first = asyncio.create_task(store.commit(transaction("first", "0", write("n", "a", b"1"))))
        assert await store.healthy()
        second = asyncio.create_task(store.commit(transaction("second", "1", write("n", "b", b"1"))))
        assert await store.healthy()
        second.cancel()
        await asyncio.wait([second])
        assert await store.healthy()
    assert (await first).revision == "1"
    assert values_of(await store.read("n")) == {"a": b"1"}
    with refused("state_conflict"):
        await store.commit(transaction("second", "0", write("n", "b", b"1")))
