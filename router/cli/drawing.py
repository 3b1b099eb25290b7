"""Drawing: a graph as text in the languages of Mermaid and Graphviz, and as SVG.

Consumers stand above their providers. A service that everybody gets by one choice, and a module's own choice,
are told apart; what somebody lacks is drawn as missing.
"""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator
from enum import StrEnum

from contract.errors import MeshError
from wuu.mesh.v1.control_pb2 import GetGraphResponse, GraphEdge, GraphNode


class Form(StrEnum):
    """A form of drawing."""

    TEXT = "text"
    MERMAID = "mermaid"
    DOT = "dot"
    SVG = "svg"


_COLOURS = {"active": "#2e7d32", "ready": "#2e7d32", "blocked": "#c62828", "failed": "#c62828"}
_OTHER = "#757575"
"""Colours that can be read on white and on black."""


def mermaid(picture: GetGraphResponse) -> str:
    """The graph as a Mermaid flowchart."""
    return "\n".join(_mermaid(picture)) + "\n"


def _mermaid(picture: GetGraphResponse) -> Iterator[str]:
    names = _names(picture)
    if picture.generation.id:
        yield "---"
        yield f"title: generation {picture.generation.id} {picture.generation.state}"
        yield "---"
    yield "flowchart TB"
    for node in picture.nodes:
        yield f'    {names[node.module]}["{_html(node.module)}<br/>{_html(node.state)}"]'
    for node, edge in _edges(picture):
        arrow = "==>" if edge.local else "-->"
        if edge.optional:
            arrow = "-.->"
        label = _html(f"{edge.service}@{edge.major}")
        if edge.provider:
            yield f'    {names[node.module]} {arrow}|"{label}"| {names[edge.provider]}'
        else:
            missing = f"{names[node.module]}_{_plain(edge)}"
            yield f'    {missing}(["nobody<br/>{_html(edge.code)}"])'
            yield f'    {names[node.module]} {arrow}|"{label}"| {missing}'
    for node in picture.nodes:
        for other in node.after:
            yield f"    {names[node.module]} ~~~ {names[other]}"
    for state, colour in sorted({node.state: _colour(node.state) for node in picture.nodes}.items()):
        yield f"    classDef {_word(state)} stroke:{colour}"
        marked = ",".join(names[node.module] for node in picture.nodes if node.state == state)
        yield f"    class {marked} {_word(state)}"


def dot(picture: GetGraphResponse) -> str:
    """The graph in the language of Graphviz."""
    return "\n".join(_dot(picture)) + "\n"


def _dot(picture: GetGraphResponse) -> Iterator[str]:
    yield "digraph mesh {"
    yield '    graph [rankdir=TB, bgcolor="transparent", fontname="sans-serif", fontcolor="#757575"];'
    yield '    node [shape=box, style=rounded, fontname="sans-serif"];'
    yield '    edge [fontname="sans-serif", fontsize=10, color="#757575", fontcolor="#757575"];'
    if picture.generation.id:
        title = f"generation {picture.generation.id} {picture.generation.state}"
        yield f"    label={_quoted(title)}; labelloc=t;"
    for node in picture.nodes:
        colour = _colour(node.state)
        label = f"{node.module}\n{node.state}"
        tip = node.reason or node.source
        yield (
            f"    {_quoted(node.module)} [label={_quoted(label)}, color={_quoted(colour)}, "
            f"fontcolor={_quoted(colour)}, tooltip={_quoted(tip)}];"
        )
    for node, edge in _edges(picture):
        style = "dashed" if edge.optional else "bold" if edge.local else "solid"
        label = f"{edge.service}@{edge.major}"
        target = _quoted(edge.provider)
        if not edge.provider:
            target = _quoted(f"{node.module} lacks {label}")
            lack, tip = _quoted(f"nobody\n{edge.code}"), _quoted(edge.message)
            yield f"    {target} [label={lack}, shape=plain, tooltip={tip}];"
        yield (
            f"    {_quoted(node.module)} -> {target} "
            f"[label={_quoted(label)}, style={style}, tooltip={_quoted(edge.source or edge.message)}];"
        )
    for node in picture.nodes:
        for other in node.after:
            yield (
                f"    {_quoted(node.module)} -> {_quoted(other)} "
                '[style=dotted, arrowhead=none, tooltip="its package depends on it"];'
            )
    yield "}"


def svg(picture: GetGraphResponse) -> str:
    """The graph drawn by Graphviz. Raises `host_error` where that is not installed, or fails."""
    program = shutil.which("dot")
    remedy = "Install Graphviz (`apt-get install graphviz`), or take --format dot to where it is."
    if program is None:
        raise MeshError("host_error", "Graphviz draws the SVG, and there is no `dot` on PATH", remedy=remedy)
    drawn = subprocess.run([program, "-Tsvg"], input=dot(picture).encode(), capture_output=True, check=False)
    if drawn.returncode != 0:
        said = drawn.stderr.decode("utf-8", "replace").strip()
        raise MeshError("host_error", f"`dot` ended with {drawn.returncode}: {said}", remedy=remedy)
    return drawn.stdout.decode()


def _edges(picture: GetGraphResponse) -> Iterator[tuple[GraphNode, GraphEdge]]:
    for node in picture.nodes:
        for edge in node.edges:
            yield node, edge


def _names(picture: GetGraphResponse) -> dict[str, str]:
    """Names that Mermaid takes, by module: ids have dots and dashes, and some are its own words."""
    return {node.module: f"m{index}" for index, node in enumerate(picture.nodes)}


def _colour(state: str) -> str:
    return _COLOURS.get(state, _OTHER)


def _plain(edge: GraphEdge) -> str:
    return "".join(c if c.isalnum() else "_" for c in f"{edge.service}_{edge.major}")


def _word(state: str) -> str:
    return state.replace(" ", "_")


def _html(text: str) -> str:
    escaped = {"&": "&amp;", '"': "&quot;", "<": "&lt;", ">": "&gt;"}
    return "".join(escaped.get(each, each) for each in text)


def _quoted(text: str) -> str:
    r"""A string of DOT: within quotes only those, backslashes and line breaks mean something."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'
