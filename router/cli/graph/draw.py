"""`wuu-mesh graph`: the modules, the services and the bindings of a mesh, or of a composition."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import typer

from router.cli.answer import emit
from router.cli.composition.named import accepted
from router.cli.exits import EXIT_USAGE, explained, fail, say
from router.cli.explain import steps_json
from router.cli.graph.dot import dot
from router.cli.graph.drawing import drawing
from router.cli.graph.form import Form
from router.cli.graph.mermaid import mermaid
from router.cli.graph.picture import named, picture
from router.cli.graph.svg import svg
from router.cli.graph.tree import tree
from router.cli.terminal import PIPE_WIDTH, console, printable
from router.home import Home
from wuu.mesh.v1.control_pb2 import GetGraphResponse
from wuu.mesh.v1.graph_pb2 import GraphEdge

_WRITTEN = {Form.MERMAID: mermaid, Form.DOT: dot, Form.SVG: svg}


def draw(root: Path | None, composition: Path | None, form: Form, *, json: bool) -> None:
    """Draws the graph of a mesh, or of a composition."""
    if json and form is not Form.TEXT:
        fail(EXIT_USAGE, f"--json and --format {form} exclude each other", "Leave one of them out.")
    with explained(), accepted(json=json):
        shown = picture(Home.at(root), composition)
        title = printable(named(shown, composition)).replace("\n", " ")
        if json:
            emit(_json(shown))
        elif form is Form.TEXT:
            out = console()
            # A line that is too long for a terminal goes on below: nothing is cut off.
            out.width = PIPE_WIDTH
            out.print(tree(shown, title), soft_wrap=True)
        else:
            # A drawing is UTF-8 whatever the terminal is.
            typer.echo(_WRITTEN[form](drawing(shown, title)).encode(), nl=False)
    for note in shown.notes:
        say(f"note: {note.where}: {note.message}")


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
