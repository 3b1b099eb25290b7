"""The transition: from one generation to the next. One runs at a time, and later requests wait their turn.

initialize → resolve → prepare → durable commit → activate → publish. Source: *Generations* of the design.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from typing import Any

from contract.errors import MeshError
from router.admission.admission import Admission
from router.composition.composed import Composed
from router.composition.graph import Graph
from router.composition.nearest import nearest
from router.composition.rejected import Problem, Rejected
from router.generations.candidate import Candidate, Workshop
from router.generations.difference import Difference, difference
from router.generations.fault import Dropped
from router.generations.generation import Generation
from router.generations.journal import Journal
from router.generations.revocation import revoke
from router.home import Home
from router.packages.discovery import Discovery
from router.packages.ledger import Ledger
from router.packages.reader import beside
from router.reading import Composition

log = logging.getLogger(__name__)

Read = Callable[[Composition], tuple[Composed, Discovery]]
"""Reads a composition with the packages that it can name, as they are now."""


@dataclass(frozen=True, slots=True)
class Reason:
    """One reason for which a transition changed nothing; see `wuu.mesh.v1.Problem`."""

    where: str
    message: str
    code: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended:
    """How a transition ended; see `wuu.mesh.v1.Transition`."""

    outcome: str
    difference: Difference | None = None
    problems: tuple[Reason, ...] = ()
    took: float = 0.0
    """Seconds."""
    started: float = 0.0
    """Of them, until every new instance had declared itself."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """What a transition is for."""

    cause: str
    composition: Callable[[Generation], Composition] = lambda base: base.composition
    """The composition that it makes of the one that runs. Raises MeshError, or OSError."""
    anew: Callable[[Generation], frozenset[str]] = lambda _: frozenset()
    """The modules that are started anew, though nothing about them changed."""
    dry_run: bool = False
    as_it_is: bool = False
    """It concerns what runs: of packages only those that are started are looked at again."""
    distrusts: bool = False
    """It takes trust back, or packages away: who may not run any more is revoked."""
    recovers: bool = False
    """It is made for what crashed alone, and is no use where all of that fails again."""


@dataclass(slots=True)
class Transitions:
    """The transitions of one mesh."""

    read: Read
    admission: Admission
    workshop: Workshop
    candidate: Candidate | None = None
    """What is being built; None where nothing is."""
    _turn: asyncio.Lock = field(default_factory=asyncio.Lock)
    _running: set[asyncio.Task[Any]] = field(default_factory=set)

    async def start(self, composition: Composition, cause: str) -> Generation:
        """The first generation: it starts what it can. Raises `Rejected` when the document is."""
        async with self._turn:
            candidate = await self._candidate(Request(cause=cause), composition)
            graph = await candidate.declare()
            generation = await self._prepared(candidate, graph)
            await self._commit(candidate, generation)
            await self._publish(candidate, generation)
            self.candidate = None
            return generation

    async def declare(self, composition: Composition) -> Graph:
        """What the modules of a composition declare, resolved. Raises `Rejected`."""
        async with self._turn:
            return await (await self._candidate(Request(cause="check"), composition)).declare()

    async def request(self, request: Request) -> Ended:
        """Takes its turn and runs to its end, whoever stops waiting for it.

        Raises `generation_closed` when the mesh stops, and what the request itself raises.
        """
        if self._turn.locked() or self._running:
            self._tell(request, "queued")
        task = asyncio.create_task(self._run(request))
        self._running.add(task)
        task.add_done_callback(self._running.discard)
        try:
            return await asyncio.shield(task)
        except asyncio.CancelledError:
            if task.cancelled():
                raise MeshError("generation_closed", "the mesh is stopping", outcome="unknown") from None
            raise

    async def stop(self) -> None:
        """Ends what runs and what waits. What was started is left to be stopped with everything else."""
        for task in self._running:
            task.cancel()
        await asyncio.gather(*self._running, return_exceptions=True)

    async def _run(self, request: Request) -> Ended:
        async with self._turn:
            base = self.admission.published()
            self._tell(request, "running")
            began = time.monotonic()
            try:
                ended = await self._attempt(request, base, began)
            except Rejected as rejected:
                ended = Ended(outcome="rejected", problems=tuple(map(_of_document, rejected.problems)))
            except Dropped as dropped:
                faults = ((fault.module, fault.error) for fault in dropped.faults)
                problems = tuple(
                    Reason(f"module {module}", error.message, error.code) for module, error in faults
                )
                ended = Ended(outcome="dropped", problems=problems)
            except MeshError as failed:
                # Of the request itself, or of the journal: there was no commit.
                await self._fail(request, failed)
                raise
            except Exception as failed:
                # Whatever breaks a candidate costs it alone.
                log.exception("a transition broke", extra={"cause": request.cause})
                error = MeshError("host_error", f"{type(failed).__name__}: {failed}")
                await self._fail(request, error)
                raise error from None
            if ended.outcome in ("rejected", "dropped"):
                first = ended.problems[0]
                self._tell(request, ended.outcome, f"{first.where}: {first.message}", first.code)
                await self._drop()
            else:
                self._tell(request, ended.outcome)
            self.candidate = None
            return replace(ended, took=time.monotonic() - began)

    async def _attempt(self, request: Request, base: Generation, began: float) -> Ended:
        composition = request.composition(base)
        # A disable waits for nobody's recovery.
        alone = request.as_it_is and not request.recovers
        trying = frozenset[str]() if alone else self.workshop.supervision.recovering()
        candidate = await self._candidate(request, composition, base, trying)
        graph = await candidate.declare()
        started = time.monotonic() - began
        changes = difference(base.graph, base.instances, graph, candidate.instances)
        if request.dry_run:
            await candidate.drop()
            return Ended(outcome="resolved", difference=changes, started=started)
        if changes.is_nothing and not candidate.started and composition == base.composition:
            return Ended(outcome="unchanged", difference=changes)
        if request.recovers and not candidate.recovered:
            raise Dropped(candidate.faults)
        generation = await self._prepared(candidate, graph)
        await self._commit(candidate, generation)
        # What is left of it happens whoever waits: the composition holds from here on.
        alive = self.workshop.retirement.alive
        revoke(generation, alive, self.admission.executions, self.workshop.events)
        changes = difference(base.graph, base.instances, generation.graph, generation.instances)
        await self._publish(candidate, generation)
        self.workshop.supervision.published(generation)
        return Ended(outcome="committed", difference=changes, started=started)

    async def _fail(self, request: Request, error: MeshError) -> None:
        self._tell(request, "dropped", error.message, error.code)
        if self.candidate is not None and (generation := self.candidate.generation) is not None:
            await self.workshop.journal.mark(generation.number, "dropped", [f"{error}"])
        await self._drop()

    async def _candidate(
        self,
        request: Request,
        composition: Composition,
        base: Generation | None = None,
        trying: frozenset[str] = frozenset(),
    ) -> Candidate:
        if request.as_it_is and base is not None:
            composed, discovery = composition.composed(), base.discovery.again(trying)
            if request.distrusts:
                discovery = discovery.with_ledger_as_it_is()
        else:
            composed, discovery = await beside(self.read, composition)
        self.candidate = Candidate(
            workshop=self.workshop,
            composition=composition,
            composed=composed,
            discovery=discovery,
            cause=request.cause,
            base=base,
            anew=request.anew(base) if base is not None else (),
            as_it_is=request.as_it_is,
            distrusts=request.distrusts,
            trying=trying,
        )
        return self.candidate

    async def _prepared(self, candidate: Candidate, graph: Graph) -> Generation:
        # Durable before anything is told its generation: no later router gives the number again.
        number = self.workshop.journal.begin(candidate.cause)
        self.workshop.events.emit("generation", str(number), "building")
        try:
            return await candidate.prepare(number, graph)
        except Dropped as dropped:
            await self.workshop.journal.mark(number, "dropped", [str(dropped)])
            raise

    async def _commit(self, candidate: Candidate, generation: Generation) -> None:
        await self.workshop.journal.commit(generation.number, candidate.composition)
        generation.state = "committed"
        self.workshop.events.emit("generation", generation.id, "committed")

    async def _publish(self, candidate: Candidate, generation: Generation) -> None:
        await candidate.activate(generation)
        failed = {each.module: each for each in generation.members() if each.failure is not None}
        generation.state = "degraded" if failed.keys() & generation.instances.keys() else "active"
        for module, instance in sorted(failed.items()):
            assert instance.failure is not None
            generation.diagnostics.append(f"{module}: {instance.failure.message}")
        before = self.admission.generation
        self.admission.generation = generation
        for instance in generation.instances.values():
            instance.generation = generation
        self.workshop.retirement.alive.append(generation)
        await self.workshop.journal.mark(generation.number, generation.state, generation.diagnostics)
        self.workshop.events.emit("generation", generation.id, generation.state)
        if before is not None:
            await self.workshop.retirement.supersede(before)

    async def _drop(self) -> None:
        if self.candidate is not None:
            await self.candidate.drop()
        self.candidate = None

    def _tell(self, request: Request, state: str, message: str = "", code: str = "") -> None:
        self.workshop.events.emit("transition", request.cause, state, message, code)


def _of_document(problem: Problem) -> Reason:
    return Reason(problem.where, problem.message, "invalid_request")


# --- what an operator may ask for ---

GIVES = ("install", "update", "trust")
TAKES_AWAY = ("remove", "untrust")
"""What may have become of packages."""


def applying(composition: Composition, *, dry_run: bool) -> Request:
    """Makes a composition the one that runs."""
    dry = " (dry run)" if dry_run else ""
    return Request(cause=f"apply {composition.name}{dry}", composition=lambda _: composition, dry_run=dry_run)


def reloading(module: str) -> Request:
    """Starts one module anew, or all."""

    def anew(base: Generation) -> frozenset[str]:
        if not module:
            return frozenset(base.graph.nodes)
        if base.graph.nodes[_known(module, base)].state == "disabled":
            remedy = f"`wuu-mesh enable {module}` starts it."
            raise MeshError("invalid_request", f"{module} is disabled", remedy=remedy)
        return frozenset([module])

    cause = f"reload {module}" if module else "reload"
    return Request(cause=cause, anew=anew)


def switching(module: str, *, enabled: bool) -> Request:
    """Enables or disables a module."""

    def switched(base: Generation) -> Composition:
        now, named = base.composition, _known(module, base)
        others = {each: on for each, on in now.enabled.items() if each != named}
        # What the document says itself is no switch: it would be another composition that is the same.
        written = replace(now, enabled=others).composed().modules
        return replace(
            now, enabled=others if written[module].enabled == enabled else {**others, module: enabled}
        )

    # A disable commits whatever became of the packages of others.
    cause = f"{'enable' if enabled else 'disable'} {module}"
    return Request(cause=cause, composition=switched, as_it_is=not enabled)


def rereading(cause: str, modules: Iterable[str], home: Home) -> Request:
    """Takes in what became of the packages of a home. What takes trust or packages away always commits."""
    takes_away = cause in TAKES_AWAY
    return Request(
        cause=" ".join((cause, *modules)),
        composition=lambda base: base.composition.with_installed(Ledger.read(home)),
        as_it_is=takes_away,
        distrusts=takes_away,
    )


def going_back(journal: Journal) -> Request:
    """Applies the composition that was committed before."""

    def before(base: Generation) -> Composition:
        committed = journal.committed_before(base.composition)
        if committed is None:
            raise MeshError(
                "invalid_request",
                "no other composition was committed in this home before",
                remedy="`wuu-mesh generations` lists what was committed.",
            )
        return committed

    return Request(cause="rollback", composition=before)


def _known(module: str, base: Generation) -> str:
    if module not in base.graph.nodes:
        raise MeshError(
            "invalid_request", f"the composition has no module {module}{nearest(module, base.graph.nodes)}"
        )
    return module
