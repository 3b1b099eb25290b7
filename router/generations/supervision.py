"""Supervision: what becomes of an instance that fails, and of those who stand on it.

A crash fails what was in flight, is told to the consumers, and brings a recovery: a transition in which the
module is started anew with its dependants. Captured work does not move. Source: *Generations* of the design.
"""

from __future__ import annotations

import asyncio
import logging
import random
import time
from collections import defaultdict
from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import dataclass, field
from typing import Any

from contract.errors import MeshError
from router.admission.admission import Admission
from router.events import Events
from router.generations.backoff import Backoff
from router.generations.generation import Generation
from router.generations.journal import Journal
from router.generations.retirement import release_leases
from router.instances import lifecycle
from router.instances.children import Children
from router.instances.instance import Instance
from wuu.mesh.v1.lifecycle_pb2 import ServiceChangedRequest

log = logging.getLogger(__name__)

EXIT_WAIT = 0.5
"""Seconds within which a process that closed its output ends by itself."""

ENDED = ("stopping", "stopped", "blocked")
"""States in which the end of a process is no crash."""


@dataclass(slots=True)
class Supervision:
    """The failures of one mesh."""

    admission: Admission
    children: Children
    events: Events
    journal: Journal
    recover: Callable[[str], Awaitable[None]]
    """Starts what failed anew, in a transition for a module."""
    _backoffs: defaultdict[str, Backoff] = field(default_factory=lambda: defaultdict(Backoff))
    _due: dict[str, asyncio.Task[None]] = field(default_factory=dict)
    _background: set[asyncio.Task[None]] = field(default_factory=set)

    def supervise(self, instance: Instance) -> None:
        """Looks after an instance whose process runs."""
        assert instance.child is not None
        instance.child.exited.add_done_callback(lambda _: self._exited(instance))

    def recovering(self) -> frozenset[str]:
        """The modules that failed and are to be started anew."""
        return frozenset(module for module in self._due if self._has_failed(module))

    def forgive(self, module: str) -> None:
        """Counts the failures of a module anew, or with an empty name those of all."""
        # A start that is due stays so: what the operator asks for meanwhile may be dropped.
        for each in [module] if module else list(self._backoffs):
            self._backoffs.pop(each, None)

    def published(self, generation: Generation) -> None:
        """Takes up what failed between its activation and the publication of its generation."""
        for instance in generation.instances.values():
            if instance.failure is not None:
                self._tell_consumers(instance)
                self._recover_later(instance)

    def report(self, instance: Instance, error: MeshError) -> None:
        """An instance says of itself, or the bridge of it, that it cannot go on."""
        if error.code == "service_unavailable":
            # Its process is about to end, and how it ends says more; if it does not, it is ended.
            self._begin(self._end_unless_it_exits(instance, error))
        else:
            self.end(instance, error)

    def end(self, instance: Instance, error: MeshError) -> None:
        """Ends an instance for what it did, or did not."""
        self._crashed(instance, error)
        if instance.child is not None:
            self.children.kill(instance.child)

    def stop(self) -> None:
        """Looks after nothing any more: the mesh stops."""
        for task in (*self._background, *self._due.values()):
            task.cancel()
        self._due.clear()

    # --- how an instance ends ---

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
        release_leases(instance)
        if instance.state in ENDED:
            return
        assert instance.child is not None
        words = f"{instance.module} {instance.child.exited.result()}{instance.last_words()}"
        remedy = f"See `wuu-mesh logs {instance.module}`."
        self._crashed(instance, MeshError("service_unavailable", words, remedy=remedy))

    async def _end_unless_it_exits(self, instance: Instance, error: MeshError) -> None:
        if instance.child is not None:
            await asyncio.wait((instance.child.exited,), timeout=EXIT_WAIT)
            if instance.child.exited.done():
                return
        self.end(instance, error)

    def _crashed(self, instance: Instance, error: MeshError) -> None:
        if instance.failure is not None:
            return
        instance.fail(error)
        self.events.emit("module", instance.module, "failed", error.message, error.code)
        newest = self.admission.generation
        if self.admission.closed or newest is None:
            return
        if newest.instances.get(instance.module) is instance:
            newest.state = "degraded"
            newest.diagnostics.append(f"{instance.module}: {error.message}")
            self._begin(self._degrade(newest, instance))
        if instance.generation is not None:
            self._tell_consumers(instance)

    async def _degrade(self, newest: Generation, instance: Instance) -> None:
        # Whoever hears of it finds it in the journal, whatever becomes of this router.
        await self.journal.mark(newest.number, newest.state, newest.diagnostics)
        self.events.emit("generation", newest.id, "degraded", f"{instance.module} failed")
        self._recover_later(instance)

    # --- consumers ---

    def _tell_consumers(self, gone: Instance) -> None:
        """Tells the consumers of a failed instance, each on its own: a deaf one keeps nobody else from it."""
        for dependant in sorted(gone.dependants, key=lambda each: each.id):
            if dependant.state == "active":
                self._begin(self._tell(dependant, gone))

    async def _tell(self, consumer: Instance, gone: Instance) -> None:
        assert gone.failure is not None
        reason = gone.failure.message
        for (service, major), provider in consumer.bound.items():
            if provider is not gone:
                continue
            change = ServiceChangedRequest(service=service, major=major, reason=reason)
            try:
                await lifecycle.service_changed(consumer, change)
            except MeshError as deaf:
                log.warning("service-changed failed", extra={"consumer": consumer.id, "reason": deaf.message})
                if deaf.code == "deadline_exceeded" and not consumer.is_plugin and consumer.state == "active":
                    self.end(consumer, deaf)

    # --- recovery ---

    def _has_failed(self, module: str) -> bool:
        newest = self.admission.generation
        if newest is None:
            return False
        instance = newest.instances.get(module) or newest.failed.get(module)
        return instance is not None and instance.failure is not None

    def _recover_later(self, instance: Instance) -> None:
        if instance.active_since is None:
            return  # Its activation failed: nothing that would go another way by itself.
        if instance.module not in self._due:
            self._schedule(instance.module, time.monotonic() - instance.active_since)

    def _schedule(self, module: str, served: float) -> None:
        wait = self._backoffs[module].next(served, random.random())
        if wait is None:
            remedy = f"it failed again and again; `wuu-mesh reload {module}` tries once more"
            self.events.emit("module", module, "gave-up", remedy)
            return
        self.events.emit("module", module, "recovering", f"in {wait:.2f} s")
        self._due[module] = asyncio.create_task(self._recover(module, wait))

    async def _recover(self, module: str, wait: float) -> None:
        await asyncio.sleep(wait)
        # Another transition may have started it meanwhile.
        try:
            if self._has_failed(module):
                await self.recover(module)
        finally:
            self._due.pop(module, None)
        if self._has_failed(module):
            self._schedule(module, 0.0)

    def _begin(self, work: Coroutine[Any, Any, None]) -> None:
        """Runs something beside, until the mesh stops."""
        task = asyncio.create_task(work)
        self._background.add(task)
        task.add_done_callback(self._background.discard)
