"""What stands after restarts, kills, torn writes, damage and a full disk."""

from __future__ import annotations

import errno
import os
import resource
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from contract.errors import MeshError
from providers.state.documents.store import Store
from providers.state.documents.transaction import Receipt, Transaction, Write
from providers.state.jsonl.record import first_line
from providers.state.jsonl.store import JsonlStore
from providers.state.sqlite.store import SqliteStore
from tests.state.conftest import Make
from tests.state.instance import (
    DATA_SET,
    Instance,
    Place,
    commit_to,
    read_from,
    refused,
    transaction,
    values_of,
    write,
)
from wuu.state.documents.v1 import documents_pb2 as pb

ENGINES: dict[str, type[Store]] = {"sqlite": SqliteStore, "jsonl": JsonlStore}


def seed(place: Place, revision: str) -> None:
    """An empty store that has that revision."""
    if place.engine == "jsonl":
        place.path.write_bytes(first_line(revision, DATA_SET))
        return
    SqliteStore.open(place.path).close()
    with closing(sqlite3.connect(place.path)) as connection, connection:
        connection.execute("UPDATE store SET revision = ?", (revision,))


async def restart(make: Make, place: Place) -> Instance:
    """The next instance on a place."""
    return await make(place).start()


@pytest.mark.parametrize("end", ["stop", "kill"])
async def test_receipts_and_documents_outlive_the_process(make: Make, place: Place, end: str) -> None:
    first = await make(place).start()
    request = transaction("kept", "0", write("n", "a", b"1"), write("n", "b", b'{"x":\n 1}'))
    receipt = await first.commit(request)
    await first.put("n", a=b"2")
    await (first.stop() if end == "stop" else first.kill())

    second = await restart(make, place)
    assert await second.commit(request) == receipt
    page = await second.read("n")
    assert (page.revision, values_of(page)) == ("2", {"a": b"2", "b": b'{"x":\n 1}'})
    with refused("state_operation_conflict"):
        await second.commit(transaction("kept", "2", write("n", "a", b"1")))


async def test_an_export_is_the_whole_store(make: Make, place: Place) -> None:
    store = await make(place).start()
    receipts = [
        await store.commit(transaction("z", "0", write("n", "\uffff", b"1"), write("n", "\U00010000", b"2"))),
        await store.commit(transaction("a", "1", write("m", "b", b" 3 "), write("o", "x", b"4"))),
        await store.commit(transaction("m", "2", write("o", "x", None), write("m", "a", b"5"))),
    ]
    export = await store.export()
    assert export.revision == "3"
    assert [(d.namespace, d.key, d.value.utf8) for d in export.documents] == [
        ("m", "a", b"5"),
        ("m", "b", b" 3 "),
        ("n", "\uffff", b"1"),
        ("n", "\U00010000", b"2"),
    ]
    assert [(r.id, r.revision, r.digest) for r in export.receipts] == [
        (receipt.id, receipt.revision, receipt.digest) for receipt in receipts
    ]
    assert not export.HasField("format") and not export.HasField("done")
    assert not export.HasField("generation") and not export.HasField("section")


async def test_revisions_go_on_past_every_integer(make: Make, place: Place) -> None:
    seed(place, "9007199254740993")
    store = await make(place).start()
    receipt = await store.commit(transaction("beyond", "9007199254740993", write("n", "a", b"1")))
    assert receipt.revision == "9007199254740994"
    with refused("state_conflict"):
        await store.read("n", at_revision="9007199254740993")
    assert (await store.read("n", at_revision="9007199254740994")).revision == receipt.revision
    await store.shutdown()

    place.path.unlink()
    nines = "9" * 5000
    seed(place, nines)
    await store.initialize()
    await store.prepare()
    await store.activate()
    receipt = await store.commit(transaction("far", nines, write("n", "a", b"1")))
    assert receipt.revision == "1" + "0" * 5000
    assert (await store.export()).receipts[0].revision == receipt.revision


async def test_an_answer_larger_than_a_frame_is_refused_and_pages_still_read(
    make: Make, place: Place
) -> None:
    half = b'"' + b"x" * (33 * 1024 * 1024) + b'"'
    store = ENGINES[place.engine].open(place.path)
    with store.ledger() as ledger:
        writes = (Write("n", "a", half), Write("n", "b", half))
        ledger.apply(Transaction("large", "0", writes, ""), Receipt("large", "1", ""))
    store.close()
    instance = await make(place).start()
    with refused("limit_exceeded", "67108864"):
        await instance.export()
    with refused("limit_exceeded", "67108864"):
        await instance.read("n")
    page = await instance.read("n", limit=1)
    assert page.next_cursor == "a" and page.documents[0].value.utf8 == half


async def test_a_full_disk_is_reported_and_loses_nothing(make: Make, place: Place) -> None:
    store = await make(place).start()
    await store.put("n", a=b"1")
    limits = resource.prlimit(store.pid, resource.RLIMIT_FSIZE)
    full = max(file.stat().st_size for file in place.directory.iterdir()) + 10_000
    request = transaction("large", "1", write("n", "b", b'"' + b"x" * 100_000 + b'"'))

    resource.prlimit(store.pid, resource.RLIMIT_FSIZE, (full, limits[1]))
    with refused("host_error", place.path.name):
        await store.commit(request)
    page = await store.read("n")
    assert (page.revision, values_of(page)) == ("1", {"a": b"1"})

    resource.prlimit(store.pid, resource.RLIMIT_FSIZE, limits)
    receipt = await store.commit(request)
    assert receipt.revision == "2"
    await store.kill()
    second = await restart(make, place)
    assert await second.commit(request) == receipt
    assert set(values_of(await second.read("n"))) == {"a", "b"}
    assert any("engine failed" in line for line in store.log)


async def test_a_store_that_was_taken_away_is_not_written_to(make: Make, place: Place) -> None:
    store = await make(place).start()
    await store.put("n", a=b"1")
    aside = place.directory / "aside"
    place.path.rename(aside)
    with refused("host_error", "removed or replaced"):
        await store.read("n")
    place.path.write_bytes(b"")
    with refused("host_error", "removed or replaced"):
        await store.commit(transaction("lost", "1", write("n", "a", b"2")))
    aside.rename(place.path)
    await store.put("n", a=b"2")
    assert values_of(await store.read("n")) == {"a": b"2"}


async def test_damage_is_refused_with_its_place_and_a_remedy(make: Make, place: Place) -> None:
    store = await make(place).start()
    await store.put("n", **{f"k{n}": b'"' + b"x" * 2000 + b'"' for n in range(20)})
    await store.put("n", last=b"1")
    await store.shutdown()
    content = bytearray(place.path.read_bytes())
    middle = len(content) // 2
    content[middle : middle + 4096] = b"y" * 4096
    place.path.write_bytes(content)
    await store.initialize()
    with pytest.raises(MeshError) as refusal:
        await store.prepare()
    assert refusal.value.code == "host_error"
    assert "damaged" in refusal.value.message and str(place.path) in refusal.value.message
    assert "Restore" in refusal.value.remedy


@pytest.fixture
def jsonl(tmp_path: Path) -> Place:
    """A place of the engine that writes lines."""
    return Place("jsonl", tmp_path)


async def test_a_torn_tail_is_cut_off_and_said(make: Make, jsonl: Place) -> None:
    first = await make(jsonl).start()
    request = transaction("whole", "0", write("n", "a", b"1"))
    receipt = await first.commit(request)
    whole = jsonl.path.read_bytes()
    await first.put("n", a=b"2")
    await first.kill()
    content = jsonl.path.read_bytes()
    jsonl.path.write_bytes(content[:-20])

    second = await restart(make, jsonl)
    assert jsonl.path.read_bytes() == whole
    page = await second.read("n")
    assert (page.revision, values_of(page)) == ("1", {"a": b"1"})
    assert await second.commit(request) == receipt
    await second.put("n", a=b"3")
    await second.stop()
    assert any("torn tail removed" in line for line in second.log)


async def test_a_tear_that_a_living_instance_finds_is_cut_off_too(make: Make, jsonl: Place) -> None:
    jsonl.path.write_bytes(first_line("0", DATA_SET)[:20])
    store = await make(jsonl).start()
    await store.put("n", a=b"1")
    with jsonl.path.open("ab") as file:
        file.write(b'{"bytes":"00001000","crc32":"')
    assert values_of(await store.read("n")) == {"a": b"1"}
    await store.put("n", a=b"2")
    assert b"00001000" not in jsonl.path.read_bytes()


async def test_a_last_line_that_was_written_whole_is_never_cut_off(make: Make, jsonl: Place) -> None:
    store = await make(jsonl).start()
    await store.put("n", a=b"111")
    await store.shutdown()
    content = jsonl.path.read_bytes()
    for damaged in (content.replace(b"111", b"112"), content[:-1] + b" "):
        jsonl.path.write_bytes(damaged)
        await store.initialize()
        with refused("host_error", "damaged"):
            await store.prepare()
        assert jsonl.path.read_bytes() == damaged


def test_a_sync_that_fails_acknowledges_nothing(jsonl: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    store = JsonlStore.open(jsonl.path)
    commit_to(store, transaction("kept", "0", write("n", "a", b"1")))
    kept = jsonl.path.read_bytes()
    request = transaction("failed", "1", write("n", "a", b"2"))

    def fail(fd: int) -> None:
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", fail)
        with refused("host_error", "JSONL", os.strerror(errno.EIO)):
            commit_to(store, request)
    assert jsonl.path.read_bytes() == kept
    assert values_of(read_from(store, pb.ReadRequest(namespace="n"))) == {"a": b"1"}
    assert commit_to(store, request).revision == "2"
    store.close()


def test_sqlite_syncs_every_commit_before_it_is_acknowledged(tmp_path: Path) -> None:
    SqliteStore.open(tmp_path / "store").close()
    store = SqliteStore.open(tmp_path / "store")
    with store.view() as view:
        (synchronous,) = view._connection.execute("PRAGMA synchronous").fetchone()
        (journal,) = view._connection.execute("PRAGMA journal_mode").fetchone()
    assert (synchronous, journal) == (2, "wal")
    store.close()
