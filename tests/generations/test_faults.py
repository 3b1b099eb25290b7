"""Faults: what a provider does wrong at each step of its life, and what it costs the mesh.

Of every cell there is a healthy provider with a consumer; `apply` brings the faulty version of it; where that
is committed, its fault is provoked; and in the end another generation takes its place.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
from collections.abc import AsyncIterator, Awaitable, Callable

import pytest

from router.generations import backoff
from tests.generations.cell import CRASHES, Cell
from tests.generations.stage import BASE, CONSUMER, STEP_BOUNDS, Stage, Story, ended
from tests.support.caller import failure
from tests.support.composition import Entry, probe, shell
from tests.support.mesh import Mesh, running
from tests.support.script import Action
from wuu.mesh.v1.control_pb2 import StopRequest, StopResponse

TABLE = """
step            | fault   | outcome   | code                | old    | new      | journal | provider               | consumer               | before | during              | after

# Until it listens it is a process like any other: what it prints is a line of its log.
start           | crash   | dropped   | service_unavailable | active | -        | -       | -                      | -                      | old    | old                 | old
start           | hang    | dropped   | deadline_exceeded   | active | -        | -       | -                      | -                      | old    | old                 | old
start           | garbage | dropped   | service_unavailable | active | -        | -       | -                      | -                      | old    | old                 | old
start           | late    | dropped   | deadline_exceeded   | active | -        | -       | -                      | -                      | old    | old                 | old

# It has its socket and a connection, and no server yet.
listen          | crash   | dropped   | service_unavailable | active | -        | -       | -                      | -                      | old    | old                 | old
listen          | hang    | dropped   | deadline_exceeded   | active | -        | -       | -                      | -                      | old    | old                 | old
listen          | garbage | dropped   | deadline_exceeded   | active | -        | -       | -                      | -                      | old    | old                 | old
listen          | late    | dropped   | deadline_exceeded   | active | -        | -       | -                      | -                      | old    | old                 | old

# It takes no number before everything has declared itself and was resolved.
initialize      | crash   | dropped   | service_unavailable | active | -        | -       | -                      | -                      | old    | old                 | old
initialize      | hang    | dropped   | deadline_exceeded   | active | -        | -       | -                      | -                      | old    | old                 | old
initialize      | garbage | dropped   | protocol_violation  | active | -        | -       | -                      | -                      | old    | old                 | old
initialize      | late    | dropped   | deadline_exceeded   | active | -        | -       | -                      | -                      | old    | old                 | old

prepare         | crash   | dropped   | service_unavailable | active | -        | dropped | -                      | -                      | old    | old                 | old
prepare         | hang    | dropped   | deadline_exceeded   | active | -        | dropped | -                      | -                      | old    | old                 | old
prepare         | garbage | dropped   | protocol_violation  | active | -        | dropped | -                      | -                      | old    | old                 | old
prepare         | late    | dropped   | deadline_exceeded   | active | -        | dropped | -                      | -                      | old    | old                 | old

# Nothing goes back and nothing is tried again by itself. Who hangs in activate answers shutdown all the same.
activate        | crash   | committed | service_unavailable | closed | degraded | closed  | failed unconfirmed     | superseded confirmed   | old    | old                 | service_unavailable
activate        | hang    | committed | deadline_exceeded   | closed | degraded | closed  | failed confirmed       | superseded confirmed   | old    | old                 | service_unavailable
activate        | garbage | committed | protocol_violation  | closed | degraded | closed  | failed confirmed       | superseded confirmed   | old    | old                 | service_unavailable
activate        | late    | committed | deadline_exceeded   | closed | degraded | closed  | failed confirmed       | superseded confirmed   | old    | old                 | service_unavailable

# A crash is recovered from. The router waits for no answer to a call and reads none: its caller does both.
serving         | crash   | committed | service_unavailable | closed | degraded | closed  | failed unconfirmed     | superseded confirmed   | old    | service_unavailable | next
serving         | hang    | committed | -                   | closed | active   | closed  | superseded confirmed   | superseded confirmed   | old    | deadline_exceeded   | new
serving         | garbage | committed | -                   | closed | active   | closed  | superseded confirmed   | superseded confirmed   | old    | garbage             | new
serving         | late    | committed | -                   | closed | active   | closed  | superseded confirmed   | superseded confirmed   | old    | deadline_exceeded   | new

# What it requires has crashed and degraded the generation. The deaf one is ended; nothing can be started anew then.
service.changed | crash   | committed | service_unavailable | closed | degraded | closed  | failed unconfirmed     | superseded confirmed   | old    | service_unavailable | next
service.changed | hang    | committed | deadline_exceeded   | closed | degraded | closed  | failed unconfirmed     | superseded confirmed   | old    | service_unavailable | service_unavailable
service.changed | garbage | committed | -                   | closed | degraded | closed  | superseded confirmed   | superseded confirmed   | old    | new                 | next
service.changed | late    | committed | deadline_exceeded   | closed | degraded | closed  | failed unconfirmed     | superseded confirmed   | old    | service_unavailable | service_unavailable

# The consumer calls it in its own shutdown and waits; `during` is what that call heard.
cleanup         | crash   | committed | service_unavailable | closed | active   | closed  | failed unconfirmed     | superseded confirmed   | old    | service_unavailable | next
cleanup         | hang    | committed | -                   | closed | active   | closed  | superseded confirmed   | superseded unconfirmed | old    | -                   | next
cleanup         | garbage | committed | -                   | closed | active   | closed  | superseded confirmed   | superseded unconfirmed | old    | garbage             | next
cleanup         | late    | committed | -                   | closed | active   | closed  | superseded confirmed   | superseded unconfirmed | old    | -                   | next

shutdown        | crash   | committed | -                   | closed | active   | closed  | superseded unconfirmed | superseded confirmed   | old    | next                | next
shutdown        | hang    | committed | -                   | closed | active   | closed  | superseded unconfirmed | superseded confirmed   | old    | next                | next
shutdown        | garbage | committed | -                   | closed | active   | closed  | superseded unconfirmed | superseded confirmed   | old    | next                | next
shutdown        | late    | committed | -                   | closed | active   | closed  | superseded unconfirmed | superseded confirmed   | old    | next                | next
"""
"""What each fault costs. A dash: there is none.

`outcome`: of the transition that brings the provider. `code`: of its failure. `old`, `new`: what becomes of the
generation before (it is `retained` while a call holds it) and of its own. `journal`: the record of its own in
the end; `provider`, `consumer`: how they ended by that record. `before`, `during`, `after`: which generation
answers a call, or with which code it fails: before the transition, in flight when the fault strikes, and
afterwards. `next` is the generation that comes after `new`.

`crash` is written once for `exit`, `abort` and `kill`.
"""

PROMISE = 5
"""Seconds within which a mesh stops, whatever its modules do."""

PROCESSES = 4
"""Of the router, where nothing of what is over is left: the guardian and three modules."""


def _cells() -> list[Cell]:
    rows = [line for line in TABLE.splitlines() if line and not line.startswith("#")][1:]
    cells: list[Cell] = []
    for row in rows:
        step, fault, *expected = (each.strip() for each in row.split("|"))
        cells += [Cell(step, each, *expected) for each in (CRASHES if fault == "crash" else (fault,))]
    return cells


CELLS = _cells()

EVERY = int(os.environ.get("WUU_TEST_FAULTS_EVERY", "2"))
"""Of the cells with one outcome every so many is tried: 1 is the whole matrix."""


@pytest.fixture(scope="module")
async def mesh() -> AsyncIterator[Mesh]:
    mesh = Mesh(probe("idle"))
    mesh.start()
    yield mesh
    await mesh.close()


@pytest.fixture(scope="module")
def story(mesh: Mesh) -> Story:
    return Story(mesh)


@pytest.fixture
def stage(mesh: Mesh, story: Story, cell: Cell) -> Stage:
    return Stage(mesh, cell, story)


def cells(outcome: str) -> pytest.MarkDecorator:
    """The cells with such an outcome."""
    chosen = [cell for cell in CELLS if cell.outcome == outcome][::EVERY]
    return pytest.mark.parametrize("cell", chosen, ids=[f"{each.step}-{each.fault}" for each in chosen])


@cells("dropped")
async def test_a_fault_before_the_commit_drops_the_candidate_and_nobody_notices(stage: Stage) -> None:
    mesh, cell, story = stage.mesh, stage.cell, stage.story
    old = await stage.begins()
    before = await mesh.generations()
    assert await stage.answers() == cell.before
    async with stage.in_flight() as call:
        coming = asyncio.create_task(stage.becomes_faulty())
        await story.tells("module", "starting", cell.provider)
        assert await stage.answers() == cell.during
        transition = await coming
        assert transition.outcome == cell.outcome
        assert await call.released() == cell.during
    problem = transition.problems[0]
    assert (problem.where, problem.code) == (f"module {cell.provider}", cell.code), problem
    if cell.crashes:
        assert CRASHES[cell.fault] in problem.message
    elif cell.deaf and cell.step in ("initialize", "prepare"):
        assert f"did not answer {cell.step} within" in problem.message
    assert (transition.generation.id, transition.generation.state) == (old, cell.old)
    records = await mesh.generations()
    assert records[old].state == cell.old
    own = [record for number, record in records.items() if number not in before]
    assert ([record.state for record in own] or ["-"]) == [cell.journal]
    assert not any(record.revocations for record in own)
    assert all(cell.provider in record.diagnostics[0] for record in own)
    assert len(mesh.router.descendants()) == PROCESSES
    assert await stage.answers() == cell.after


@cells("committed")
async def test_a_fault_after_the_commit_costs_its_own_generation(stage: Stage) -> None:
    mesh, cell, story = stage.mesh, stage.cell, stage.story
    old = await stage.begins()
    told = stage.told()
    assert await stage.answers() == cell.before
    async with stage.in_flight() as call:
        transition = await stage.becomes_faulty()
        assert transition.outcome == cell.outcome, transition
        new = stage.named("new", transition.generation.id)
        assert (await stage.record(old)).state == "retained"
        assert await call.released() == "old"
    record = await stage.closed(old)
    assert record.state == cell.old
    assert {each.module: ended(record, each.module) for each in record.revocations}.items() >= {
        (cell.provider, "superseded confirmed"),
        ("consumer", "superseded confirmed"),
    }
    during, after = await STRIKES[cell.step](stage, new)
    assert (during, after) == (cell.during, cell.after)
    record = await stage.closed(new)
    assert len(mesh.router.descendants()) == PROCESSES
    states = [each for each in await story.states("generation", new) if each in ("active", "degraded")]
    assert states[-1] == cell.new
    assert bool(record.diagnostics) == (cell.new == "degraded")
    failures = [
        event
        for event in story.events
        if (event.subject, event.state) == (cell.provider, "failed") and "unconfirmed" not in event.message
    ]
    assert [event.code for event in failures] == ([] if cell.code == "-" else [cell.code])
    if failures and cell.crashes:
        assert CRASHES[cell.fault] in failures[0].message
    assert stage.told() - told == (cell.new == "degraded" and cell.code != "-")
    if cell.step in ("activate", "serving"):
        is_recovered = "recovering" in await story.states("module", cell.provider)
        assert is_recovered == (cell.step == "serving" and cell.crashes)
    assert record.state == cell.journal
    assert (ended(record, cell.provider), ended(record, "consumer")) == (
        cell.provider_ended,
        cell.consumer_ended,
    )


async def activate(stage: Stage, _: str) -> tuple[str, str]:
    """It has struck; the call in flight was answered by the old generation, which the test has seen."""
    after = await stage.answers()
    await stage.becomes_healthy("next")
    return "old", after


async def serving(stage: Stage, _: str) -> tuple[str, str]:
    cell = stage.cell
    async with stage.in_flight() as call:
        during = await stage.answer("do", timeout=STEP_BOUNDS["serving"] if cell.deaf else None)
        assert await call.released() == (during if cell.crashes else "new")
    if cell.crashes:
        return during, await recovered(stage, cell.provider)
    after = await stage.answers()
    await stage.becomes_healthy("next")
    return during, after


async def service_changed(stage: Stage, _: str) -> tuple[str, str]:
    cell = stage.cell
    base = f"{cell.provider}-base"
    async with stage.in_flight() as call:
        if cell.deaf:
            stage.mesh.without_packages()
        crashed = await failure(stage.mesh.call(BASE, "crash", {"how": "kill"}))
        assert crashed.code == "service_unavailable"
        during = await (call.released() if cell.fault == "garbage" else call.answer)
    if not cell.deaf:
        return during, await recovered(stage, base, cell.provider)
    after = await stage.answers()
    await stage.becomes_healthy("next", base=f"{base}-anew")
    return during, after


async def cleanup(stage: Stage, new: str) -> tuple[str, str]:
    heard = len(stage.shutdowns())
    await stage.becomes_healthy("next")
    after = await stage.answers()
    record = await stage.closed(new)
    said = [json.loads(line) for line in stage.shutdowns()[heard:]]
    if said:
        return said[0]["error"]["code"], after
    [consumer] = [each for each in record.revocations if each.module == "consumer"]
    return "garbage" if "DecodeError" in consumer.message else "-", after


async def shutdown(stage: Stage, new: str) -> tuple[str, str]:
    await stage.becomes_healthy("next")
    await stage.story.tells("generation", "closing", new)
    during = await stage.answers()
    await stage.closed(new)
    return during, await stage.answers()


async def recovered(stage: Stage, *modules: str) -> str:
    """What a call hears once the modules were recovered."""
    event = await stage.story.tells("transition", "committed", *(f"recover {module}" for module in modules))
    records = await stage.mesh.generations()
    causes = {int(number): record.cause for number, record in records.items()}
    stage.named("next", str(max(number for number, cause in causes.items() if cause == event.subject)))
    return await stage.answers()


STRIKES: dict[str, Callable[[Stage, str], Awaitable[tuple[str, str]]]] = {
    "activate": activate,
    "serving": serving,
    "service.changed": service_changed,
    "cleanup": cleanup,
    "shutdown": shutdown,
}
"""How the fault of a committed provider is provoked: what a call in flight and a later one heard."""


async def test_a_crash_loop_ends_after_five_recoveries_each_later_than_the_one_before(
    mesh: Mesh, story: Story
) -> None:
    async def crash() -> None:
        error = await failure(mesh.call("fault.looping@1", "crash", {"how": "abort"}))
        assert (error.code, error.outcome) == ("service_unavailable", "unknown")

    await story.begins()
    await mesh.apply(probe("looping", provides=["fault.looping@1"]))
    waits: list[float] = []
    for _ in range(backoff.ATTEMPTS):
        await crash()
        due = await story.tells("module", "recovering", "looping")
        waits.append(float(re.findall(r"in (\S+) s", due.message)[0]))
        await story.tells("transition", "committed", "recover looping")
        story.events.clear()
    await crash()
    gave_up = await story.tells("module", "gave-up", "looping")
    assert "reload looping" in gave_up.message
    for attempt, wait in enumerate(waits):
        assert 0.12 * 2**attempt <= wait <= 0.25 * 2**attempt
    assert (mesh.status()["generation"]["state"], mesh.module("looping")["state"]) == ("degraded", "failed")
    await mesh.reload("looping")
    assert await mesh.call("fault.looping@1", "echo", 1) == 1


async def test_a_document_that_is_rejected_right_after_the_start_costs_nothing() -> None:
    """The start of the mesh has left no candidate behind that could be dropped in its stead."""
    async with running(probe("one", provides=["fault.one@1"])) as mesh:
        transition = await mesh.apply(probe("one", provides=["fault.one@1"]), Entry(id="nobody-has-it"))
        assert transition.outcome == "rejected"
        assert await mesh.call("fault.one@1", "echo", 1) == 1
        assert mesh.module("one")["state"] == "active"


async def test_a_mesh_stops_though_a_candidate_is_just_being_dropped_that_does_not_answer() -> None:
    async with running(probe("one", provides=["fault.one@1"])) as mesh:
        candidate = (
            probe("one", provides=["fault.one@1"]),
            probe("broken", steps={"prepare": Action(error="as asked")}),
            probe("deaf", steps={"shutdown": Action(hang=True)}),
        )
        applying = asyncio.create_task(failure(mesh.apply(*candidate)))
        await mesh.happens("transition", "apply composition.json", "dropped")
        router = mesh.router
        await mesh.control(StopRequest(), StopResponse, "Stop")
        assert router.ends(PROMISE)
        assert (await applying).code == "generation_closed"


async def test_a_recovery_that_fails_is_dropped_and_tried_again() -> None:
    """Who requires the module goes on meanwhile, in the generation that is degraded."""
    healthy = (
        probe("provider", provides=["fault.provider@1"]),
        probe("consumer", provides=[CONSUMER], requires=["fault.provider@1"]),
    )
    async with running(*healthy) as mesh:
        mesh.compose(shell("provider", "exit 5"), healthy[1])
        await failure(mesh.call("fault.provider@1", "crash", {"how": "kill"}))
        ends = [
            asyncio.create_task(mesh.happens("transition", "recover provider", state))
            for state in ("dropped", "committed")
        ]
        ended, other = await asyncio.wait(ends, return_when=asyncio.FIRST_COMPLETED)
        other.pop().cancel()
        assert ended.pop().result().state == "dropped"
        assert await mesh.call(CONSUMER, "echo", 1) == 1
        generation = mesh.status()["generation"]
        assert (generation["id"], generation["state"]) == ("1", "degraded")
        mesh.compose(*healthy)
        await mesh.happens("transition", "recover provider", "committed")
        answer = await mesh.call(CONSUMER, "call", {"service": "fault.provider@1", "params": 1})
        assert answer["result"] == 1


async def test_the_journal_knows_of_a_crash_when_the_router_is_killed() -> None:
    async with running(probe("one", provides=["fault.one@1"])) as mesh:
        mesh.without_packages()
        await failure(mesh.call("fault.one@1", "crash", {"how": "kill"}))
        await mesh.happens("generation", "1", "degraded")
        router = mesh.router
        await mesh.hang_up()
        router.kill()
        assert router.ends()
        mesh.compose(probe("one", provides=["fault.one@1"]))
        mesh.start()
        assert "was degraded" in (await mesh.happens("mesh", "", "found")).message
        record = (await mesh.generations())["1"]
        assert (record.state, list(record.diagnostics)) == ("lost", ["one: one was killed by SIGKILL"])
