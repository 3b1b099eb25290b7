"""The mesh: one router's whole life, from the lock on its home to the end of its last child."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager, closing, suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from contract.errors import MeshError
from contract.listener import Listener
from router.admission.admission import Admission
from router.composition.graph import Graph
from router.control.calls import ControlCalls
from router.control.service import ControlService
from router.events import Events
from router.generations.candidate import Workshop
from router.generations.journal import Journal, Recorded
from router.generations.retirement import Retirement
from router.generations.supervision import Supervision
from router.generations.transition import Read, Request, Transitions
from router.home import Hold, Home, Running
from router.instances.children import Children
from router.instances.start import Starter
from router.kernel.calls import KernelCalls
from router.kernel.reports import Reports
from router.reading import Composition, read
from router.relay.held import Held
from router.relay.relay import Relay
from router.relay.server import Server

AGAIN = "Start it again with `wuu-mesh up`."

CLOSE_GRACE = 0.2
"""Seconds that calls in flight have when a socket of the router closes."""

STOP_TIMEOUT = 3.0
"""Seconds that the stop of every module may take in all; `down` promises five for everything."""


@dataclass(slots=True, eq=False)
class Mesh:
    """One router and what it runs."""

    home: Home
    composition: Composition
    """What it starts with."""
    read: Read | None = None
    """Reads compositions with other packages than those of the home."""
    events: Events = field(default_factory=Events)
    stop_requested: asyncio.Event = field(default_factory=asyncio.Event)
    admission: Admission = field(default_factory=Admission)
    journal: Journal = field(init=False)
    """Open while the mesh runs."""
    transitions: Transitions = field(init=False)
    supervision: Supervision = field(init=False)
    retirement: Retirement = field(init=False)

    async def run(self, hold: Hold, announced: Callable[[Running], None], found: list[Recorded]) -> None:
        """Runs until `stop_requested`, in a home that is open.

        `announced` is called once the control socket answers; `found` is what an earlier router left. Raises
        `Rejected` when the composition is, and `host_error`, once everything is stopped, where the guardian
        or the home was lost.
        """
        async with self._begun() as children:
            running = Running(os.getpid(), str(self.home.sockets / "control"))
            hold.announce(running)
            announced(running)
            for record in found:
                self.events.emit("mesh", "", "found", _told(record))
            building = asyncio.create_task(self.transitions.start(self.composition, "up"))
            ends = (
                asyncio.create_task(self.stop_requested.wait()),
                asyncio.create_task(children.lost.wait()),
                asyncio.create_task(hold.lost()),
            )
            await asyncio.wait((building, *ends), return_when=asyncio.FIRST_COMPLETED)
            if not building.done():
                # What it is about to start must be known before everything is stopped.
                building.cancel()
                await asyncio.wait((building,))
            if not building.cancelled():
                self.supervision.published(building.result())
            await asyncio.wait(ends, return_when=asyncio.FIRST_COMPLETED)
            if not self.stop_requested.is_set():
                what = "the guardian" if children.lost.is_set() else "the home"
                lost = MeshError("host_error", f"{what} is gone; nothing can be kept running", remedy=AGAIN)
                self.events.emit("mesh", "", "failed", lost.message, lost.code)
                raise lost

    async def declare(self, journal: Path) -> Graph:
        """Initializes every module, which only declares, and stops. Raises `Rejected`."""
        async with self._begun(journal):
            return await self.transitions.declare(self.composition)

    @asynccontextmanager
    async def _begun(self, journal: Path | None = None) -> AsyncIterator[Children]:
        """Everything that stands before the first module starts, and its end."""
        async with AsyncExitStack() as ends:
            children = await Children.guard()
            ends.push_async_callback(children.release)
            self.journal = ends.enter_context(closing(Journal(journal or self.home.journal)))
            self._assemble(children)
            for listener in self._listeners():
                await listener.start()
                ends.push_async_callback(listener.stop, CLOSE_GRACE)
            ends.push_async_callback(self._stop, children)
            yield children

    def _assemble(self, children: Children) -> None:
        starter = Starter(self.home, children, f"unix:{self.home.sockets / 'router'}")
        tokens = self.admission.instances
        self.retirement = Retirement(starter, self.journal, self.events, tokens)
        self.supervision = Supervision(self.admission, children, self.events, self.journal, self._recover)
        workshop = Workshop(
            starter=starter,
            tokens=tokens,
            journal=self.journal,
            events=self.events,
            retirement=self.retirement,
            supervision=self.supervision,
        )
        self.transitions = Transitions(self.read or partial(read, home=self.home), self.admission, workshop)

    def _listeners(self) -> tuple[Listener, Listener]:
        """The router's two sockets: for instances, and for the operator."""
        admission = self.admission
        # What the operator sends may be continued by an instance, on the other socket.
        held = Held()
        instances = Relay(admission, admission.admit, held)
        reports = Reports(admission, self.supervision.report)
        instances.find = KernelCalls(admission, instances, reports).find
        operator = Relay(admission, admission.admit_operator, held)
        operator.find = ControlCalls(ControlService(self)).find
        sockets = self.home.sockets
        return (
            Listener(sockets / "router", partial(Server, instances.accept)),
            Listener(sockets / "control", partial(Server, operator.accept)),
        )

    async def _recover(self, module: str) -> None:
        request = Request(cause=f"recover {module}", as_it_is=True, recovers=True)
        # Where it does not come to be, the events say why.
        with suppress(MeshError):
            await self.transitions.request(request)

    # --- as the operator sees it ---

    @property
    def generation_state(self) -> str:
        """The state of the generation that new work takes, or is about to."""
        if self.stop_requested.is_set():
            return "closing"
        generation = self.admission.generation
        return generation.state if generation is not None else "building"

    # --- the end ---

    async def _stop(self, children: Children) -> None:
        """Consumers before their providers, all within `STOP_TIMEOUT`."""
        self.events.emit("mesh", "", "stopping")
        self.admission.closed = True
        self.supervision.stop()
        await self.transitions.stop()
        # Without it nothing ends in its order, and everything is ended at once.
        await children.answers()
        instances = {each for generation in self.retirement.alive for each in generation.members()}
        if (candidate := self.transitions.candidate) is not None:
            instances.update(candidate.started)
            if (unpublished := candidate.generation) is not None:
                over = "closed" if unpublished.state == "committed" else "dropped"
                await self.journal.mark(unpublished.number, over)
        for generation in self.retirement.alive:
            generation.state = "closing"
        await self.retirement.end_all(instances, STOP_TIMEOUT)
        await self.retirement.starter.bridge.stop()
        self.events.emit("mesh", "", "stopped")
        await self.events.drain()


def _told(record: Recorded) -> str:
    """What an earlier router left, in a sentence."""
    since = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime((record.created or 0) / 1000))
    generation = f"generation {record.number} ({record.cause}, {since})"
    match record.state:
        case "building":
            return f"{generation} was not committed, and is dropped"
        case "committed":
            return f"{generation} was committed, and its router ended before it was active"
        case state:
            return f"{generation} was {state}: its router was killed"
