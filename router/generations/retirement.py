"""Retirement: how instances end. Dependants first, cleanup admitted, each end bounded and recorded.

Source: *Generations* of the design.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Collection, Coroutine, Iterable
from dataclasses import dataclass, field
from typing import Any

from contract.errors import MeshError
from router.events import Events
from router.generations.generation import Generation
from router.generations.journal import Journal
from router.instances.instance import Instance
from router.instances.start import Starter

STOP_TIMEOUT = 4.0
"""Seconds that the stop of one instance may take."""


@dataclass(slots=True)
class Retirement:
    """Ends what no generation has any more."""

    starter: Starter
    journal: Journal
    events: Events
    tokens: dict[str, Instance]
    """The live instances by token, as admission knows them."""
    alive: list[Generation] = field(default_factory=list)
    """Every generation that was published and is not closed, the newest last."""
    _closing: set[asyncio.Task[None]] = field(default_factory=set)
    _leaving: set[Instance] = field(default_factory=set)
    """The instances whose end has begun, beside."""

    async def supersede(self, old: Generation) -> None:
        """Another generation was published: the old one closes once nothing keeps it."""
        old.state = "retained"
        await self.journal.mark(old.number, "retained", old.diagnostics)
        old.on_idle = self._close
        if old.live or old.leases:
            self.events.emit("generation", old.id, "retained", _kept(old))
        old.settle()

    async def drop(self, instances: Collection[Instance]) -> None:
        """Ends instances that came into no generation."""
        for instance in instances:
            if instance.failure is None:
                instance.reach("blocked")
        # Who waits for it may be cancelled: an end that has begun is gone through with.
        await asyncio.shield(self._beside(self._end(instances, _alone, lambda _: "dropped", None), instances))

    def end_failed(self, instance: Instance, generation: Generation) -> None:
        """Ends an instance whose activation failed: it serves nobody, and may have begun with something."""
        instance.ending = True
        self._beside(self._stop(instance, STOP_TIMEOUT, "failed", generation), [instance])

    async def end_all(self, instances: Collection[Instance], within: float) -> None:
        """Ends everything, since the mesh stops, in about `within` seconds."""
        newest = self.alive[-1] if self.alive else None
        deadline = time.monotonic() + within
        heights = _heights(instances)

        def share(instance: Instance) -> float:
            # What is left, and a part of it for each of those that wait for this one.
            return max((deadline - time.monotonic()) / heights.get(instance, 1), 0.1)

        await asyncio.gather(self._hurry(within), self._end(instances, share, lambda _: "stopped", newest))
        for generation in self.alive:
            await self.journal.mark(generation.number, "closed", generation.diagnostics)
        self.alive.clear()

    async def _hurry(self, within: float) -> None:
        """Lets the generations that are closing come to their end, but not wait for the deaf."""
        if self._closing:
            await asyncio.wait(self._closing, timeout=within)
        for instance in self._leaving:
            if instance.child is not None:
                self.starter.children.kill(instance.child)
        if self._closing:
            await asyncio.wait(self._closing)

    def _close(self, generation: Generation) -> None:
        if generation.state != "retained":
            return
        generation.state = "closing"
        self.alive.remove(generation)
        used = {instance for each in self.alive for instance in each.members()}
        unused = [instance for instance in generation.members() if instance not in used]
        for instance in used.intersection(generation.members()):
            if instance.generation is generation:
                # Its calls outside of any execution go where it still works.
                instance.generation = next(
                    each for each in reversed(self.alive) if instance in each.members()
                )
        self._beside(self._close_it(generation, unused), unused)

    def _beside(self, work: Coroutine[Any, Any, None], leaving: Iterable[Instance]) -> asyncio.Task[None]:
        """Ends instances beside whatever else happens."""
        self._leaving.update(instance for instance in leaving if not instance.ended.is_set())
        task = asyncio.create_task(work)
        self._closing.add(task)
        task.add_done_callback(self._closing.discard)
        return task

    async def _close_it(self, generation: Generation, instances: Collection[Instance]) -> None:
        self.events.emit("generation", generation.id, "closing")
        await self._end(instances, _alone, self._cause, generation)
        generation.state = "closed"
        await self.journal.mark(generation.number, "closed", generation.diagnostics)
        self.events.emit("generation", generation.id, "closed")

    def _cause(self, instance: Instance) -> str:
        if instance.failure is not None:
            return "failed"
        node = self.alive[-1].graph.nodes.get(instance.module) if self.alive else None
        if node is None:
            return "removed"
        return "disabled" if node.state == "disabled" else "superseded"

    async def _end(
        self,
        instances: Iterable[Instance],
        within: Callable[[Instance], float],
        cause: Callable[[Instance], str],
        generation: Generation | None,
    ) -> None:
        await asyncio.gather(*(self._end_one(each, within, cause, generation) for each in instances))

    async def _end_one(
        self,
        instance: Instance,
        within: Callable[[Instance], float],
        cause: Callable[[Instance], str],
        generation: Generation | None,
    ) -> None:
        # Who stands on it may still need it to clean up.
        for dependant in tuple(instance.dependants):
            await dependant.ended.wait()
        if instance.ending:
            await instance.ended.wait()
            return
        instance.ending = True
        why = cause(instance)
        if instance.failure is None and instance.state != "blocked":
            instance.reach("stopping")
        closed = MeshError("generation_closed", f"{instance.module} is stopping", outcome="unknown")
        for execution in tuple(instance.executions):
            execution.cancel(closed)
        await self._stop(instance, within(instance), why, generation)

    async def _stop(
        self, instance: Instance, within: float, cause: str, generation: Generation | None
    ) -> None:
        # One whose activate failed holds what it had begun with, and is shut down like the others.
        unconfirmed = await self.starter.stop(instance, within)
        self._forget(instance)
        if instance.failure is None and instance.state != "blocked":
            instance.reach("stopped")
        reason = f"cleanup is unconfirmed: {unconfirmed.message}" if unconfirmed is not None else ""
        if generation is not None:
            message = unconfirmed.message if unconfirmed is not None else None
            await self.journal.revoke(generation.number, instance.module, instance.id, cause, message)
            self.events.emit("module", instance.module, "stopped", reason)
        elif reason:
            self.events.emit("module", instance.module, instance.state, reason)

    def _forget(self, instance: Instance) -> None:
        self.tokens.pop(instance.token, None)
        for provider in instance.bound.values():
            provider.dependants.discard(instance)
        release_leases(instance)
        self._leaving.discard(instance)
        instance.ended.set()


def _alone(_: Instance) -> float:
    return STOP_TIMEOUT


def _heights(instances: Iterable[Instance]) -> dict[Instance, int]:
    """For each instance how many stops, its own included, wait for one another below it."""
    heights: dict[Instance, int] = {}

    def height(instance: Instance) -> int:
        if instance not in heights:
            heights[instance] = 1 + max(map(height, (*instance.bound.values(), *instance.after)), default=0)
        return heights[instance]

    for instance in instances:
        height(instance)
    return heights


def release_leases(instance: Instance) -> None:
    """Ends every lease of an instance: what it stood for is gone, or nobody can settle it any more."""
    leases = dict(instance.leases)
    instance.leases.clear()
    for key, generation in leases.items():
        generation.leases.pop((instance, key), None)
        generation.settle()


def _kept(generation: Generation) -> str:
    live, leases = generation.live, len(generation.leases)
    parts = [f"{live} execution{'s' * (live != 1)}"] if live else []
    parts += [f"{leases} lease{'s' * (leases != 1)}"] if leases else []
    return f"kept by {' and '.join(parts)}"
