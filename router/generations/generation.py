"""A generation: a graph with the instances that serve it, published as a whole."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

import grpc

from contract.declaration import describe, major_of
from contract.errors import MeshError
from router.composition.graph import Absent, Graph
from router.composition.nearest import nearest
from router.instances.instance import Instance
from wuu.mesh.v1 import contributions_pb2
from wuu.mesh.v1.declaration_pb2 import MethodDescriptor, ServiceDescriptor

CONTRIBUTIONS = "wuu.mesh.contributions"
"""The service by which a registry reaches what a module contributes."""

KERNEL_SERVICES = frozenset({(CONTRIBUTIONS, 1)})
"""Services that a module may require and that no module provides."""

CONTRIBUTIONS_DESCRIPTOR = describe(contributions_pb2.DESCRIPTOR.services_by_name["Contributions"])
"""What every module that contributes serves, declared by the kernel in its stead."""


@dataclass(frozen=True, slots=True)
class Route:
    """Where calls to one service go, with what admission has to know about it."""

    instance: Instance
    descriptor: ServiceDescriptor
    label: str
    """`name@major`."""
    by_path: dict[str, MethodDescriptor]
    """By gRPC path; empty for a dynamic service."""
    by_name: dict[str, MethodDescriptor]
    """By the contract's spelling."""
    calls: dict[str, grpc.aio.UnaryStreamMultiCallable[bytes, bytes]] = field(default_factory=dict)
    """By path: what sends a unary request, made once."""


def route_to(instance: Instance, descriptor: ServiceDescriptor) -> Route:
    """The route to a service of an instance."""
    prefix = f"/{descriptor.grpc_service}/"
    return Route(
        instance=instance,
        descriptor=descriptor,
        label=f"{descriptor.name}@{major_of(descriptor.version)}",
        by_path={prefix + m.rpc: m for m in descriptor.methods} if descriptor.grpc_service else {},
        by_name={m.name: m for m in descriptor.methods},
    )


@dataclass(slots=True, eq=False)
class Generation:
    """A graph and its instances. The graph never changes; an instance may fail."""

    number: int
    graph: Graph
    instances: dict[str, Instance]
    """By module; every module of the graph's order."""
    state: Literal["building", "active", "degraded", "closing"] = "building"
    """See `GenerationStatus.state`."""
    _routes: dict[tuple[str | None, str, int | None], Route] = field(default_factory=dict)
    _contributions: dict[str, Route] = field(default_factory=dict)

    @property
    def id(self) -> str:
        """Ordered: later generations have greater ids."""
        return str(self.number)

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
