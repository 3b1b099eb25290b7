"""`wuu-mesh graph`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import typer
from rich.text import Text
from rich.tree import Tree

from router.cli import drawing
from router.cli.answer import emit
from router.cli.composition import accepted
from router.cli.drawing import Form
from router.cli.exits import explained, say
from router.cli.explain import steps_json
from router.cli.picture import named, picture
from router.cli.terminal import console, printable, styled
from router.home import Home
from wuu.mesh.v1.control_pb2 import GetGraphResponse, GraphEdge, GraphNode


def draw(root: Path | None, composition: Path | None, form: Form, *, json: bool) -> None:
    """Draws the graph of a mesh, or of a composition."""
    with explained(), accepted(json=json):
        shown = picture(Home.at(root), composition)
        if json:
            emit(_json(shown))
            return
        match form:
            case Form.TEXT:
                _print(shown)
            case Form.MERMAID:
                typer.echo(drawing.mermaid(shown), nl=False)
            case Form.DOT:
                typer.echo(drawing.dot(shown), nl=False)
            case Form.SVG:
                typer.echo(drawing.svg(shown), nl=False)
    for note in shown.notes:
        say(f"note: {note.where}: {note.message}")


def _print(shown: GetGraphResponse) -> None:
    out = console()
    tree = Tree(Text(named(shown)))
    nodes = {node.module: node for node in shown.nodes}
    served = {edge.provider for node in shown.nodes for edge in node.edges if edge.provider}
    told: set[str] = set()
    for module, node in nodes.items():
        if module not in served:
            _branch(tree, node, nodes, told)
    out.print(tree, soft_wrap=True)


def _branch(
    tree: Tree, node: GraphNode, nodes: dict[str, GraphNode], told: set[str], edge: GraphEdge | None = None
) -> None:
    """A module with what it stands on; told in full once, and named where it comes again."""
    label = Text.assemble(
        *([f"{edge.service}@{edge.major} → "] if edge is not None else []),
        (node.module, "bold"),
        " ",
        styled(node.state),
        f" ({edge.source})" if edge is not None else "",
    )
    if node.module in told:
        if node.edges:
            label.append(" …")
        tree.add(label)
        return
    told.add(node.module)
    if node.reason:
        label.append(printable(f": {node.reason}"))
    branch = tree.add(label)
    for provided in node.provides:
        branch.add(Text(f"provides {provided}", "dim"))
    for each in node.edges:
        if each.provider:
            _branch(branch, nodes[each.provider], nodes, told, each)
        else:
            branch.add(Text(printable(f"{each.service}@{each.major} → nobody: {each.code}: {each.message}")))
    for other in node.after:
        branch.add(Text(f"starts after {other}", "dim"))


def _json(shown: GetGraphResponse) -> dict[str, Any]:
    return {
        "generation": {"id": shown.generation.id, "state": shown.generation.state}
        if shown.generation.id
        else None,
        "modules": [
            {
                "id": node.module,
                "state": node.state,
                "source": node.source,
                "error": {"code": node.reason_code, "message": node.reason} if node.reason else None,
                "provides": list(node.provides),
                "after": list(node.after),
                "bindings": [_edge(edge) for edge in node.edges],
            }
            for node in shown.nodes
        ],
        "services": [
            {
                "service": each.service,
                "major": each.major,
                "version": each.version or None,
                "provider": each.provider or None,
                "source": each.source or None,
                "error": None if each.provider else {"code": each.code, "message": each.message},
                "overridden": steps_json(each.overridden),
            }
            for each in shown.services
        ],
        "notes": [{"where": note.where, "message": note.message} for note in shown.notes],
    }


def _edge(edge: GraphEdge) -> dict[str, Any]:
    return {
        "service": edge.service,
        "major": edge.major,
        "provider": edge.provider or None,
        "source": edge.source or None,
        "optional": edge.optional,
        "local": edge.local,
        "error": None if edge.provider else {"code": edge.code, "message": edge.message},
        "overridden": steps_json(edge.overridden),
    }
