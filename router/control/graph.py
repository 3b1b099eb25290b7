"""Graph: a resolved composition, in the messages of the control API."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from router.composition.composed import Composed, Step
from router.composition.document import Selection
from router.composition.graph import Absent, Binding, Graph, Node, Selected
from router.composition.resolve import Known
from wuu.mesh.v1.control_pb2 import GetGraphResponse, Problem
from wuu.mesh.v1.graph_pb2 import GraphEdge, GraphNode, GraphService, GraphStep


def described(
    graph: Graph, composed: Composed, known: Mapping[str, Known], states: Mapping[str, str]
) -> GetGraphResponse:
    """The graph of a composition; `states` has the state of each module."""
    return GetGraphResponse(
        nodes=[_node(node, composed, known.get(module), states) for module, node in graph.nodes.items()],
        services=[_service(each, composed) for each in graph.services.values()],
        notes=[Problem(where=note.where, message=note.message) for note in graph.notes],
    )


def _node(node: Node, composed: Composed, known: Known | None, states: Mapping[str, str]) -> GraphNode:
    declaration = known.declaration if known is not None else None
    edges = {(each.service, each.major): each for each in _edges(node, composed)}
    required = declaration.required_services if declaration is not None else ()
    order = [key for each in required if (key := (each.name, each.major)) in edges]
    for each in required:
        if (edge := edges.get((each.name, each.major))) is not None:
            edge.optional = not each.required
    provided = declaration.provided_services if declaration is not None else ()
    return GraphNode(
        module=node.module,
        state=states.get(node.module, node.state),
        reason=node.reason,
        reason_code=node.reason_code,
        source=composed.modules[node.module].source,
        edges=[edges[key] for key in order],
        after=node.after,
        provides=[f"{each.name}@{each.version}" for each in provided],
    )


def _edges(node: Node, composed: Composed) -> Iterator[GraphEdge]:
    outcomes: Iterable[Binding | Absent] = (*node.bindings, *node.absent, *node.unmet)
    for outcome in outcomes:
        key = (outcome.service, outcome.major or 0)
        edge = GraphEdge(service=outcome.service, major=outcome.major or 0)
        edge.local = (node.module, key) in composed.selections
        edge.overridden.extend(_steps(composed, node.module, key))
        if isinstance(outcome, Binding):
            edge.provider, edge.source = outcome.provider, outcome.source
        else:
            edge.message, edge.code = outcome.message, outcome.code
            chosen = composed.selections.get((node.module, key)) or composed.selections.get((None, key))
            edge.source = chosen.source if chosen is not None else ""
        yield edge


def _service(served: Selected | Absent, composed: Composed) -> GraphService:
    key = (served.service, served.major or 0)
    service = GraphService(service=served.service, major=served.major or 0)
    service.overridden.extend(_steps(composed, None, key))
    if isinstance(served, Selected):
        service.version, service.provider, service.source = served.version, served.provider, served.source
    else:
        service.message, service.code = served.message, served.code
        chosen = composed.selections.get((None, key))
        service.source = chosen.source if chosen is not None else ""
    return service


def _steps(composed: Composed, consumer: str | None, key: tuple[str, int]) -> Iterator[GraphStep]:
    """What was said for the consumer itself, and below that what holds for everybody."""
    steps: list[Step] = list(composed.overridden.get((consumer, key), ()))
    for step in steps:
        yield GraphStep(provider=step.provider if isinstance(step, Selection) else "", source=step.source)
    if consumer is not None and (consumer, key) in composed.selections:
        everybody = composed.selections.get((None, key))
        if everybody is not None:
            yield GraphStep(provider=everybody.provider, source=everybody.source)
