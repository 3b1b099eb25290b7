"""Explanation: a graph as `check` shows it, to people and to programs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from router.cli.terminal import console, print_table, styled, table
from router.composition.document import Selection
from router.composition.graph import Absent, Graph, Selected

UNKNOWN = "declaration unknown"
"""The state of a module that has not declared yet: what it provides and requires is not known."""

States = Mapping[str, str]
"""The state of each module, by id."""


def explanation_json(graph: Graph, states: States) -> dict[str, Any]:
    """The graph as `check --json` prints it."""
    return {
        "modules": [
            {
                "id": module,
                "state": states[module],
                "error": {"code": node.reason_code, "message": node.reason} if node.reason else None,
                "bindings": [
                    {"service": b.service, "major": b.major, "provider": b.provider, "source": b.source}
                    for b in node.bindings
                ],
                "unmet": [_absent(each) for each in node.unmet],
                "absent": [_absent(each) for each in node.absent],
            }
            for module, node in graph.nodes.items()
        ],
        "services": [_service(served) for served in graph.services.values()],
        "order": list(graph.order),
    }


def print_explanation(graph: Graph, states: States, selections: Sequence[Selection]) -> None:
    """The graph for people; `selections` are those that hold."""
    out = console()
    if not graph.nodes:
        out.print("the composition has no modules")
        return
    modules = table("module", "state")
    for module in graph.nodes:
        modules.add_row(module, styled(states[module]))
    print_table(out, modules)
    for module, node in graph.nodes.items():
        if states[module] == "blocked":
            out.print(f"module {module} {states[module]}: {node.reason}")
    services = table("service", "consumer", "provider", "selected by")
    for row in sorted(_services(graph, states, selections), key=lambda row: row[0]):
        services.add_row(*row)
    if services.row_count:
        out.print()
        print_table(out, services)


def _services(
    graph: Graph, states: States, selections: Sequence[Selection]
) -> Iterator[tuple[str, str, str, str]]:
    """What everybody gets, then what each module gets. What blocks a module is told with it."""
    selected = {(each.service, each.major): each for each in selections if each.consumer is None}
    for (service, major), served in graph.services.items():
        choice = selected.get((service, major))
        if isinstance(served, Selected):
            yield f"{service}@{major}", "everybody", served.provider, served.source
        elif choice is not None and states[choice.provider] == UNKNOWN:
            source = f"{choice.source}, if it provides it: its declaration is unknown"
            yield f"{service}@{major}", "everybody", choice.provider, source
        elif choice is not None:
            reason = graph.nodes[choice.provider].reason
            why = f"{choice.source} selects {choice.provider}, which is {states[choice.provider]}: {reason}"
            yield f"{service}@{major}", "everybody", "nobody", why
        else:
            yield f"{service}@{major}", "everybody", "nobody", served.message
    for module, node in graph.nodes.items():
        for binding in node.bindings:
            yield f"{binding.service}@{binding.major}", module, binding.provider, binding.source
        for absent in node.absent:
            yield f"{absent.service}@{absent.major}", module, "nobody", absent.message


def _absent(absent: Absent) -> dict[str, Any]:
    named = {"service": absent.service, "major": absent.major}
    return {**named, "code": absent.code, "message": absent.message}


def _service(served: Selected | Absent) -> dict[str, Any]:
    named = {"service": served.service, "major": served.major}
    if isinstance(served, Absent):
        error = {"code": served.code, "message": served.message}
        return {**named, "version": None, "provider": None, "source": None, "error": error}
    selected = {"version": served.version, "provider": served.provider, "source": served.source}
    return {**named, **selected, "error": None}
