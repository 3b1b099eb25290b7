"""Recovery: a crash degrades what runs, starts the module anew with its dependants, and gives up at last."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from router.generations.backoff import ATTEMPTS, FIRST, MOST, STABLE, Backoff
from tests.support.caller import failure
from tests.support.composition import probe
from tests.support.mesh import Mesh, running
from tests.support.process import Process
from tests.support.script import Action

GATE = probe("gate", provides=["probe.gate@1"])
WORD = probe("word", provides=["probe.word@1"])
TOP = probe("top", provides=["probe.top@1"], requires=["probe.word@1", "probe.gate@1"])


@pytest.fixture
async def mesh() -> AsyncIterator[Mesh]:
    async with running(GATE, WORD, TOP) as mesh:
        yield mesh


async def test_a_crash_degrades_the_generation_and_a_recovery_follows(mesh: Mesh) -> None:
    gate, top = mesh.module("gate")["instance"], mesh.module("top")["instance"]
    in_flight = asyncio.create_task(failure(mesh.call("probe.word@1", "hang", {"key": "k"})))
    await mesh.call("probe.word@1", "hanging", {"key": "k"})
    Process(mesh.module("word")["pid"]).kill()
    error = await in_flight
    assert (error.code, error.outcome) == ("service_unavailable", "unknown")
    await mesh.happens("generation", "1", "degraded")
    await mesh.happens("module", "word", "recovering")
    await mesh.happens("transition", "recover word", "committed")
    assert await mesh.call("probe.top@1", "call", {"service": "probe.word@1", "params": 1})
    assert mesh.status()["generation"] == {"id": "2", "state": "active"}
    assert mesh.module("gate")["instance"] == gate
    assert mesh.module("top")["instance"] != top


async def test_captured_work_does_not_move_to_the_new_start(mesh: Mesh) -> None:
    wait = {"service": "probe.gate@1", "method": "wait", "params": {"key": "k"}}
    call = asyncio.create_task(mesh.call("probe.top@1", "each", [wait, {"service": "probe.word@1"}]))
    await mesh.call("probe.gate@1", "hanging", {"key": "k"})
    Process(mesh.module("word")["pid"]).kill()
    await mesh.happens("transition", "recover word", "committed")
    await mesh.call("probe.gate@1", "let", {"key": "k"})
    error = (await call)[1]["error"]
    assert (error["code"], error["outcome"]) == ("service_unavailable", "not_dispatched")
    assert "was killed by SIGKILL" in error["message"]


async def test_modules_that_crash_together_recover_together(mesh: Mesh) -> None:
    for module in ("word", "gate"):
        Process(mesh.module(module)["pid"]).kill()
    await mesh.happens("module", "word", "recovering")
    await mesh.happens("module", "gate", "recovering")
    await mesh.settled()
    assert {row["state"] for row in mesh.status()["modules"]} == {"active"}


async def test_a_crash_loop_stops_after_a_bound_stays_visible_and_a_reload_tries_again(mesh: Mesh) -> None:
    # It cannot be started any more, so that every recovery fails before its commit.
    manifest = mesh.directory / "packages" / "word" / "plugin.json"
    kept = manifest.read_text()
    manifest.write_text(kept.replace('"args": ["-P"', '"args": ["-c", "raise SystemExit(9)", "-P"'))
    Process(mesh.module("word")["pid"]).kill()
    await mesh.happens("module", "word", "gave-up")
    row = mesh.module("word")
    assert (row["state"], row["error"]["code"]) == ("failed", "service_unavailable")
    assert mesh.status()["generation"] == {"id": "1", "state": "degraded"}
    # Who does not need it is served on.
    assert await mesh.call("probe.gate@1", "echo", 1) == 1
    manifest.write_text(kept)
    ended = await mesh.reload("word")
    assert (ended.outcome, ended.generation.state) == ("committed", "active")
    assert mesh.module("word")["state"] == "active"


async def test_a_reload_that_is_dropped_leaves_the_recovery_that_is_due(mesh: Mesh) -> None:
    manifest = mesh.directory / "packages" / "top" / "plugin.json"
    kept = manifest.read_text()
    manifest.write_text(kept.replace('"args": ["-P"', '"args": ["-c", "raise SystemExit(9)", "-P"'))
    Process(mesh.module("word")["pid"]).kill()
    await mesh.happens("module", "word", "recovering")
    assert (await mesh.reload("word")).outcome == "dropped"
    manifest.write_text(kept)
    await mesh.happens("transition", "recover word", "committed")
    assert mesh.module("word")["state"] == "active"


async def test_any_transition_starts_what_crashed_anew(mesh: Mesh) -> None:
    Process(mesh.module("word")["pid"]).kill()
    await mesh.happens("module", "word", "failed")
    ended = await mesh.apply(GATE, WORD, TOP, probe("more", provides=["probe.more@1"]))
    assert (ended.outcome, ended.generation.state) == ("committed", "active")
    assert mesh.module("word")["state"] == "active"


async def test_a_consumer_that_hangs_as_it_hears_of_a_crash_is_ended_at_its_timeout() -> None:
    deaf = probe(
        "deaf",
        provides=["probe.deaf@1"],
        requires=["probe.word@1"],
        steps={"service-changed": Action(hang=True)},
        timeout=3,
    )
    async with running(WORD, deaf) as mesh:
        mesh.without_packages()
        process = Process(mesh.module("deaf")["pid"])
        Process(mesh.module("word")["pid"]).kill()
        assert process.ends()
        event = await mesh.happens("module", "deaf", "failed")
        assert "did not answer service-changed within 3 s" in event.message


# --- the backoff, without a process ---


@given(st.lists(st.floats(0, 0.999), min_size=ATTEMPTS, max_size=ATTEMPTS))
def test_the_waits_double_with_jitter_and_end(randoms: list[float]) -> None:
    backoff = Backoff()
    for attempt, random in enumerate(randoms):
        most = min(FIRST * 2**attempt, MOST)
        wait = backoff.next(0.0, random)
        assert wait is not None
        assert most / 2 <= wait <= most
    assert backoff.next(0.0, 0.5) is None


@given(st.integers(0, ATTEMPTS), st.floats(STABLE, 1e6), st.floats(0, 0.999))
def test_a_module_that_served_long_enough_begins_anew(failures: int, served: float, random: float) -> None:
    backoff = Backoff(failures)
    wait = backoff.next(served, random)
    assert wait is not None and wait <= FIRST
    assert backoff.failures == 1
