"""Difference: what tells one generation from the one before. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from router.composition.graph import Graph, Node, Selected
from router.instances.instance import Instance

Edges = Mapping[tuple[str, str, int], str]
"""Providers by consumer (empty: whoever has no binding of its own), service and major."""


@dataclass(frozen=True, slots=True)
class BindingChange:
    """A binding that leads elsewhere; see `wuu.mesh.v1.BindingChange`."""

    consumer: str
    service: str
    major: int
    before: str
    after: str


@dataclass(frozen=True, slots=True)
class Difference:
    """What changed; see `wuu.mesh.v1.Difference`."""

    added: tuple[str, ...]
    removed: tuple[str, ...]
    replaced: tuple[str, ...]
    carried: tuple[str, ...]
    bindings: tuple[BindingChange, ...]
    blocked: tuple[Node, ...]
    switched: bool
    """Whether a module is in another state, though it may have run neither before nor after."""

    @property
    def is_nothing(self) -> bool:
        """Whether the one is as good as the other."""
        return not (self.added or self.removed or self.replaced or self.bindings or self.switched)


def difference(
    before: Graph, old: Mapping[str, Instance], after: Graph, new: Mapping[str, Instance]
) -> Difference:
    """What changed from one graph and its instances to the next."""
    new = {module: instance for module, instance in new.items() if module in after.order}
    was, now = _edges(before), _edges(after)
    return Difference(
        added=tuple(sorted(new.keys() - old.keys())),
        removed=tuple(sorted(old.keys() - new.keys())),
        replaced=tuple(sorted(m for m in new.keys() & old.keys() if new[m] is not old[m])),
        carried=tuple(sorted(m for m in new.keys() & old.keys() if new[m] is old[m])),
        bindings=tuple(
            BindingChange(*key, was.get(key, ""), now.get(key, ""))
            for key in sorted(was.keys() | now.keys())
            if was.get(key) != now.get(key)
        ),
        blocked=tuple(node for _, node in sorted(after.nodes.items()) if node.state != "ready"),
        switched=_states(before) != _states(after),
    )


def _states(graph: Graph) -> dict[str, str]:
    return {module: node.state for module, node in graph.nodes.items()}


def _edges(graph: Graph) -> Edges:
    edges = {
        (module, each.service, each.major): each.provider
        for module, node in graph.nodes.items()
        for each in node.bindings
    }
    defaults = {
        ("", service, major): selected.provider
        for (service, major), selected in graph.services.items()
        if isinstance(selected, Selected)
    }
    return {**edges, **defaults}
