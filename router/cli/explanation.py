"""Explanation: a graph as `check` shows it, to people and to programs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from router.cli.terminal import console, styled, table
from router.composition.graph import Absent, Graph, Node, Selected

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
        "services": [
            {
                "service": service,
                "major": major,
                "version": served.version if isinstance(served, Selected) else None,
                "provider": served.provider if isinstance(served, Selected) else None,
                "source": served.source if isinstance(served, Selected) else None,
                "error": {"code": served.code, "message": served.message}
                if isinstance(served, Absent)
                else None,
            }
            for (service, major), served in graph.services.items()
        ],
        "order": list(graph.order),
    }


def print_explanation(graph: Graph, states: States) -> None:
    """The graph for people."""
    out = console()
    if not graph.nodes:
        out.print("the composition has no modules")
        return
    modules = table("module", "state", "calls", "why")
    for module, node in graph.nodes.items():
        modules.add_row(module, styled(states[module]), _calls(node), node.reason)
    out.print(modules)
    if not graph.services:
        return
    services = table("service", "version", "provider", "selected by")
    for (service, major), served in graph.services.items():
        name = f"{service}@{major}"
        if isinstance(served, Selected):
            services.add_row(name, served.version, served.provider, served.source)
        else:
            services.add_row(name, "–", "nobody", served.message)
    out.print()
    out.print(services)


def _calls(node: Node) -> str:
    calls = [f"{b.service}@{b.major} → {b.provider} ({b.source})" for b in node.bindings]
    calls += [f"{a.service}@{a.major} → nobody" for a in node.unmet]
    calls += [f"{a.service}@{a.major} → nobody (optional: {a.code})" for a in node.absent]
    return "\n".join(calls) or "–"


def _absent(absent: Absent) -> dict[str, Any]:
    return {
        "service": absent.service,
        "major": absent.major,
        "code": absent.code,
        "message": absent.message,
    }
