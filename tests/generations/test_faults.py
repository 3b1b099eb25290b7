"""Faults: what a provider does wrong at each step of its life, and what it costs the mesh.

Of every cell there is a healthy provider with a consumer; `apply` brings the faulty version of it; where that
is committed, its fault is provoked; and in the end another generation takes its place.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from google.protobuf.message import DecodeError

from contract.errors import MeshError
from router.generations import backoff
from tests.generations import faulty
from tests.support.caller import failure
from tests.support.composition import Entry, probe
from tests.support.mesh import Mesh
from tests.support.process import PATIENCE
from tests.support.script import Action, NestedCall
from wuu.mesh.v1.control_pb2 import (
    Event,
    GenerationRecord,
    ListEventsRequest,
    ListEventsResponse,
    Transition,
)

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

BASE = "fault.base@1"
SERVICE = "fault.service@1"
CONSUMER = "fault.consumer@1"

TIMEOUT = 1.0
"""Seconds for each step of a provider that does not answer in time."""

STEP_BOUNDS = {"serving": 1.0, "cleanup": 2.0, "shutdown": 2.0}
"""Seconds that bound a step which that timeout does not: a caller in a hurry, and the shutdown of a module."""

PROCESSES = 4
"""Of the router, where nothing of what is over is left: the guardian and three modules."""


@dataclass(frozen=True)
class Cell:
    """A row of the table, for one fault."""

    step: str
    fault: str
    outcome: str
    code: str
    old: str
    new: str
    journal: str
    provider_ended: str
    consumer_ended: str
    before: str
    during: str
    after: str

    @property
    def provider(self) -> str:
        """The module. Nobody counts the failures of one step, or of one that nothing recovers, for another."""
        if self.step != "service.changed":
            return "provider"
        return f"provider-{self.fault}" if self.deaf else "provider-changed"

    @property
    def crashes(self) -> bool:
        return self.fault in CRASHES

    @property
    def deaf(self) -> bool:
        return self.fault in ("hang", "late")


CRASHES = {
    "exit": f"exited with status {faulty.STATUS}",
    "abort": "was killed by SIGABRT",
    "kill": "was killed by SIGKILL",
}
"""How a crash is told."""


def _cells() -> list[Cell]:
    rows = [line for line in TABLE.splitlines() if line and not line.startswith("#")][1:]
    cells: list[Cell] = []
    for row in rows:
        step, fault, *expected = (each.strip() for each in row.split("|"))
        cells += [Cell(step, each, *expected) for each in (CRASHES if fault == "crash" else (fault,))]
    return cells


CELLS = _cells()


class Story:
    """The events of a mesh from a moment on."""

    def __init__(self, mesh: Mesh) -> None:
        self._mesh = mesh
        self._cursor = ""
        self.events: list[Event] = []

    async def begins(self) -> None:
        """What happened until now is no part of it."""
        while await self._reads(0):
            pass
        self.events.clear()

    async def tells(self, kind: str, state: str, *subjects: str) -> Event:
        """The first event that says so of one of the subjects, be it past or to come."""
        seen = 0
        async with asyncio.timeout(PATIENCE):
            while True:
                for event in self.events[seen:]:
                    if event.kind == kind and event.state == state and event.subject in subjects:
                        return event
                seen = len(self.events)
                await self._reads(1000)

    async def states(self, kind: str, subject: str) -> list[str]:
        """The states that it has told of a subject until now."""
        while await self._reads(0):
            pass
        return [each.state for each in self.events if (each.kind, each.subject) == (kind, subject)]

    async def _reads(self, wait_ms: int) -> int:
        request = ListEventsRequest(cursor=self._cursor, wait_ms=wait_ms)
        page = await self._mesh.control(request, ListEventsResponse, "ListEvents")
        self._cursor = page.cursor
        self.events.extend(page.events)
        return len(page.events)


@dataclass
class Stage:
    """One cell on its way: the mesh, and the generations by the names that the table gives them."""

    mesh: Mesh
    cell: Cell
    story: Story
    names: dict[str, str] = field(default_factory=dict)

    def entries(self, *ill: str, timeout: float | None = None, base: str = "") -> list[Entry]:
        """The composition: what the provider requires, the provider, and who requires it."""
        cell = self.cell
        script = str(Path(faulty.__file__).absolute())
        tidying = NestedCall(service=SERVICE, method="tidy")
        return [
            probe(base or f"{cell.provider}-base", provides=[BASE]),
            Entry(
                id=cell.provider,
                argv=("python", "-P", script, *ill),
                timeout=timeout,
            ),
            probe(
                "consumer", provides=[CONSUMER], requires=[SERVICE], steps={"shutdown": Action(call=tidying)}
            ),
        ]

    async def becomes_healthy(self, name: str, *, base: str = "") -> str:
        """Applies the healthy version; the generation has that name from now on."""
        transition = await self.mesh.apply(*self.entries(base=base))
        assert transition.outcome in ("committed", "unchanged"), transition
        assert transition.generation.state == "active", transition
        return self.named(name, transition.generation.id)

    async def becomes_faulty(self) -> Transition:
        """Applies the faulty version; with more time where the machine is too busy to start it as quickly."""
        cell, timeout = self.cell, TIMEOUT
        while True:
            late = STEP_BOUNDS.get(cell.step, timeout) + 0.4
            bound = timeout if cell.code == "deadline_exceeded" else None
            ill = (cell.step, cell.fault, str(late))
            transition = await self.mesh.apply(*self.entries(*ill, timeout=bound))
            busy = any("did not listen on its socket" in each.message for each in transition.problems)
            if not busy or cell.step in ("start", "listen"):
                return transition
            await self.story.begins()
            timeout *= 2

    async def begins(self) -> str:
        """Everything is as it should be, with one generation: `old`."""
        old = await self.becomes_healthy("old")
        for number, record in (await self.mesh.generations()).items():
            if number != old and record.state not in ("closed", "dropped"):
                await self.story.tells("generation", "closed", number)
        await self.story.begins()
        return old

    def named(self, name: str, generation: str) -> str:
        self.names[generation] = name
        return generation

    async def answer(self, method: str = "who", params: object = None, timeout: float | None = None) -> str:
        """Which generation answers a call of the operator, or with which code it fails."""
        call = self.mesh.operator.invoke(SERVICE, method, params, timeout=timeout)
        try:
            return self.names[await call]
        except DecodeError:
            return "garbage"
        except MeshError as error:
            assert error.outcome == ("not_dispatched" if method == "who" else "unknown"), error
            return error.code

    async def nested_answer(self, method: str = "who", params: object = None) -> str:
        """The same of a call that the consumer makes."""
        asked = {"service": SERVICE, "method": method, "params": params}
        told = await self.mesh.call(CONSUMER, "call", asked)
        if "error" in told:
            assert told["error"]["outcome"] == ("not_dispatched" if method == "who" else "unknown"), told
            return str(told["error"]["code"])
        return self.names[told["result"]]

    async def answers(self) -> str:
        """What both hear of a call that is made now."""
        direct, nested = await self.answer(), await self.nested_answer()
        assert direct == nested
        return direct

    @asynccontextmanager
    async def in_flight(self) -> AsyncIterator[InFlight]:
        """A call of the consumer that the provider does not answer until it is released."""
        path = self.mesh.directory / "hold"
        arrived: asyncio.Future[asyncio.StreamWriter] = asyncio.get_running_loop().create_future()
        held = await asyncio.start_unix_server(lambda _, writer: arrived.set_result(writer), path)
        answer = asyncio.create_task(self.nested_answer("hold", str(path)))
        async with held, asyncio.timeout(PATIENCE):
            call = InFlight(answer, await arrived)
            try:
                yield call
            finally:
                await call.ends()
                path.unlink()

    async def record(self, generation: str) -> GenerationRecord:
        return (await self.mesh.generations())[generation]

    async def closed(self, generation: str) -> GenerationRecord:
        """The record of a generation once it is closed."""
        await self.story.tells("generation", "closed", generation)
        return await self.record(generation)

    def shutdowns(self) -> list[str]:
        """What consumers heard of their cleanup calls."""
        lines = self.mesh.recorded()
        return [line.partition(": ")[2] for line in lines if line.startswith("consumer shutdown: ")]

    def told(self) -> int:
        """How often a consumer was told that the provider is gone."""
        return sum(
            line.startswith(f"consumer service-changed {SERVICE} gone") for line in self.mesh.recorded()
        )


@dataclass
class InFlight:
    """A call in flight."""

    answer: asyncio.Task[str]
    _writer: asyncio.StreamWriter

    async def released(self) -> str:
        """Which generation answers it, once it may."""
        self._writer.close()
        return await self.answer

    async def ends(self) -> None:
        """Leaves nothing of it behind."""
        self._writer.close()
        self.answer.cancel()
        await asyncio.gather(self.answer, return_exceptions=True)


def ended(record: GenerationRecord, module: str) -> str:
    """How a module ended by the journal."""
    said = [each for each in record.revocations if each.module == module]
    assert len(said) <= 1, said
    return f"{said[0].cause} {'confirmed' if said[0].confirmed else 'unconfirmed'}" if said else "-"


@pytest.fixture(scope="module")
async def mesh() -> AsyncIterator[Mesh]:
    mesh = Mesh(probe("idle"))
    mesh.up()
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
    chosen = [cell for cell in CELLS if cell.outcome == outcome]
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
    await story.begins()
    await mesh.apply(probe("looping", provides=["fault.looping@1"]))
    waits: list[float] = []
    for _ in range(backoff.ATTEMPTS + 1):
        await story.tells("module", "active", "looping")
        story.events.clear()
        error = await failure(mesh.call("fault.looping@1", "crash", {"how": "abort"}))
        assert (error.code, error.outcome) == ("service_unavailable", "unknown")
        if len(waits) < backoff.ATTEMPTS:
            due = await story.tells("module", "recovering", "looping")
            waits.append(float(re.findall(r"in (\S+) s", due.message)[0]))
    gave_up = await story.tells("module", "gave-up", "looping")
    assert "reload looping" in gave_up.message
    for attempt, wait in enumerate(waits):
        assert 0.12 * 2**attempt <= wait <= 0.25 * 2**attempt
    assert (mesh.status()["generation"]["state"], mesh.module("looping")["state"]) == ("degraded", "failed")
    await mesh.reload("looping")
    assert await mesh.call("fault.looping@1", "echo", 1) == 1
