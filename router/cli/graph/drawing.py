"""Drawing: what is drawn of a graph, whatever it is written in: modules, services, and lines between them.

A line leads from a consumer to a service, and from the service to its provider. Consumers that get a service
by one and the same choice share what stands for it; from what nobody serves no line leads on.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from router.cli.terminal import printable
from wuu.mesh.v1.control_pb2 import GetGraphResponse
from wuu.mesh.v1.graph_pb2 import GraphEdge, GraphNode, GraphService

Kind = Literal["module", "service", "missing"]

Mood = Literal["good", "waiting", "bad", "off"]

_MOODS: dict[str, Mood] = {
    "active": "good",
    "ready": "good",
    "starting": "waiting",
    "stopping": "waiting",
    "declaration unknown": "waiting",
    "blocked": "bad",
    "failed": "bad",
}


@dataclass(frozen=True, slots=True)
class Vertex:
    """A module or a service."""

    kind: Kind
    name: str
    """The id of the module, or `service@major`."""
    below: str
    """What stands below the name: the state of a module, what chose a provider, why there is none."""
    told: str
    """What is told of it on a closer look."""
    mood: Mood = "off"
    """How a module does."""


@dataclass(frozen=True, slots=True)
class Line:
    """A line between two vertices, by their indexes."""

    start: int
    end: int
    kind: Literal["requires", "optional", "serves", "after"]
    """A consumer requires a service or may use it; a module serves it; a module starts after another."""
    local: bool
    """Whether the provider was chosen for this consumer and not for everybody."""
    told: str
    """What chose the provider, or why there is none."""


@dataclass(frozen=True, slots=True)
class Drawing:
    """What is drawn of a graph."""

    title: str
    vertices: tuple[Vertex, ...]
    lines: tuple[Line, ...]


def drawing(picture: GetGraphResponse, title: str) -> Drawing:
    """What is drawn of a graph. The same for the same graph."""
    vertices: list[Vertex] = [_module(node) for node in picture.nodes]
    modules = {node.module: index for index, node in enumerate(picture.nodes)}
    lines: list[Line] = []
    services: dict[tuple[str, int, str, str], int] = {}

    def service(each: GraphService | GraphEdge) -> int:
        key = each.service, each.major, each.provider, each.source if each.provider else each.code
        if key not in services:
            services[key] = len(vertices)
            vertices.append(_service(each))
            if each.provider:
                lines.append(
                    Line(
                        services[key],
                        modules[each.provider],
                        "serves",
                        local=False,
                        told=printable(each.source),
                    )
                )
        return services[key]

    for served in picture.services:
        service(served)
    for node in picture.nodes:
        for edge in node.edges:
            told = _choice(edge) if edge.provider else f"{edge.code}: {edge.message}"
            kind: Literal["requires", "optional"] = "optional" if edge.optional else "requires"
            lines.append(Line(modules[node.module], service(edge), kind, edge.local, printable(told)))
        for other in node.after:
            told = f"{node.module} starts after {other}: its package depends on it"
            lines.append(Line(modules[node.module], modules[other], "after", local=False, told=told))
    return Drawing(title, tuple(vertices), tuple(lines))


def brief(source: str) -> str:
    """A source without the directories of its file."""
    return source.rpartition("/")[2]


def _module(node: GraphNode) -> Vertex:
    told = "\n".join((f"{node.module}: {node.state}, named by {node.source}", *_reason(node)))
    return Vertex("module", node.module, node.state, printable(told), _MOODS.get(node.state, "off"))


def _reason(node: GraphNode) -> tuple[str, ...]:
    return (f"{node.reason_code}: {node.reason}" if node.reason_code else node.reason,) if node.reason else ()


def _service(each: GraphService | GraphEdge) -> Vertex:
    name = f"{each.service}@{each.major}"
    if not each.provider:
        return Vertex("missing", name, f"nobody: {each.code}", printable(f"{each.code}: {each.message}"))
    told = printable(f"{name}: {each.provider} ({each.source})")
    return Vertex("service", name, printable(brief(each.source)), told)


def _choice(edge: GraphEdge) -> str:
    whom = "for it alone" if edge.local else "for everybody"
    return f"{edge.provider} ({edge.source}, {whom})"
