"""The journal: what was committed holds, whatever ends the router, and the next one says what it found."""

from __future__ import annotations

import asyncio
import base64
import json
import os
import random
import signal
import sqlite3
import subprocess
from collections.abc import AsyncIterator
from contextlib import closing

import pytest

from contract.errors import MeshError
from tests.support.caller import failure
from tests.support.composition import probe, select
from tests.support.mesh import Mesh, running
from tests.support.script import Action

ONE = probe("one", provides=["probe.word@1"])
TWO = probe("two", provides=["probe.word@1"])


@pytest.fixture
async def mesh() -> AsyncIterator[Mesh]:
    async with running(ONE, TWO, services=[select("probe.word@1", "one")]) as mesh:
        yield mesh


async def provider(mesh: Mesh) -> str:
    audience: str = (await mesh.call("probe.word@1", "context"))["audience"]
    return audience.partition("@")[0]


async def killed(mesh: Mesh, *calls: asyncio.Task[MeshError]) -> None:
    """Kills the router, and waits for the calls that fail with it."""
    router = mesh.router
    children = router.descendants()
    router.signal(signal.SIGKILL)
    assert router.ends() and all(child.ends() for child in children)
    assert [(await call).code for call in calls] == ["service_unavailable"] * len(calls)
    await mesh.hang_up()


def up(mesh: Mesh) -> str:
    """Starts what was committed last, and returns what is said of it."""
    started = mesh.cli("up", "--detach")
    assert started.returncode == 0, started.stderr
    return started.stderr


async def test_a_mesh_comes_back_with_what_was_committed_last(mesh: Mesh) -> None:
    await mesh.apply(ONE, TWO, services=[select("probe.word@1", "two")])
    await killed(mesh)
    # The file is not asked: it may say what was never applied.
    mesh.composition.write_text("torn")
    said = up(mesh)
    assert await provider(mesh) == "two"
    assert "mesh found: generation 2 (apply composition.json, " in said
    assert "was active: its router was killed" in said
    records = await mesh.generations()
    assert [(each.id, each.state) for each in records.values()] == [
        ("3", "active"),
        ("2", "lost"),
        ("1", "closed"),
    ]


async def test_what_was_not_committed_never_was(mesh: Mesh) -> None:
    slow = probe("slow", steps={"prepare": Action(hang=True)})
    asked = mesh.apply(ONE, TWO, slow, services=[select("probe.word@1", "two")])
    applying = asyncio.create_task(failure(asked))
    await mesh.happens("generation", "2", "building")
    await killed(mesh, applying)
    said = up(mesh)
    assert await provider(mesh) == "one"
    assert "generation 2 (apply composition.json, " in said and "was not committed, and is dropped" in said


async def test_what_was_committed_and_not_activated_holds(mesh: Mesh) -> None:
    slow = probe("slow", steps={"activate": Action(hang=True)}, timeout=60)
    asked = mesh.apply(ONE, TWO, slow, services=[select("probe.word@1", "two")])
    applying = asyncio.create_task(failure(asked))
    await mesh.happens("generation", "2", "committed")
    await killed(mesh, applying)
    with closing(sqlite3.connect(mesh.home / "journal.sqlite3")) as journal:
        rows = journal.execute("SELECT number, state FROM generation ORDER BY number").fetchall()
    assert rows[-1] == (2, "committed")
    # It hangs again, and the mesh comes up with it all the same.
    starting = mesh.spawn("up", stderr=subprocess.DEVNULL)
    await mesh.reached()
    await mesh.happens("generation", "3", "committed")
    active, committed = [event.message for event in await mesh.events() if event.state == "found"]
    assert active.endswith("was active: its router was killed")
    assert committed.endswith("was committed, and its router ended before it was active")
    starting.terminate()
    assert starting.wait(10) == 0


async def test_a_switch_is_remembered(mesh: Mesh) -> None:
    await mesh.switch("two", enabled=False)
    await mesh.stop()
    up(mesh)
    assert mesh.module("two")["state"] == "disabled"
    await mesh.switch("two", enabled=True)
    assert mesh.module("two")["state"] == "active"


async def test_a_switch_that_changes_nothing_is_no_step_to_go_back(mesh: Mesh) -> None:
    await mesh.apply(ONE, TWO, services=[select("probe.word@1", "two")])
    assert (await mesh.switch("one", enabled=True)).outcome == "unchanged"
    await mesh.switch("one", enabled=False)
    assert (await mesh.switch("one", enabled=True)).outcome == "committed"
    assert (await mesh.rollback()).outcome == "committed"
    assert mesh.module("one")["state"] == "disabled"


async def test_a_rollback_applies_what_was_committed_before_as_a_new_generation(mesh: Mesh) -> None:
    await mesh.apply(ONE, TWO, services=[select("probe.word@1", "two")])
    await mesh.reload("one")
    ended = await mesh.rollback()
    assert (ended.outcome, ended.generation.id) == ("committed", "4")
    assert await provider(mesh) == "one"
    assert (await mesh.rollback()).outcome == "committed"
    assert await provider(mesh) == "two"


async def test_there_is_nothing_to_go_back_to_in_a_fresh_home(mesh: Mesh) -> None:
    error = await failure(mesh.rollback())
    assert (error.code, error.message) == (
        "invalid_request",
        "no other composition was committed in this home before",
    )


async def test_a_generation_has_its_times_and_what_it_was_for(mesh: Mesh) -> None:
    await mesh.apply(ONE, TWO, services=[select("probe.word@1", "two")])
    await mesh.happens("generation", "1", "closed")
    records = await mesh.generations()
    assert [(each.id, each.cause, each.state) for each in records.values()] == [
        ("2", "apply composition.json", "active"),
        ("1", "up", "closed"),
    ]
    first = records["1"]
    times = (
        first.created_unix_ms,
        first.committed_unix_ms,
        first.published_unix_ms,
        first.retired_unix_ms,
        first.closed_unix_ms,
    )
    assert all(times) and list(times) == sorted(times)


async def test_a_named_composition_goes_before_what_was_committed(mesh: Mesh) -> None:
    await mesh.apply(ONE, TWO, services=[select("probe.word@1", "two")])
    await mesh.stop()
    mesh.compose(ONE, TWO, services=[select("probe.word@1", "one")])
    mesh.start()
    assert await provider(mesh) == "one"


async def test_a_journal_of_the_first_schema_is_taken_over(mesh: Mesh) -> None:
    await mesh.stop()
    path = mesh.home / "journal.sqlite3"
    for left in mesh.home.glob("journal.sqlite3*"):
        left.unlink()
    with closing(sqlite3.connect(path)) as journal:
        journal.executescript(
            """
            CREATE TABLE declaration (key TEXT PRIMARY KEY, declaration BLOB NOT NULL) STRICT;
            CREATE TABLE generation (number INTEGER PRIMARY KEY AUTOINCREMENT) STRICT;
            INSERT INTO generation VALUES (41);
            PRAGMA user_version = 1;
            """
        )
    mesh.start()
    assert mesh.status()["generation"]["id"] == "42"


async def test_a_journal_of_the_second_schema_is_taken_over_with_its_composition(mesh: Mesh) -> None:
    await mesh.stop()
    path = mesh.home / "journal.sqlite3"
    with closing(sqlite3.connect(path)) as journal:
        journal.execute("ALTER TABLE composition ADD COLUMN text BLOB NOT NULL DEFAULT ''")
        journal.execute("ALTER TABLE composition ADD COLUMN path TEXT")
        text = mesh.composition.read_bytes()
        journal.execute("UPDATE composition SET text = ?, path = ?", (text, str(mesh.composition)))
        journal.execute("ALTER TABLE composition DROP COLUMN sources")
        journal.execute("PRAGMA user_version = 2")
        journal.commit()
    up(mesh)
    assert mesh.status()["router"]["composition"] == str(mesh.composition)
    assert mesh.status()["generation"]["state"] == "active"


async def test_a_composition_that_holds_no_more_says_so(mesh: Mesh) -> None:
    await mesh.stop()
    mesh.without_packages()
    started = mesh.cli("up", "--detach")
    assert started.returncode == 2
    assert "matches no directory" in started.stderr


@pytest.mark.parametrize("round", range(int(os.environ.get("WUU_TEST_ROUTER_KILLS", "1"))))
async def test_whenever_the_router_is_killed_what_was_acknowledged_holds(mesh: Mesh, round: int) -> None:  # noqa: A002
    acknowledged, asked = "one", "two"

    async def applying() -> MeshError:
        nonlocal acknowledged, asked
        while True:
            try:
                await mesh.apply(ONE, TWO, services=[select("probe.word@1", asked)])
            except MeshError as error:
                return error
            acknowledged, asked = asked, acknowledged

    busy = asyncio.create_task(applying())
    delay = random.Random(round).uniform(0.0, 0.2)
    # The moment is what is tried: anywhere in a transition.
    await asyncio.sleep(delay)
    await killed(mesh, busy)
    up(mesh)
    with closing(sqlite3.connect(mesh.home / "journal.sqlite3")) as journal:
        (sources,) = journal.execute(
            "SELECT sources FROM generation JOIN composition ON composition = id ORDER BY number DESC LIMIT 1"
        ).fetchone()
    (source,) = json.loads(sources)
    (selection,) = json.loads(base64.b64decode(source["text"]))["services"]
    # What was asked for last may have been committed, though nobody heard of it any more.
    assert selection["provider"] in (acknowledged, asked)
    assert await provider(mesh) == selection["provider"]
