"""Adversity: what disks, packages and haste do to a mesh, and what they cannot do."""

from __future__ import annotations

import asyncio
import sqlite3
import time
from collections.abc import AsyncIterator
from contextlib import closing

import pytest

from tests.support.caller import failure
from tests.support.composition import Entry, probe
from tests.support.mesh import Mesh, running
from tests.support.process import Process
from tests.support.script import Action

PROMISE = 5
"""Seconds within which a mesh has stopped."""

GATE = probe("gate", provides=["probe.gate@1"])
A = probe("a", provides=["probe.a@1"], requires=["probe.gate@1"])
B = probe("b", provides=["probe.b@1"])


@pytest.fixture
async def mesh() -> AsyncIterator[Mesh]:
    async with running(GATE, A, B) as mesh:
        yield mesh


@pytest.mark.parametrize("damage", ["broken", "gone", "linked"])
async def test_a_disable_commits_whatever_became_of_the_packages_of_others(mesh: Mesh, damage: str) -> None:
    package = mesh.directory / "packages" / "b"
    if damage == "broken":
        (package / "plugin.json").write_text("{")
    elif damage == "gone":
        (package / "plugin.json").unlink()
    else:
        (package / "elsewhere").symlink_to("/")
    instance = mesh.module("b")["instance"]
    assert (await mesh.switch("a", enabled=False)).outcome == "committed"
    assert mesh.module("b")["instance"] == instance
    assert (await mesh.switch("b", enabled=False)).outcome == "committed"


async def test_a_recovery_takes_nobody_elses_changes_along(mesh: Mesh) -> None:
    (mesh.directory / "packages" / "b" / "more.txt").write_text("more")
    instance = mesh.module("b")["instance"]
    Process(mesh.module("a")["pid"]).kill()
    await mesh.happens("transition", "recover a", "committed")
    assert mesh.module("b")["instance"] == instance


async def test_a_bad_candidate_is_dropped_while_its_module_recovers(mesh: Mesh) -> None:
    Process(mesh.module("gate")["pid"]).kill()
    await mesh.happens("module", "gate", "recovering")
    broken = probe("gate", provides=["probe.gate@1"], steps={"initialize": Action(error="no")})
    ended = await mesh.apply(broken, A, B)
    assert ended.outcome == "dropped"
    await mesh.settled()
    assert await mesh.call("probe.gate@1", "echo", 1) == 1


async def test_a_journal_that_somebody_else_holds_keeps_nobody_waiting(mesh: Mesh) -> None:
    with closing(sqlite3.connect(mesh.home / "journal.sqlite3", isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        ended = await mesh.reload("b")
        assert [(each.where, each.code) for each in ended.problems] == [("module b", "host_error")]
        assert "database is locked" in ended.problems[0].message
        assert await mesh.call("probe.a@1", "echo", 1) == 1
        await mesh.hang_up()
        router = mesh.router
        router.signal(15)
        assert router.ends(PROMISE)


async def test_a_file_that_takes_long_to_read_keeps_no_mesh_from_stopping(mesh: Mesh) -> None:
    with (mesh.directory / "packages" / "b" / "large").open("wb") as large:
        large.truncate(30 << 30)
    applying = asyncio.create_task(failure(mesh.apply(GATE, A, B)))
    await mesh.happens("transition", "apply composition.json", "running")
    assert await mesh.call("probe.a@1", "echo", 1) == 1
    router = mesh.router
    router.signal(15)
    assert router.ends(PROMISE)
    assert (await applying).code in ("generation_closed", "service_unavailable")


async def test_an_applied_document_is_remembered_though_nothing_that_runs_changed(mesh: Mesh) -> None:
    ended = await mesh.apply(GATE, A, B, probe("later", provides=["probe.later@1"], enabled=False))
    assert (ended.outcome, list(ended.difference.carried)) == ("committed", ["a", "b", "gate"])
    assert (await mesh.switch("later", enabled=True)).outcome == "committed"
    assert await mesh.call("probe.later@1", "echo", 1) == 1


async def test_cleanup_in_a_long_chain_is_confirmed_where_there_is_time() -> None:
    chain: list[Entry] = [probe("m0", provides=["probe.m0@1"])]
    for index in range(1, 6):
        requires = [f"probe.m{index - 1}@1"]
        chain.append(probe(f"m{index}", provides=[f"probe.m{index}@1"], requires=requires))
    slow = probe("m0", provides=["probe.m0@1"], steps={"shutdown": Action(pause=0.6)})
    async with running(slow, *chain[1:]) as mesh:
        router, begun = mesh.router, time.monotonic()
        await mesh.hang_up()
        router.signal(15)
        assert router.ends(PROMISE)
        assert time.monotonic() - begun >= 0.6
        with closing(sqlite3.connect(mesh.home / "journal.sqlite3")) as journal:
            rows = journal.execute("SELECT module, confirmed FROM revocation ORDER BY rowid").fetchall()
        assert rows == [(f"m{index}", 1) for index in range(5, -1, -1)]


async def test_what_runs_under_a_lease_keeps_its_bindings_through_generations_that_have_closed() -> None:
    leasing = probe("a", provides=["probe.a@1"], requires=["wuu.mesh.leases@1", "probe.gate@1", "probe.b@1"])
    calls = [
        {"service": "probe.gate@1", "method": "wait", "params": {"key": "k"}},
        {"service": "probe.b@1", "method": "context"},
    ]
    async with running(GATE, leasing, B) as mesh:
        provider = mesh.module("b")["instance"]
        await mesh.call("probe.a@1", "job", {"key": "job", "calls": calls})
        await mesh.call("probe.gate@1", "hanging", {"key": "k"})
        # `a` is carried into the second generation, which closes as the third replaces what it stands on.
        await mesh.apply(GATE, leasing, B, probe("more", provides=["probe.more@1"]))
        await mesh.reload("b")
        await mesh.happens("generation", "2", "closed")
        await mesh.call("probe.gate@1", "let", {"key": "k"})
        await mesh.happens("generation", "1", "closed")
        _, worked = [line for line in mesh.recorded() if line.startswith("a job:")]
        assert f'"audience":"{provider}"' in worked
