"""Versions: a store that an earlier release wrote is brought up to date and loses nothing."""

from __future__ import annotations

import sqlite3
from contextlib import closing

from sqlite_utils import Database

from providers.state.documents.store import Store
from providers.state.documents.transaction import Receipt, transaction_of
from providers.state.jsonl.record import commit_line
from providers.state.jsonl.store import JsonlStore
from providers.state.sqlite import schema
from providers.state.sqlite.store import SqliteStore
from tests.state.conftest import Make
from tests.state.instance import Place, transaction, values_of, write
from wuu.state.documents.v1 import documents_pb2 as pb

REQUEST = transaction("old", "0", write("n", "a", b'"\xc3\xa9"'), write("n", "b", b"2"))
DIGEST = transaction_of(REQUEST).digest


def of_version_1(place: Place) -> None:
    """A store with one commit, as the first release left it."""
    if place.engine == "jsonl":
        line = commit_line(transaction_of(REQUEST), Receipt("old", "1", DIGEST))
        assert b'"kind"' not in line
        place.path.write_bytes(b'{"format":"wuu.state.jsonl","version":1,"revision":"0"}\n' + line)
        return
    with closing(sqlite3.connect(place.path)) as connection:
        schema.MIGRATIONS[0](Database(connection))
        with connection:
            connection.execute(f"PRAGMA application_id = {schema.APPLICATION_ID}")
            connection.execute("PRAGMA user_version = 1")
            connection.executemany(
                "INSERT INTO documents VALUES (?, ?, ?)",
                [(each.namespace, each.key, each.value.utf8) for each in REQUEST.writes],
            )
            connection.execute("INSERT INTO receipts VALUES (1, 'old', '1', ?)", (DIGEST,))
            connection.execute("UPDATE store SET revision = '1'")


async def test_a_store_of_the_first_version_is_brought_up_to_date(make: Make, place: Place) -> None:
    of_version_1(place)
    store = await make(place).start()
    page = await store.read("n")
    assert (page.revision, values_of(page)) == ("1", {"a": b'"\xc3\xa9"', "b": b"2"})
    assert (await store.commit(REQUEST)).digest == DIGEST
    await store.ask(pb.AcquireInspectionRequest(id="g", namespaces=["n"]))
    first = await store.export(page_request())
    await store.kill()
    again = await make(place).start()
    assert (await again.export(page_request())).generation == first.generation
    await again.ask(pb.ReleaseInspectionRequest(id="g"))
    await again.put("n", a=b"3")


def page_request() -> pb.ExportRequest:
    return pb.ExportRequest(
        page=pb.ExportPageRequest(section="EXPORT_SECTION_DOCUMENTS", target_bytes=1000, max_items=10)
    )


async def test_to_look_at_an_old_store_changes_nothing(place: Place) -> None:
    of_version_1(place)
    before = place.files()
    engine: type[Store] = {"jsonl": JsonlStore, "sqlite": SqliteStore}[place.engine]
    engine.check(place.path)
    assert place.files() == before
