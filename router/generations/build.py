"""Building a generation: initialize → resolve → prepare → commit → activate → publish.

The steps stand in the order in which they happen. Before `activate` nothing has an effect, and a failure
costs the candidate alone.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace

from contract.context import Phase
from contract.errors import MeshError
from router.admission.admission import Admission
from router.composition.document import Document, ModuleEntry
from router.composition.graph import Graph
from router.composition.profile import effective
from router.composition.resolve import Known, resolve
from router.control.events import Events
from router.generations.generation import KERNEL_SERVICES, Generation
from router.generations.journal import Journal, declaration_key
from router.instances import lifecycle
from router.instances.instance import Instance
from router.instances.start import Starter
from router.packages.discovery import Discovery
from router.packages.manifest import BadPackage
from router.packages.package import Package
from router.relay.server import Shapes
from wuu.mesh.v1.declaration_pb2 import Declaration
from wuu.mesh.v1.json_pb2 import Json
from wuu.mesh.v1.lifecycle_pb2 import Binding, InitializeRequest

Supervise = Callable[[Instance], None]


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
    workspace: str
    supervise: Supervise
    """Called with each instance whose process runs."""
    instances: dict[str, Instance] = field(default_factory=dict)
    """Every module that was started, by id."""
    known: dict[str, Known] = field(default_factory=dict)

    async def build(self) -> Generation:
        """Takes every step. Raises `Rejected` when the document is."""
        graph = await self.declare()
        number = self.journal.next_generation()
        generation = self._generation(number, graph)
        await self._drop(module for module in self.instances if module not in graph.order)
        self.events.emit("generation", generation.id, "building")
        generation = await self._prepare(generation)
        self._commit()
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

    def timeout(self, module: str) -> float:
        """Seconds that bound each step of a module."""
        return self.entry(module).timeout or self.packages[module].manifest.runtime.timeout

    # --- initialize ---

    async def _initialize(self, module: str) -> None:
        package = self.packages[module]
        instance = self.instances[module] = self.starter.instance(package)
        self.admission.instances[instance.token] = instance
        self.events.emit("module", module, "starting")
        try:
            key = self._key(module)
            await self.starter.start(instance, self.timeout(module))
            self.supervise(instance)
            await lifecycle.initialize(instance, self._initialization(instance), self.timeout(module))
        except MeshError as error:
            self._failed(instance, error)
            return
        declaration = instance.declaration
        assert declaration is not None
        self.shapes.learn(declaration)
        self.journal.keep_declaration(key, declaration)
        self._know(module, declaration)

    def _initialization(self, instance: Instance) -> InitializeRequest:
        config = self.entry(instance.module).config
        state = self.starter.home.state_of(instance.module)
        state.mkdir(parents=True, exist_ok=True)
        return InitializeRequest(
            lifecycle_version=2,
            module=instance.module,
            instance=instance.id,
            host_features=lifecycle.HOST_FEATURES,
            config=None if config is None else Json(utf8=config),
            package_root=str(instance.package.root),
            home=str(self.starter.home.root),
            state_dir=str(state),
            workspace=self.workspace,
        )

    # --- resolve ---

    def _resolve(self) -> Graph:
        return resolve(self.document, {**self.discovery.offered, **self.known})

    def _generation(self, number: int, graph: Graph) -> Generation:
        generation = Generation(number, graph, {module: self.instances[module] for module in graph.order})
        for instance in generation.instances.values():
            instance.generation = generation
        return generation

    # --- prepare ---

    async def _prepare(self, generation: Generation) -> Generation:
        """Prepares providers before consumers. Who fails is left out, with everything that stands on it."""
        prepared: set[str] = set()
        while waiting := [m for level in generation.graph.levels() for m in level if m not in prepared]:
            level = next(
                [m for m in level if m in waiting]
                for level in generation.graph.levels()
                if any(m in waiting for m in level)
            )
            failed: list[str] = []

            async def prepare(
                module: str, generation: Generation = generation, failed: list[str] = failed
            ) -> None:
                instance = generation.instances[module]
                try:
                    await lifecycle.prepare(instance, bindings(generation, module), self.timeout(module))
                except MeshError as error:
                    self._failed(instance, error)
                    failed.append(module)

            await self._each(prepare, level)
            prepared.update(level)
            if failed:
                generation = self._generation(generation.number, self._resolve())
                await self._drop(module for module in self.instances if module not in generation.graph.order)
        return generation

    # --- commit ---

    def _commit(self) -> None:
        """From here on there is no way back to what was before."""

    # --- activate ---

    async def _activate(self, generation: Generation) -> None:
        for level in generation.graph.levels():

            async def activate(module: str) -> None:
                instance = generation.instances[module]
                if instance.failure is not None:
                    return
                instance.phase = Phase.PHASE_ACTIVE
                try:
                    await lifecycle.activate(instance, self.timeout(module))
                except MeshError as error:
                    self._failed(instance, error)
                    return
                instance.reach("active")
                self.events.emit("module", module, "active")

            await self._each(activate, level)

    # --- publish ---

    def _publish(self, generation: Generation) -> None:
        degraded = any(instance.failure for instance in generation.instances.values())
        generation.state = "degraded" if degraded else "active"
        self.admission.generation = generation
        self.events.emit("generation", generation.id, generation.state)

    # --- what may go wrong ---

    def _know(self, module: str, declaration: Declaration | None) -> None:
        version = self.packages[module].manifest.version
        self.known[module] = Known(module, version, without_kernel_services(declaration))

    def _failed(self, instance: Instance, error: MeshError) -> None:
        module = instance.module
        instance.fail(error)
        self.events.emit("module", module, "failed", error.message)
        if instance.declaration is None:
            # A candidate that could not start is still a candidate: nobody else takes its place.
            self._know(module, self._declared_before(module))
        self.known[module] = replace(
            self.known[module], unavailable=error.message, unavailable_code=error.code
        )

    def _declared_before(self, module: str) -> Declaration | None:
        try:
            return self.journal.declaration(self._key(module))
        except MeshError:
            return None  # A package without a fingerprint was never started.

    async def _drop(self, modules: Iterable[str]) -> None:
        """Stops instances that the generation cannot use."""
        await self._each(
            self._stop, [m for m in modules if self.instances[m].state in ("starting", "failed")]
        )

    async def _stop(self, module: str) -> None:
        instance = self.instances[module]
        if instance.failure is None:
            instance.reach("blocked")
        self.admission.instances.pop(instance.token, None)
        await self.starter.stop(instance)

    def _key(self, module: str) -> str:
        try:
            fingerprint = self.packages[module].fingerprint
        except BadPackage as bad:
            raise MeshError("invalid_request", str(bad)) from None
        return declaration_key(fingerprint, self.entry(module).config, lifecycle.HOST_FEATURES)

    async def _each(self, step: Callable[[str], Awaitable[None]], modules: Iterable[str]) -> None:
        async with asyncio.TaskGroup() as group:
            for module in modules:
                group.create_task(step(module))  # type: ignore[arg-type]


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
    if declaration is None:
        return None
    seen = Declaration()
    seen.CopyFrom(declaration)
    del seen.required_services[:]
    seen.required_services.extend(
        r for r in declaration.required_services if (r.name, r.major) not in KERNEL_SERVICES
    )
    return seen
