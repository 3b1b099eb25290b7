"""Graph: the resolved composition. Immutable.

Source: *Vocabulary* and *Resolution* of the design.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby
from typing import Literal

from router.composition.nearest import nearest
from router.composition.rejected import Problem

NodeState = Literal["ready", "blocked", "disabled"]


@dataclass(frozen=True, slots=True)
class Binding:
    """One edge: (consumer, service, major) → provider."""

    consumer: str
    service: str
    major: int
    provider: str
    source: str
    """What chose the provider: `NAME:LINE` of a document, `profile PROFILE`, `bundle BUNDLE`, or `only
    provider`."""


@dataclass(frozen=True, slots=True)
class Absent:
    """A service that a caller cannot have, and why."""

    service: str
    major: int | None
    """None where the caller named none."""
    code: str
    """A code of `contract.errors`."""
    message: str


@dataclass(frozen=True, slots=True)
class Selected:
    """A service as it stands for a caller without bindings of its own."""

    service: str
    major: int
    version: str
    """What the provider declares: MAJOR.MINOR.PATCH."""
    provider: str
    source: str
    """As in `Binding`."""


@dataclass(frozen=True, slots=True)
class Node:
    """A module in the graph."""

    module: str
    state: NodeState
    reason: str
    """Why it is not ready, with the chain down to the cause; empty for a ready module."""
    reason_code: str
    """The code of `reason`; empty for a ready module."""
    bindings: tuple[Binding, ...] = ()
    """The edges that can carry calls, as the module declares them: every provider is ready."""
    absent: tuple[Absent, ...] = ()
    """Optional requirements that are not bound: `service_optional_absent` where nobody provides the service,
    `service_unavailable` where the selected provider is not ready."""
    unmet: tuple[Absent, ...] = ()
    """Requirements that are not bound and block it: `service_not_found` or `service_unavailable` of a
    required one, `service_ambiguous` or `service_version_mismatch` of any."""
    missing: tuple[str, ...] = ()
    """The packages that its own depends on and that cannot be had. They block it."""
    after: tuple[str, ...] = ()
    """The ready modules that it starts after since its package depends on theirs; sorted."""

    @property
    def behind(self) -> tuple[str, ...]:
        """The modules that are active before it, and end after it."""
        return (*(binding.provider for binding in self.bindings), *self.after)


@dataclass(frozen=True)
class Graph:
    """The resolved composition: modules, bindings, order."""

    nodes: Mapping[str, Node]
    """Every module of the composition, by id."""
    order: tuple[str, ...]
    """The ready modules, providers first, and the same for the same composition."""
    services: Mapping[tuple[str, int], Selected | Absent]
    """Every (service, major) that is provided or selected, as it stands for callers without bindings."""
    notes: tuple[Problem, ...] = ()
    """What is wrong and keeps nobody from running: conflicts, and orders that cannot be kept."""

    def binding(self, consumer: str, service: str, major: int) -> Binding | Absent:
        """The edge that a call takes; `service_not_authorized` where the consumer did not declare it."""
        return self._edges.get((consumer, service, major)) or Absent(
            service, major, "service_not_authorized", f"{consumer} does not require {service}@{major}"
        )

    def default(self, service: str, major: int | None) -> Selected | Absent:
        """The provider that the operator calls.

        Without a major it is that of the only major there is; with several, `service_ambiguous`.
        """
        majors = self._majors.get(service, ())
        if not majors:
            hint = nearest(service, self._majors)
            return Absent(
                service, major, "service_not_found", f"no module of the composition provides {service}{hint}"
            )
        if major is None and len(majors) > 1:
            names = " or ".join(f"{service}@{each}" for each in majors)
            return Absent(service, None, "service_ambiguous", f"{service} has several majors: say {names}")
        if major is not None and major not in majors:
            names = ", ".join(f"{service}@{each}" for each in majors)
            message = f"no module of the composition provides {service}@{major}, only {names}"
            return Absent(service, major, "service_version_mismatch", message)
        return self.services[service, major or majors[0]]

    def consumers_of(self, module: str) -> tuple[str, ...]:
        """The modules with a binding to `module`, sorted; blocked ones too."""
        return self._consumers.get(module, ())

    def dependants(self, module: str) -> frozenset[str]:
        """The modules that reach `module` over bindings, itself not among them; blocked ones too."""
        found: set[str] = set()
        waiting = [module]
        while waiting:
            new = set(self.consumers_of(waiting.pop())) - found
            found |= new
            waiting.extend(new)
        return frozenset(found)

    def levels(self) -> tuple[tuple[str, ...], ...]:
        """The ready modules in groups whose members can start in parallel; providers first.

        Stopping takes the groups from the last to the first.
        """
        level: dict[str, int] = {}
        for module in self.order:
            level[module] = 1 + max((level[other] for other in self.nodes[module].behind), default=0)
        ranked = sorted(self.order, key=lambda module: (level[module], module))
        return tuple(tuple(group) for _, group in groupby(ranked, key=level.__getitem__))

    @cached_property
    def _edges(self) -> Mapping[tuple[str, str, int | None], Binding | Absent]:
        edges: dict[tuple[str, str, int | None], Binding | Absent] = {}
        for module, node in self.nodes.items():
            for outcomes in (node.bindings, node.absent, node.unmet):
                edges.update({(module, each.service, each.major): each for each in outcomes})
        return edges

    @cached_property
    def _consumers(self) -> Mapping[str, tuple[str, ...]]:
        consumers: dict[str, set[str]] = {}
        for module, node in self.nodes.items():
            for binding in node.bindings:
                consumers.setdefault(binding.provider, set()).add(module)
        return {provider: tuple(sorted(modules)) for provider, modules in consumers.items()}

    @cached_property
    def _majors(self) -> Mapping[str, tuple[int, ...]]:
        majors: dict[str, list[int]] = {}
        for service, major in sorted(self.services):
            majors.setdefault(service, []).append(major)
        return {service: tuple(numbers) for service, numbers in majors.items()}
