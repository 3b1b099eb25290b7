"""DOT: a drawing in the language of Graphviz."""

from __future__ import annotations

from collections.abc import Iterator

from router.cli.graph.drawing import Drawing, Line, Vertex

_COLOURS = {"good": "#2e7d32", "waiting": "#b26a00", "bad": "#c62828", "off": "#757575"}
"""Colours that can be read on white and on black."""

_GREY = "#757575"

_STYLES = {"requires": "solid", "optional": "dashed", "serves": "solid", "after": "dotted"}


def dot(drawn: Drawing) -> str:
    """The drawing in the language of Graphviz."""
    return "\n".join(_dot(drawn)) + "\n"


def _dot(drawn: Drawing) -> Iterator[str]:
    yield "digraph mesh {"
    yield f'    graph [rankdir=TB, bgcolor="transparent", fontname="sans-serif", fontcolor="{_GREY}"];'
    yield f'    node [shape=box, style=rounded, fontname="sans-serif", color="{_GREY}", fontcolor="{_GREY}"];'
    yield f'    edge [color="{_GREY}"];'
    yield f"    label={_quoted(drawn.title)}; labelloc=t;"
    names = [_name(index, vertex) for index, vertex in enumerate(drawn.vertices)]
    for name, vertex in zip(names, drawn.vertices, strict=True):
        label = _quoted("\n".join((vertex.name, vertex.below)))
        yield f"    {name} [label={label}, {_look(vertex)}];"
    for line in drawn.lines:
        stroke = f"{_stroke(line)}, edgetooltip={_quoted(line.told)}"
        yield f"    {names[line.start]} -> {names[line.end]} [{stroke}];"
    yield "}"


def _name(index: int, vertex: Vertex) -> str:
    # A module goes by its id; no id has a blank.
    return _quoted(vertex.name if vertex.kind == "module" else f"{vertex.name} {index}")


def _look(vertex: Vertex) -> str:
    tip = f"tooltip={_quoted(vertex.told)}"
    match vertex.kind:
        case "module":
            colour = _COLOURS[vertex.mood]
            return f'color="{colour}", fontcolor="{colour}", {tip}'
        case "service":
            return f"shape=plain, {tip}"
        case "missing":
            return f'shape=plain, fontcolor="{_COLOURS["bad"]}", {tip}'


def _stroke(line: Line) -> str:
    drawn = f"style={_STYLES[line.kind]}"
    if line.local:
        drawn += ", penwidth=2"
    return f"{drawn}, arrowhead=none" if line.kind == "after" else drawn


def _quoted(text: str) -> str:
    r"""A string of DOT: within quotes only those, backslashes and line breaks mean something."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'
