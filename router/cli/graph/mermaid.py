"""Mermaid: a drawing as a flowchart, which many pages show where its text stands in them."""

from __future__ import annotations

from collections.abc import Iterator

from router.cli.graph.drawing import Drawing, Line, Vertex

_CLASSES = {
    "good": "stroke:#2e7d32,stroke-width:2px",
    "waiting": "stroke:#b26a00,stroke-width:2px",
    "bad": "stroke:#c62828,stroke-width:2px",
    "off": "stroke:#757575",
    "missing": "stroke:#c62828,stroke-dasharray:4",
}


def mermaid(drawn: Drawing) -> str:
    """The drawing in the language of Mermaid. Its names are numbered: ids may be words of Mermaid."""
    return "\n".join(_mermaid(drawn)) + "\n"


def _mermaid(drawn: Drawing) -> Iterator[str]:
    yield "---"
    yield f"title: {_yaml(drawn.title)}"
    yield "---"
    yield "flowchart TB"
    for index, vertex in enumerate(drawn.vertices):
        yield f"    v{index}{_shape(vertex)}"
    for line in drawn.lines:
        yield f"    v{line.start} {_arrow(line)} v{line.end}"
    marked: dict[str, list[str]] = {}
    for index, vertex in enumerate(drawn.vertices):
        if vertex.kind != "service":
            marked.setdefault("missing" if vertex.kind == "missing" else vertex.mood, []).append(f"v{index}")
    for name, members in sorted(marked.items()):
        yield f"    classDef {name} {_CLASSES[name]}"
        yield f"    class {','.join(members)} {name}"


def _shape(vertex: Vertex) -> str:
    label = f'"{_text(vertex.name)}<br/>{_text(vertex.below)}"'
    return f"[{label}]" if vertex.kind == "module" else f"([{label}])"


def _arrow(line: Line) -> str:
    match line.kind:
        case "requires":
            return "==>" if line.local else "-->"
        case "optional":
            return '-. "for it alone" .->' if line.local else "-.->"
        case "serves":
            return "-->"
        case "after":
            return '-. "starts after" .-'


def _text(text: str) -> str:
    """Text within quotes: what Mermaid or the page would take for its own is written as a number."""
    return "".join(f"#{ord(each)};" if each in '"<>&#`\\' else each for each in text)


def _yaml(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"
