"""The mesh: one router's whole life, from the lock on its home to the end of its last child."""

from __future__ import annotations

import asyncio
import logging
import os
import time
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import AsyncExitStack, asynccontextmanager, closing
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from contract.errors import MeshError
from contract.listener import Listener
from router.admission.admission import Admission
from router.composition.document import Document
from router.composition.graph import Graph
from router.composition.profile import effective
from router.control.service import ControlService
from router.events import Events
from router.generations.candidate import Candidate
from router.generations.generation import Generation
from router.generations.journal import Journal
from router.generations.shapes import Shapes
from router.home import Hold, Home, Running
from router.instances import lifecycle
from router.instances.children import Children
from router.instances.instance import Instance
from router.instances.start import Starter
from router.packages.discovery import Discovery
from router.relay.relay import Relay
from router.relay.reports import Reports
from router.relay.server import Calls, server
from wuu.mesh.v1 import control_pb2_grpc
from wuu.mesh.v1.lifecycle_pb2 import ServiceChangedRequest

log = logging.getLogger(__name__)

EXIT_WAIT = 0.5
"""Seconds within which a process that closed its output ends by itself."""

ENDED = ("stopping", "stopped", "blocked")
"""States in which the end of a process is no crash."""

AGAIN = "Start it again with `wuu-mesh up`."

CLOSE_GRACE = 0.2
"""Seconds that calls in flight have when a socket of the router closes."""

STOP_TIMEOUT = 3.0
"""Seconds that the stop of every module may take in all; `down` promises five for everything."""


@dataclass(slots=True, eq=False)
class Mesh:
    """One router and what it runs."""

    home: Home
    document: Document
    discovery: Discovery
    composition: Path | None
    """Where the document was read; None for the product's own."""
    events: Events = field(default_factory=Events)
    stop_requested: asyncio.Event = field(default_factory=asyncio.Event)
    admission: Admission = field(default_factory=Admission)
    instances: dict[str, Instance] = field(default_factory=dict)
    """The newest instance of each module that was started."""
    journal: Path | None = None
    """Another journal than the home's."""
    _shapes: Shapes = field(default_factory=Shapes)
    _children: Children | None = None
    _background: set[asyncio.Task[None]] = field(default_factory=set)
    _listeners: tuple[Listener, Listener] = field(init=False)
    """The router's two sockets: for instances, and for the operator."""

    def __post_init__(self) -> None:
        admission = self.admission
        instances = partial(
            server,
            Reports(admission, self._report_failure),
            Calls(Relay(admission, admission.admit), self._shapes),
        )
        operator = partial(
            server,
            Calls(Relay(admission, admission.admit_operator), self._shapes),
            register=partial(control_pb2_grpc.add_ControlServicer_to_server, ControlService(self)),
        )
        sockets = self.home.sockets
        self._listeners = (Listener(sockets / "router", instances), Listener(sockets / "control", operator))

    async def run(self, hold: Hold, announced: Callable[[Running], None]) -> None:
        """Runs until `stop_requested`, in a home that is open.

        `announced` is called once the control socket answers. Raises `Rejected` when the document is, and
        `host_error`, once everything is stopped, where the guardian or the home was lost.
        """
        async with self._begun() as candidate:
            running = Running(os.getpid(), str(self.home.sockets / "control"))
            hold.announce(running)
            announced(running)
            building = asyncio.create_task(candidate.build())
            ends = (
                asyncio.create_task(self.stop_requested.wait()),
                asyncio.create_task(candidate.starter.children.lost.wait()),
                asyncio.create_task(hold.lost()),
            )
            await asyncio.wait((building, *ends), return_when=asyncio.FIRST_COMPLETED)
            if not building.done():
                # What it is about to start must be known before everything is stopped.
                building.cancel()
                await asyncio.wait((building,))
            if not building.cancelled():
                building.result()
            await asyncio.wait(ends, return_when=asyncio.FIRST_COMPLETED)
            if not self.stop_requested.is_set():
                what = "the guardian" if candidate.starter.children.lost.is_set() else "the home"
                lost = MeshError("host_error", f"{what} is gone; nothing can be kept running", remedy=AGAIN)
                self.events.emit("mesh", "", "failed", lost.message, lost.code)
                raise lost

    async def declare(self) -> Graph:
        """Initializes every module, which only declares, and stops. Raises `Rejected`."""
        async with self._begun() as candidate:
            return await candidate.declare()

    @asynccontextmanager
    async def _begun(self) -> AsyncIterator[Candidate]:
        """Everything that stands before the first module starts, and its end."""
        async with AsyncExitStack() as ends:
            children = self._children = await Children.guard()
            ends.push_async_callback(children.release)
            journal = ends.enter_context(closing(Journal(self.journal or self.home.journal)))
            for listener in self._listeners:
                await listener.start()
                ends.push_async_callback(listener.stop, CLOSE_GRACE)
            candidate = Candidate(
                document=self.document,
                discovery=self.discovery,
                starter=Starter(self.home, children, f"unix:{self.home.sockets / 'router'}"),
                admission=self.admission,
                journal=journal,
                events=self.events,
                shapes=self._shapes,
                supervise=self._supervise,
                tell_consumers=self._tell_consumers,
                instances=self.instances,
            )
            ends.push_async_callback(self._stop, candidate)
            yield candidate

    @property
    def modules(self) -> set[str]:
        """The modules of the composition."""
        return set(effective(self.document)[0])

    @property
    def generation_state(self) -> str:
        """The state of the generation that new work takes, or is about to."""
        if self.stop_requested.is_set():
            return "closing"
        generation = self.admission.generation
        return generation.state if generation is not None else "building"

    def state_of(self, module: str) -> tuple[str, str, str]:
        """A module's state, why it is in it, and the code of why."""
        instance = self.instances.get(module)
        if instance is not None and instance.failure is not None:
            return instance.state, instance.failure.message, instance.failure.code
        enabled = effective(self.document)[0][module].enabled
        broken = self.discovery.broken.get(module)
        if broken is not None and enabled:
            return "failed", broken.message, "invalid_request"
        generation = self.admission.generation
        node = generation.graph.nodes.get(module) if generation is not None else None
        if node is not None and node.state != "ready":
            return node.state, node.reason, node.reason_code
        if instance is not None:
            return instance.state, "", ""
        return "starting" if enabled else "disabled", "", ""

    # --- crashes ---

    def _supervise(self, instance: Instance) -> None:
        assert instance.child is not None
        instance.child.exited.add_done_callback(lambda _: self._exited(instance))

    def _exited(self, instance: Instance) -> None:
        if instance.is_plugin and instance.state not in ENDED:
            self._begin(self._mourn(instance))
        else:
            self._bury(instance)

    async def _mourn(self, instance: Instance) -> None:
        # Its token holds until then, or the bridge could not report.
        await instance.last_report()
        self._bury(instance)

    def _bury(self, instance: Instance) -> None:
        self.admission.instances.pop(instance.token, None)
        if instance.state in ENDED:
            return
        assert instance.child is not None
        words = f"{instance.module} {instance.child.exited.result()}{instance.last_words()}"
        remedy = f"See `wuu-mesh logs {instance.module}`."
        self._crashed(instance, MeshError("service_unavailable", words, remedy=remedy))

    def _report_failure(self, instance: Instance, error: MeshError) -> None:
        if error.code == "service_unavailable":
            # Its process is about to end, and how it ends says more; if it does not, it is ended.
            self._begin(self._end_unless_it_exits(instance, error))
        else:
            self._end(instance, error)

    async def _end_unless_it_exits(self, instance: Instance, error: MeshError) -> None:
        if instance.child is not None:
            await asyncio.wait((instance.child.exited,), timeout=EXIT_WAIT)
            if instance.child.exited.done():
                return
        self._end(instance, error)

    def _end(self, instance: Instance, error: MeshError) -> None:
        self._crashed(instance, error)
        if instance.child is not None and self._children is not None:
            self._children.kill(instance.child)

    def _crashed(self, instance: Instance, error: MeshError) -> None:
        if instance.failure is not None:
            return
        instance.fail(error)
        self.events.emit("module", instance.module, "failed", error.message, error.code)
        generation = self.admission.generation
        if self.admission.closed or generation is None:
            return
        if generation.instances.get(instance.module) is instance:
            generation.state = "degraded"
            self.events.emit("generation", generation.id, "degraded", f"{instance.module} failed")
            self._tell_consumers(generation, instance)

    def _tell_consumers(self, generation: Generation, gone: Instance) -> None:
        """Tells the consumers of a failed instance, each on its own: a deaf one keeps nobody else from it."""
        for consumer in generation.graph.consumers_of(gone.module):
            self._begin(self._tell(generation, consumer, gone))

    def _begin(self, work: Coroutine[Any, Any, None]) -> None:
        """Runs something beside, until the mesh stops."""
        task = asyncio.create_task(work)
        self._background.add(task)
        task.add_done_callback(self._background.discard)

    async def _tell(self, generation: Generation, consumer: str, gone: Instance) -> None:
        instance = generation.instances.get(consumer)
        if instance is None or instance.failure is not None:
            return
        assert gone.failure is not None
        reason = gone.failure.message
        for edge in generation.graph.nodes[consumer].bindings:
            if edge.provider != gone.module:
                continue
            change = ServiceChangedRequest(service=edge.service, major=edge.major, reason=reason)
            try:
                await lifecycle.service_changed(instance, change)
            except MeshError as deaf:
                log.warning("service-changed failed", extra={"consumer": consumer, "reason": deaf.message})

    # --- the end ---

    async def _stop(self, candidate: Candidate) -> None:
        """Consumers before their providers, all within `STOP_TIMEOUT`."""
        self.events.emit("mesh", "", "stopping")
        self.admission.closed = True
        # Without it nothing ends in its order, and everything is ended at once.
        await candidate.starter.children.answers()
        # It may be on its way, and what is activated of it has the same order.
        generation, starter = candidate.generation, candidate.starter
        if generation is not None:
            generation.state = "closing"
        levels = list(generation.graph.levels()) if generation is not None else []
        placed = {module for level in levels for module in level}
        # What never came into a generation has no consumers.
        levels.append(tuple(module for module in self.instances if module not in placed))
        deadline = time.monotonic() + STOP_TIMEOUT
        while levels:
            share = max(deadline - time.monotonic(), 0.1) / len(levels)
            stops = [self._stop_instance(starter, self.instances[module], share) for module in levels.pop()]
            await asyncio.gather(*stops)
        for telling in self._background:
            telling.cancel()
        await starter.bridge.stop()
        self.events.emit("mesh", "", "stopped")
        await self.events.drain()

    async def _stop_instance(self, starter: Starter, instance: Instance, share: float) -> None:
        if instance.child is None:
            await instance.channel.close()
            return
        if instance.state == "blocked" and instance.child.exited.done():
            return
        if instance.failure is None:
            instance.reach("stopping")
        closed = MeshError("generation_closed", f"{instance.module} is stopping", outcome="unknown")
        for execution in tuple(instance.executions):
            execution.cancel(closed)
        # One whose activate failed holds what it had begun with, and is shut down like the others.
        unconfirmed = await starter.stop(instance, share)
        self.admission.instances.pop(instance.token, None)
        if instance.failure is None:
            instance.reach("stopped")
        reason = f"cleanup is unconfirmed: {unconfirmed.message}" if unconfirmed is not None else ""
        self.events.emit("module", instance.module, "stopped", reason)
