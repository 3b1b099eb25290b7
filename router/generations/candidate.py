"""The candidate: a generation on its way, initialize → resolve → prepare → activate → publish.

The steps stand in the order in which they happen. Before `activate` nothing has an effect, and a failure
costs the candidate alone.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from contract.context import Phase
from contract.declaration import LIFECYCLE_VERSION
from contract.errors import MeshError
from router.admission.admission import Admission
from router.composition.document import Document, ModuleEntry
from router.composition.graph import Graph
from router.composition.profile import effective
from router.composition.resolve import Known, resolve
from router.events import Events
from router.generations.generation import KERNEL_SERVICES, Generation
from router.generations.journal import Journal, declaration_key
from router.generations.shapes import Shapes
from router.instances import lifecycle
from router.instances.instance import Instance
from router.instances.start import Starter
from router.packages.discovery import Discovery
from router.packages.manifest import BadPackage
from router.packages.package import Package
from wuu.mesh.v1.declaration_pb2 import Declaration
from wuu.mesh.v1.json_pb2 import Json
from wuu.mesh.v1.lifecycle_pb2 import Binding, InitializeRequest

DROP_TIMEOUT = 4.0
"""Seconds that the stop of an instance may take that its generation cannot use."""


@dataclass(slots=True)
class Candidate:
    """A generation on its way."""

    document: Document
    discovery: Discovery
    starter: Starter
    admission: Admission
    journal: Journal
    events: Events
    shapes: Shapes
    supervise: Callable[[Instance], None]
    """Called with each instance whose process runs."""
    tell_consumers: Callable[[Generation, Instance], None]
    """Called with each instance that failed between its preparation and the publication of its generation."""
    instances: dict[str, Instance] = field(default_factory=dict)
    """The newest instance of each module that was started."""
    generation: Generation | None = None
    """What is built of it so far; None before the first resolution."""
    known: dict[str, Known] = field(default_factory=dict)

    async def build(self) -> Generation:
        """Takes every step. Raises `Rejected` when the document is."""
        graph = await self.declare()
        # Durable before anything is told its generation: no later router gives the number again.
        number = self.journal.next_generation()
        generation = self._generation(number, graph)
        await self._drop(module for module in self.instances if module not in graph.order)
        self.events.emit("generation", generation.id, "building")
        generation = await self._prepare(generation)
        await self._activate(generation)
        self._publish(generation)
        return generation

    async def declare(self) -> Graph:
        """Initializes every enabled module, which only declares, and resolves. Raises `Rejected`."""
        entries, _ = effective(self.document)
        await self._each(
            self._initialize,
            [module for module, entry in entries.items() if entry.enabled and module in self.packages],
        )
        return self._resolve()

    @property
    def packages(self) -> Mapping[str, Package]:
        """What the composition can name."""
        return self.discovery.packages

    def entry(self, module: str) -> ModuleEntry:
        """What the composition says about a module."""
        return effective(self.document)[0][module]

    # --- initialize ---

    async def _initialize(self, module: str) -> None:
        package = self.packages[module]
        instance = self.instances[module] = self.starter.instance(package, self.entry(module).timeout)
        self.admission.instances[instance.token] = instance
        self.events.emit("module", module, "starting")
        try:
            # A package may be large; whoever asks how the start goes is not to wait for it.
            key = await asyncio.to_thread(self._read, module)
            await self.starter.start(instance)
            self.supervise(instance)
            await lifecycle.initialize(instance, self._initialization(instance))
            declaration = instance.declaration
            assert declaration is not None
            self.journal.keep_declaration(key, declaration)
        except MeshError as error:
            self._failed(instance, error)
            return
        except OSError as unwritable:
            remedy = "See whether its disk is full or read-only, and whose it is."
            self._failed(
                instance, MeshError("host_error", f"the home cannot be written: {unwritable}", remedy=remedy)
            )
            return
        self.shapes.learn(declaration)
        self._know(module, declaration)

    def _initialization(self, instance: Instance) -> InitializeRequest:
        config = self.entry(instance.module).config
        state = self.starter.home.state_of(instance.module)
        state.mkdir(mode=0o700, parents=True, exist_ok=True)
        return InitializeRequest(
            lifecycle_version=LIFECYCLE_VERSION,
            module=instance.module,
            instance=instance.id,
            host_features=lifecycle.HOST_FEATURES,
            config=None if config is None else Json(utf8=config),
            package_root=str(instance.package.root),
            home=str(self.starter.home.root),
            state_dir=str(state),
        )

    # --- resolve ---

    def _resolve(self) -> Graph:
        known = {**self.discovery.offered, **self.known}
        for module, instance in self.instances.items():
            if instance.failure is not None:
                # A candidate that failed is still a candidate: nobody else takes its place.
                known[module] = replace(
                    known[module],
                    unavailable=instance.failure.message,
                    unavailable_code=instance.failure.code,
                )
        return resolve(self.document, known)

    def _generation(self, number: int, graph: Graph) -> Generation:
        instances = {module: self.instances[module] for module in graph.order}
        generation = self.generation = Generation(number, graph, instances)
        for instance in generation.instances.values():
            instance.generation = generation
        return generation

    # --- prepare ---

    async def _prepare(self, generation: Generation) -> Generation:
        """Prepares providers before consumers. Who fails is left out, with everything that stands on it."""
        prepared: set[str] = set()
        while level := _first_level(generation.graph, without=prepared):
            await self._each(partial(self._prepare_one, generation), level)
            prepared.update(level)
            if any(instance.failure for instance in generation.instances.values()):
                generation = self._generation(generation.number, self._resolve())
                await self._drop(module for module in self.instances if module not in generation.graph.order)
        return generation

    async def _prepare_one(self, generation: Generation, module: str) -> None:
        instance = generation.instances[module]
        try:
            await lifecycle.prepare(instance, bindings(generation, module))
        except MeshError as error:
            self._failed(instance, error)

    # --- activate ---

    async def _activate(self, generation: Generation) -> None:
        for level in generation.graph.levels():
            await self._each(partial(self._activate_one, generation), level)

    async def _activate_one(self, generation: Generation, module: str) -> None:
        instance = generation.instances[module]
        if instance.failure is not None:
            return
        instance.phase = Phase.PHASE_ACTIVE
        try:
            await lifecycle.activate(instance)
        except MeshError as error:
            self._failed(instance, error)
            return
        if instance.failure is None:
            instance.reach("active")
            self.events.emit("module", module, "active")

    # --- publish ---

    def _publish(self, generation: Generation) -> None:
        failed = [instance for instance in generation.instances.values() if instance.failure]
        generation.state = "degraded" if failed else "active"
        self.admission.generation = generation
        self.events.emit("generation", generation.id, generation.state)
        for instance in failed:
            self.tell_consumers(generation, instance)

    # --- what may go wrong ---

    def _know(self, module: str, declaration: Declaration | None) -> None:
        version = self.packages[module].manifest.version
        self.known[module] = Known(module, version, without_kernel_services(declaration))

    def _failed(self, instance: Instance, error: MeshError) -> None:
        if instance.failure is None:
            instance.fail(error)
            self.events.emit("module", instance.module, "failed", error.message, error.code)
        if instance.declaration is None:
            self._know(instance.module, self._declared_before(instance.module))

    def _declared_before(self, module: str) -> Declaration | None:
        try:
            return self.journal.declaration(self._key(module))
        except MeshError:
            return None  # Without a fingerprint or a journal nothing is known of it.

    async def _drop(self, modules: Iterable[str]) -> None:
        """Stops instances that the generation cannot use."""
        await self._each(
            self._stop, [m for m in modules if self.instances[m].state in ("starting", "failed")]
        )

    async def _stop(self, module: str) -> None:
        instance = self.instances[module]
        if instance.failure is None:
            instance.reach("blocked")
        unconfirmed = await self.starter.stop(instance, DROP_TIMEOUT)
        self.admission.instances.pop(instance.token, None)
        if unconfirmed is not None:
            reason = f"cleanup is unconfirmed: {unconfirmed.message}"
            self.events.emit("module", module, instance.state, reason)

    def _read(self, module: str) -> str:
        """What the declaration depends on. Reads the package whole, where OSError costs the module alone."""
        _ = self.packages[module].descriptors
        return self._key(module)

    def _key(self, module: str) -> str:
        try:
            fingerprint = self.packages[module].fingerprint
        except BadPackage as bad:
            raise MeshError("invalid_request", str(bad)) from None
        return declaration_key(fingerprint, self.entry(module).config, lifecycle.HOST_FEATURES)

    async def _each(self, step: Callable[[str], Coroutine[Any, Any, None]], modules: Iterable[str]) -> None:
        async with asyncio.TaskGroup() as group:
            for module in modules:
                group.create_task(step(module))


def _first_level(graph: Graph, *, without: set[str]) -> list[str]:
    """The first modules of the graph, providers first, that are not in `without`; empty when all are."""
    left = ([module for module in level if module not in without] for level in graph.levels())
    return next(filter(None, left), [])


def bindings(generation: Generation, module: str) -> list[Binding]:
    """What a consumer is told about where its calls go."""
    told: list[Binding] = []
    for edge in generation.graph.nodes[module].bindings:
        route = generation.route(module, edge.service, edge.major)
        told.append(
            Binding(
                service=edge.service,
                major=edge.major,
                provider=edge.provider,
                descriptor=route.descriptor,
                file_descriptor_set=route.instance.package.descriptors,
            )
        )
    return told


def without_kernel_services(declaration: Declaration | None) -> Declaration | None:
    """The declaration as resolution sees it: what the kernel serves needs no provider."""
    if declaration is None:
        return None
    seen = Declaration()
    seen.CopyFrom(declaration)
    del seen.required_services[:]
    seen.required_services.extend(
        r for r in declaration.required_services if (r.name, r.major) not in KERNEL_SERVICES
    )
    return seen
