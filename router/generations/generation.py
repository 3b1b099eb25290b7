"""A generation: a graph with the instances that serve it, published as a whole."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Literal

from contract.declaration import major_of
from contract.errors import MeshError
from router.composition.composed import Composed
from router.composition.graph import Absent, Graph
from router.composition.nearest import nearest
from router.composition.resolve import Known
from router.generations.kernel import CONTRIBUTIONS_DESCRIPTOR
from router.generations.route import Route, route_to
from router.instances.instance import Instance
from router.packages.discovery import Discovery
from router.reading import Composition
from wuu.mesh.v1.declaration_pb2 import ServiceDescriptor

State = Literal["building", "committed", "active", "degraded", "retained", "closing", "closed"]


@dataclass(frozen=True, slots=True)
class Definition:
    """What an instance is a start of, beside its bindings: with another one, it is another instance."""

    root: str
    """The absolute path of its package."""
    fingerprint: str
    config: bytes | None
    timeout: float | None
    """What the composition says; it stands in the handshake of a plugin."""


@dataclass(frozen=True, slots=True)
class Lease:
    """What keeps a generation alive for work that outlives a call; see `wuu.mesh.v1.Leases`."""

    holder: Instance
    key: str
    kind: str
    since: float = field(default_factory=time.time)
    """In the clock of `time.time()`, seconds."""


@dataclass(slots=True, eq=False)
class Generation:
    """A graph and its instances. The graph never changes; an instance may fail."""

    number: int
    graph: Graph
    instances: dict[str, Instance]
    """By module; every module of the graph's order."""
    composition: Composition
    """What was committed with it."""
    composed: Composed
    """What that came to."""
    cause: str
    """What it was built for."""
    known: Mapping[str, Known]
    """What is known of each module of the composition."""
    discovery: Discovery
    """The packages that its composition could name."""
    definitions: Mapping[str, Definition]
    """Of each module whose package could be read."""
    failed: Mapping[str, Instance]
    """The last instance of each module that failed before it could come into the graph's order."""
    distrusted: Mapping[str, str]
    """Why modules of the composition may not run, though it enables them."""
    state: State = "building"
    """See `GenerationRecord.state`."""
    diagnostics: list[str] = field(default_factory=list)
    """What is wrong with it, a sentence each."""
    live: int = 0
    """The live executions that keep it."""
    leases: dict[tuple[Instance, str], Lease] = field(default_factory=dict)
    """The leases that keep it, by holder and key."""
    on_idle: Callable[[Generation], None] | None = None
    """Called once nothing keeps it any more; set when another one is published."""
    _routes: dict[tuple[str | None, str, int | None], Route] = field(default_factory=dict)
    _contributions: dict[str, Route] = field(default_factory=dict)

    @property
    def id(self) -> str:
        """Ordered: later generations have greater ids."""
        return str(self.number)

    @property
    def superseded(self) -> bool:
        """Another one has been published."""
        return self.on_idle is not None

    def hold(self) -> None:
        """One more execution keeps it."""
        self.live += 1

    def let_go(self) -> None:
        """One execution less keeps it."""
        self.live -= 1
        self.settle()

    def settle(self) -> None:
        """Closes it, where another one is published and nothing keeps it any more."""
        if self.on_idle is not None and self.live == 0 and not self.leases:
            self.on_idle(self)

    def members(self) -> Iterator[Instance]:
        """Every instance that it has, failed ones too."""
        yield from self.instances.values()
        yield from (each for module, each in self.failed.items() if module not in self.instances)

    def route(self, consumer: str | None, service: str, major: int | None) -> Route:
        """Where a module's calls to a service go; `consumer` None asks for the operator's own.

        Raises the code that says why there is no such place.
        """
        found = self._routes.get((consumer, service, major))
        if found is None:
            found = self._find(consumer, service, major)
            self._routes[consumer, service, major] = found
        return found

    def direct(self, module: str, service: str, major: int | None) -> Route:
        """The service as the named module provides it, whoever is selected."""
        instance = self._instance(module)
        provided = _provided(instance, service, major)
        if provided is None:
            raise _refused("service_not_found", f"{module} does not provide {_label(service, major)}")
        return route_to(instance, provided)

    def contributions_of(self, module: str) -> Route:
        """The tools and capabilities of a module."""
        if not module:
            raise _refused("invalid_request", "name the module that contributes as the metadata wuu-module")
        found = self._contributions.get(module)
        if found is None:
            instance = self._instance(module)
            declaration = instance.declaration
            if declaration is None or not (declaration.tools or declaration.capabilities):
                raise _refused("method_not_found", f"{module} contributes no tool and no capability")
            found = self._contributions[module] = route_to(instance, CONTRIBUTIONS_DESCRIPTOR)
        if found.instance.withdrawn is not None:
            raise found.instance.withdrawn
        return found

    def _find(self, consumer: str | None, service: str, major: int | None) -> Route:
        if consumer is None:
            selected = self.graph.default(service, major)
            if isinstance(selected, Absent):
                raise _refused(selected.code, selected.message)
            provider, bound_major = selected.provider, major_of(selected.version)
        else:
            if consumer not in self.graph.nodes:
                raise _no_module(consumer, self.graph)
            if major is None:
                major = self._instance(consumer).declared(service)
            binding = self.graph.binding(consumer, service, major)
            if isinstance(binding, Absent):
                raise _refused(binding.code, binding.message)
            provider, bound_major = binding.provider, binding.major
        instance = self._instance(provider)
        provided = _provided(instance, service, bound_major)
        if provided is None:
            raise _refused("service_unavailable", f"{provider} does not provide {service}@{bound_major} now")
        return route_to(instance, provided)

    def _instance(self, module: str) -> Instance:
        instance = self.instances.get(module)
        if instance is not None:
            return instance
        node = self.graph.nodes.get(module)
        if node is None:
            raise _no_module(module, self.graph)
        code = "module_revoked" if node.state == "disabled" else "service_unavailable"
        raise _refused(code, f"{module} cannot be called: {node.reason}")


def _provided(instance: Instance, service: str, major: int | None) -> ServiceDescriptor | None:
    for descriptor in instance.declaration.provided_services if instance.declaration else ():
        if descriptor.name == service and major in (None, major_of(descriptor.version)):
            return descriptor
    return None


def _label(service: str, major: int | None) -> str:
    return service if major is None else f"{service}@{major}"


def _no_module(module: str, graph: Graph) -> MeshError:
    return _refused("invalid_request", f"there is no module {module}{nearest(module, graph.nodes)}")


def _refused(code: str, message: str) -> MeshError:
    return MeshError(code, message, outcome="not_dispatched")
