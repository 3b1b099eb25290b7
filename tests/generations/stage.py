"""The stage of a cell: a mesh with a provider that is healthy or faulty, and who has to do with it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from google.protobuf.message import DecodeError

from contract.errors import MeshError
from tests.generations import faulty
from tests.generations.cell import Cell
from tests.support.composition import Entry, command, probe
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

BASE = "fault.base@1"
SERVICE = "fault.service@1"
CONSUMER = "fault.consumer@1"

TIMEOUT = 1.0
"""Seconds for each step of a provider that does not answer in time."""

STEP_BOUNDS = {"serving": 1.0, "cleanup": 2.0, "shutdown": 2.0}
"""Seconds that bound a step which that timeout does not: a caller in a hurry, and a module's shutdown."""


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
        tidying = NestedCall(service=SERVICE, method="tidy")
        return [
            probe(base or f"{cell.provider}-base", provides=[BASE]),
            Entry(
                id=cell.provider,
                argv=(*command(faulty.__name__), *ill),
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
            overdue = [each.message for each in transition.problems if each.code == "deadline_exceeded"]
            due = cell.step in ("start", "listen") or f"did not answer {cell.step}" in "".join(overdue)
            if due or not overdue:
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
        """Gives a generation its name."""
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
        """What the journal has of a generation."""
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


def ended(record: GenerationRecord, module: str) -> str:
    """How a module ended by the journal."""
    said = [each for each in record.revocations if each.module == module]
    assert len(said) <= 1, said
    assert all(bool(each.message) != each.confirmed for each in said), said
    return f"{said[0].cause} {'confirmed' if said[0].confirmed else 'unconfirmed'}" if said else "-"
