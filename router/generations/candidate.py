"""The candidate: a generation on its way, initialize → resolve → prepare → commit → activate.

The steps stand in the order in which they happen. Before the commit nothing has an effect, and a failure
costs the candidate alone: what runs never notices. Source: *Generations* of the design.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Coroutine, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from contract.context import Phase
from contract.declaration import LIFECYCLE_VERSION
from contract.errors import MeshError
from router.composition.composed import Composed
from router.composition.document import ModuleEntry
from router.composition.graph import Graph
from router.composition.resolve import Known, resolve
from router.events import Events
from router.generations.binding import bindings
from router.generations.fault import Dropped, Fault
from router.generations.generation import Definition, Generation
from router.generations.journal import Journal, declaration_key
from router.generations.kernel import without_kernel_services
from router.generations.refusal import refused
from router.generations.retirement import Retirement
from router.generations.supervision import Supervision
from router.instances import lifecycle
from router.instances.instance import Instance
from router.instances.start import Starter
from router.packages.discovery import Discovery
from router.packages.manifest import BadPackage
from router.packages.package import Package
from router.packages.platform import unsuitable
from router.packages.reader import beside
from router.reading import Composition
from wuu.mesh.v1.declaration_pb2 import Declaration
from wuu.mesh.v1.json_pb2 import Json
from wuu.mesh.v1.lifecycle_pb2 import InitializeRequest


@dataclass(frozen=True, slots=True)
class Workshop:
    """What every candidate is built with."""

    starter: Starter
    tokens: dict[str, Instance]
    """The live instances by token, as admission knows them."""
    journal: Journal
    events: Events
    retirement: Retirement
    supervision: Supervision


@dataclass(slots=True)
class Candidate:
    """A generation on its way. With `base` it stands beside it, and goes without it at the first start."""

    workshop: Workshop
    composition: Composition
    composed: Composed
    discovery: Discovery
    cause: str
    base: Generation | None
    """What runs now; None at the start of the mesh, which starts what it can and shows the rest."""
    anew: Collection[str] = ()
    """Modules that are started anew, though nothing about them changed."""
    as_it_is: bool = False
    """The packages of `base` stand as they were read, whatever became of them since."""
    distrusts: bool = False
    """Trust is looked at again; who may not run any more is revoked, whoever stands on it."""
    trying: Collection[str] = ()
    """Modules of which `base` goes without already, so that their failure costs nobody."""
    instances: dict[str, Instance] = field(default_factory=dict)
    """The instance of each module: carried over, or started here."""
    started: list[Instance] = field(default_factory=list)
    known: dict[str, Known] = field(default_factory=dict)
    generation: Generation | None = None
    """What is built of it so far; None before the first resolution that holds."""
    _definitions: dict[str, Definition] = field(default_factory=dict)
    _distrusted: dict[str, str] = field(default_factory=dict)
    _failed: dict[str, Instance] = field(default_factory=dict)

    @property
    def packages(self) -> Mapping[str, Package]:
        """What the composition can name."""
        return self.discovery.packages

    def entry(self, module: str) -> ModuleEntry:
        """What the composition says about a module."""
        return self.composed.modules[module]

    # --- initialize, resolve ---

    async def declare(self) -> Graph:
        """Starts what is new or changed, asks what it declares, and resolves.

        Raises `Rejected` when the document is, and `Dropped` when a module fails or would be blocked.
        """
        enabled = self.composed.enabled
        offered = self.discovery.offered
        self.known.update({module: offered[module] for module in enabled if module in self.discovery.broken})
        await self._define([module for module in enabled if self._is_started_here(module)])
        self.composed = self.composed.without(self._distrusted)
        new = {module for module in self.composed.enabled if self._is_new(module)}
        await self._start(self._with_dependants(new))
        graph = self._resolve()
        # A module whose bindings lead to another instance is another start, and so on up to its dependants.
        while changed := self._changed(graph):
            await self._start(changed)
            graph = self._resolve()
        self._refuse_to_block(graph)
        return graph

    def _is_started_here(self, module: str) -> bool:
        return module in self.packages and self.entry(module).endpoint is None

    async def _define(self, modules: Iterable[str]) -> None:
        # Packages may be large; whoever asks how the start goes is not to wait for them.
        await self._each(self._define_one, modules)

    async def _define_one(self, module: str) -> None:
        package, entry = self.packages[module], self.entry(module)
        before = self.base.definitions.get(module) if self.base is not None else None
        if self.as_it_is and before is not None and module not in self.trying:
            self._definitions[module] = replace(before, config=entry.config, timeout=entry.timeout)
            if self.distrusts:
                await self._check_trust(package)
            elif self.base is not None and module in self.base.distrusted:
                self._distrust(module, self.base.distrusted[module])
            return
        if unsuitable(package.manifest):
            self._know(module, None)  # With the reason, as it is offered.
            return
        try:
            fingerprint = await beside(_read_whole, package)
        except BadPackage as bad:
            self._unusable(module, MeshError("invalid_request", str(bad)))
            return
        except OSError as unreadable:
            self._unusable(module, MeshError("host_error", f"its package cannot be read: {unreadable}"))
            return
        self._definitions[module] = Definition(str(package.root), fingerprint, entry.config, entry.timeout)
        await self._check_trust(package)

    async def _check_trust(self, package: Package) -> None:
        """Leaves out a package that may not run. Where it ran, or is new, that costs the candidate."""
        module, base = package.manifest.id, self.base
        why = await beside(self.discovery.verdict, package)
        if not why:
            return
        node = base.graph.nodes.get(module) if base is not None else None
        if base is not None and not self.as_it_is and (node is None or node.state != "disabled"):
            raise Dropped([Fault(module, MeshError("module_revoked", f"{module} may not run: {why}"))])
        self._distrust(module, why)

    def _distrust(self, module: str, why: str) -> None:
        self._distrusted[module] = why
        self._know(module, None)

    def _is_new(self, module: str) -> bool:
        """Whether the module must be started to be known; what is known of the others is taken over."""
        if module not in self._definitions:
            return False
        base = self.base
        if base is None or module in self.anew or module in self.trying:
            return True
        if base.definitions.get(module) != self._definitions[module]:
            return True
        instance = base.instances.get(module)
        if instance is not None and instance.failure is None:
            self.instances[module] = instance
            self.known[module] = self._known_before(base, module)
        elif (failed := instance or base.failed.get(module)) is not None:
            # It failed and nothing about it changed: it is left until a reload.
            self._failed[module] = failed
            self.known[module] = _failing(self._known_before(base, module), failed)
        elif module in base.known and base.known[module].declaration is not None:
            self.known[module] = self._known_before(base, module)
        else:
            return True
        return False

    def _known_before(self, base: Generation, module: str) -> Known:
        """What is known of a module that is not started. Its relations depend on what others are now."""
        return replace(base.known[module], relations=self.discovery.offered[module].relations)

    def _with_dependants(self, new: set[str]) -> set[str]:
        """What is started anew in any case, since it is bound to something that is. Nobody waits in turn."""
        found = set(new)
        while further := {
            module
            for module, instance in self.instances.items()
            if module not in found and any(each.module in found for each in instance.bound.values())
        }:
            found |= further
        return found

    async def _start(self, modules: Iterable[str]) -> None:
        # In the order of the composition, which is the operator's.
        order = list(self.composed.modules)
        await self._each(self._start_one, sorted(modules, key=order.index))
        self._drop_faults()

    async def _start_one(self, module: str) -> None:
        workshop = self.workshop
        instance = workshop.starter.instance(self.packages[module], self.entry(module).timeout)
        self.instances[module] = instance
        self.started.append(instance)
        workshop.tokens[instance.token] = instance
        workshop.events.emit("module", module, "starting")
        try:
            await workshop.starter.start(instance)
            workshop.supervision.supervise(instance)
            await lifecycle.initialize(instance, self._initialization(instance))
            declaration = instance.declaration
            assert declaration is not None
            workshop.journal.keep_declaration(self._key(module), declaration)
            # What was started may be other bytes than those that are trusted.
            if why := await beside(self.discovery.changed, instance.package):
                raise MeshError("host_error", f"its package was changed while it was started: {why}")
        except MeshError as error:
            self._fail(instance, error)
            return
        except OSError as unwritable:
            remedy = "See whether its disk is full or read-only, and whose it is."
            self._fail(
                instance, MeshError("host_error", f"the home cannot be written: {unwritable}", remedy=remedy)
            )
            return
        self._know(module, declaration)

    def _initialization(self, instance: Instance) -> InitializeRequest:
        config = self.entry(instance.module).config
        home = self.workshop.starter.home
        state = home.state_of(instance.module)
        state.mkdir(mode=0o700, parents=True, exist_ok=True)
        return InitializeRequest(
            lifecycle_version=LIFECYCLE_VERSION,
            module=instance.module,
            instance=instance.id,
            host_features=lifecycle.HOST_FEATURES,
            config=None if config is None else Json(utf8=config),
            package_root=str(instance.package.root),
            home=str(home.root),
            state_dir=str(state),
        )

    def _changed(self, graph: Graph) -> list[str]:
        """The modules that have to be started now that it is known what they are bound to."""
        starting: set[str] = set()
        for module in graph.order:
            instance = self.instances.get(module)
            if instance is None:
                starting.add(module)
            elif instance not in self.started:
                bindings = graph.nodes[module].bindings
                providers = {
                    (each.service, each.major): self.instances.get(each.provider) for each in bindings
                }
                if providers != instance.bound or starting & {each.provider for each in bindings}:
                    starting.add(module)
        return sorted(starting)

    def _resolve(self) -> Graph:
        return resolve(self.composed, {**self.discovery.offered, **self.known})

    # --- what is refused ---

    def _drop_faults(self) -> None:
        """A module that fails costs the candidate, where there is something to go on with."""
        if self.base is None:
            return
        faults = [fault for fault in self.faults if not self._is_tried(fault.module)]
        if faults:
            raise Dropped(faults)

    def _is_tried(self, module: str) -> bool:
        """Whether nothing is lost if it fails: `base` goes without it, and it is the same module."""
        assert self.base is not None
        same = self.base.definitions.get(module) == self._definitions.get(module)
        return module in self.trying and same

    @property
    def recovered(self) -> bool:
        """Whether anything that was only tried came to be."""
        return any(each.failure is None for each in self.started if each.module in self.trying)

    @property
    def faults(self) -> list[Fault]:
        """What failed of that which was started."""
        return [Fault(each.module, each.failure) for each in self.started if each.failure is not None]

    def _refuse_to_block(self, graph: Graph) -> None:
        base = self.base
        if base is None:
            return
        blocked = refused(
            graph,
            base.graph,
            healthy={module for module, each in base.instances.items() if each.failure is None},
            changed={m for m in graph.nodes if base.definitions.get(m) != self._definitions.get(m)},
            failed=self._failed,
        )
        if blocked:
            raise Dropped(
                Fault(node.module, MeshError(node.reason_code or "service_unavailable", node.reason))
                for node in blocked
            )

    # --- prepare ---

    async def prepare(self, number: int, graph: Graph) -> Generation:
        """Prepares what was started, providers before consumers. Raises `Dropped`.

        Where a failure costs nobody, who fails is left out, with everything that stands on it.
        """
        generation = self._generation(number, graph)
        await self._stop(generation)
        prepared: set[str] = set()
        while level := _first_level(generation.graph, without=prepared):
            new = [module for module in level if generation.instances[module] in self.started]
            await self._each(partial(self._prepare_one, generation), new)
            prepared.update(level)
            if any(instance.failure for instance in generation.instances.values()):
                self._drop_faults()
                graph = self._resolve()
                self._refuse_to_block(graph)
                generation = self._generation(number, graph)
                await self._stop(generation)
        return generation

    def _generation(self, number: int, graph: Graph) -> Generation:
        generation = self.generation = Generation(
            number=number,
            graph=graph,
            instances={module: self.instances[module] for module in graph.order},
            composition=self.composition,
            composed=self.composed,
            cause=self.cause,
            known=self.known,
            diagnostics=[f"{note.where}: {note.message}" for note in graph.notes],
            discovery=self.discovery,
            definitions=self._definitions,
            failed=self._failed,
            distrusted=self._distrusted,
        )
        for instance in generation.instances.values():
            if instance in self.started:
                instance.generation = generation
        return generation

    async def _stop(self, generation: Generation) -> None:
        """Stops what was started and the generation has no use for."""
        used = set(generation.instances.values())
        unused = [each for each in self.started if each not in used and not each.ended.is_set()]
        await self.workshop.retirement.drop(unused)

    async def _prepare_one(self, generation: Generation, module: str) -> None:
        instance = generation.instances[module]
        node = generation.graph.nodes[module]
        instance.bind(
            {(each.service, each.major): generation.instances[each.provider] for each in node.bindings}
        )
        instance.after = tuple(generation.instances[other] for other in node.after)
        try:
            await lifecycle.prepare(instance, bindings(generation, module))
        except MeshError as error:
            self._fail(instance, error)

    # --- activate ---

    async def activate(self, generation: Generation) -> None:
        """Lets effects begin, providers before consumers. A failure leaves the generation degraded."""
        for level in generation.graph.levels():
            new = [module for module in level if generation.instances[module] in self.started]
            await self._each(partial(self._activate_one, generation), new)

    async def _activate_one(self, generation: Generation, module: str) -> None:
        instance = generation.instances[module]
        if instance.failure is not None:
            return
        instance.phase = Phase.PHASE_ACTIVE
        try:
            await lifecycle.activate(instance)
        except MeshError as error:
            self._fail(instance, error)
            self.workshop.retirement.end_failed(instance, generation)
            return
        if instance.failure is None:
            instance.reach("active")
            self.workshop.events.emit("module", module, "active")

    # --- what may go wrong ---

    async def drop(self) -> None:
        """Stops everything that was started here: nothing of it came to be."""
        await self.workshop.retirement.drop([each for each in self.started if not each.ended.is_set()])

    def _know(self, module: str, declaration: Declaration | None) -> None:
        offered = self.discovery.offered[module]
        self.known[module] = replace(offered, declaration=without_kernel_services(declaration))

    def _unusable(self, module: str, error: MeshError) -> None:
        """Its package cannot be read, so that there is nothing to start."""
        base = self.base
        self._know(module, None)
        self.known[module] = replace(
            self.known[module], unavailable=error.message, unavailable_code=error.code
        )
        if base is not None and base.known.get(module) != self.known[module]:
            raise Dropped([Fault(module, error)])
        self.workshop.events.emit("module", module, "failed", error.message, error.code)

    def _fail(self, instance: Instance, error: MeshError) -> None:
        if instance.failure is None:
            instance.fail(error)
            self.workshop.events.emit("module", instance.module, "failed", error.message, error.code)
        module = instance.module
        if module not in self.known:
            self._know(module, instance.declaration or self._declared_before(module))
        # A candidate that failed is still a candidate: nobody else takes its place.
        self.known[module] = _failing(self.known[module], instance)
        self._failed[module] = instance

    def _declared_before(self, module: str) -> Declaration | None:
        try:
            return self.workshop.journal.declaration(self._key(module))
        except MeshError:
            return None  # Without a journal nothing is known of it.

    def _key(self, module: str) -> str:
        definition = self._definitions[module]
        return declaration_key(definition.fingerprint, definition.config, lifecycle.HOST_FEATURES)

    async def _each(self, step: Callable[[str], Coroutine[Any, Any, None]], modules: Iterable[str]) -> None:
        steps = [asyncio.ensure_future(step(module)) for module in modules]
        try:
            await asyncio.gather(*steps)
        except BaseException:
            # What the others are about to start must be known before everything is stopped.
            for each in steps:
                each.cancel()
            await asyncio.gather(*steps, return_exceptions=True)
            raise


def _read_whole(package: Package) -> str:
    """The fingerprint of a package, of which everything that is read is read now."""
    _ = package.descriptors
    return package.fingerprint


def _failing(known: Known, instance: Instance) -> Known:
    assert instance.failure is not None
    failure = instance.failure
    return replace(known, unavailable=failure.message, unavailable_code=failure.code)


def _first_level(graph: Graph, *, without: set[str]) -> list[str]:
    """The first modules of the graph, providers first, that are not in `without`; empty when all are."""
    left = ([module for module in level if module not in without] for level in graph.levels())
    return next(filter(None, left), [])
