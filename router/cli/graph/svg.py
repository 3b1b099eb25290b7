"""SVG: a drawing as an image, which any browser shows. What is told of a box or a line is its title."""

from __future__ import annotations

from itertools import pairwise
from xml.etree import ElementTree

from rich.cells import cell_len

from router.cli.graph.drawing import Drawing, Line, Vertex
from router.cli.graph.layout import MARGIN, Box, Layout, Point, layout

_COLUMN = 7.4
"""The width of a character of the font, in pixels: monospaced ones differ by a tenth of it."""
_LINE = 17.0
_PADDING = 10.0
_HEAD = 40.0
"""What the title takes."""

_STYLE = """
text { font: 12px ui-monospace, "DejaVu Sans Mono", Menlo, Consolas, monospace; text-anchor: middle }
text { fill: #1f2328 }
.title { font-size: 14px; text-anchor: start }
.below { fill: #59636e }
.page { fill: #ffffff }
.box { fill: #f6f8fa; stroke-width: 1.5 }
.good { stroke: #1a7f37 } .waiting { stroke: #9a6700 } .bad { stroke: #cf222e } .off { stroke: #818b98 }
.service { fill: #ffffff; stroke: none }
.missing { fill: #ffffff; stroke: #cf222e; stroke-dasharray: 4 3 }
.line { fill: none; stroke: #59636e }
.head { fill: #59636e }
.local { stroke-width: 2.5 }
.optional { stroke-dasharray: 6 4 }
.after { stroke-dasharray: 1 4 }
@media (prefers-color-scheme: dark) {
text { fill: #e6edf3 }
.below { fill: #9198a1 }
.page, .service, .missing { fill: #0d1117 }
.box { fill: #161b22 }
.good { stroke: #3fb950 } .waiting { stroke: #d29922 } .off { stroke: #656c76 }
.bad, .missing { stroke: #f85149 }
.line { stroke: #9198a1 }
.head { fill: #9198a1 }
}
"""
"""It brings a background of its own, so that it can be read whatever it is shown on."""


def svg(drawn: Drawing) -> str:
    """The drawing as SVG: well-formed XML, and the same for the same drawing."""
    boxes = [_box(vertex) for vertex in drawn.vertices]
    placed = layout(boxes, [(line.start, line.end) for line in drawn.lines])
    width = max(placed.width, cell_len(drawn.title) * _COLUMN * 1.2 + 2 * MARGIN)
    root = _root(drawn, width, placed.height + _HEAD)
    moved = ElementTree.SubElement(root, "g", transform=f"translate(0 {_number(_HEAD)})")
    _lines(moved, drawn, placed)
    for vertex, box, centre in zip(drawn.vertices, boxes, placed.centres, strict=True):
        _vertex(moved, vertex, box, centre)
    ElementTree.indent(root, " ")
    return ElementTree.tostring(root, encoding="unicode") + "\n"


def _root(drawn: Drawing, width: float, height: float) -> ElementTree.Element:
    size = {"width": _number(width), "height": _number(height)}
    view = f"0 0 {size['width']} {size['height']}"
    root = ElementTree.Element(
        "svg", {"xmlns": "http://www.w3.org/2000/svg", **size, "viewBox": view, "role": "img"}
    )
    ElementTree.SubElement(root, "title").text = drawn.title
    ElementTree.SubElement(root, "style").text = _STYLE
    marks = ElementTree.SubElement(root, "defs")
    mark = {"viewBox": "0 0 8 8", "refX": "7", "refY": "4", "markerWidth": "8", "markerHeight": "8"}
    units = {"markerUnits": "userSpaceOnUse", "orient": "auto"}
    head = ElementTree.SubElement(marks, "marker", {"id": "head", **mark, **units})
    ElementTree.SubElement(head, "path", {"class": "head", "d": "M0 0 8 4 0 8z"})
    ElementTree.SubElement(root, "rect", {"class": "page", **size})
    at = {"x": _number(MARGIN), "y": _number(_HEAD - 12)}
    ElementTree.SubElement(root, "text", {"class": "title", **at}).text = drawn.title
    return root


def _box(vertex: Vertex) -> Box:
    columns = max(cell_len(vertex.name), cell_len(vertex.below))
    return Box(columns * _COLUMN + 2 * _PADDING, 2 * _LINE + _PADDING)


def _vertex(parent: ElementTree.Element, vertex: Vertex, box: Box, centre: Point) -> None:
    x, y = centre
    group = ElementTree.SubElement(parent, "g")
    ElementTree.SubElement(group, "title").text = vertex.told
    look = f"box {vertex.mood}" if vertex.kind == "module" else vertex.kind
    corner = {"x": _number(x - box.width / 2), "y": _number(y - box.height / 2)}
    size = {"width": _number(box.width), "height": _number(box.height), "rx": "6"}
    ElementTree.SubElement(group, "rect", {"class": look, **corner, **size})
    for kind, said, down in (("name", vertex.name, -4.0), ("below", vertex.below, _LINE - 4)):
        at = {"class": kind, "x": _number(x), "y": _number(y + down)}
        ElementTree.SubElement(group, "text", at).text = said


def _lines(parent: ElementTree.Element, drawn: Drawing, placed: Layout) -> None:
    for line, route in zip(drawn.lines, placed.routes, strict=True):
        attributes = {"class": _look(line), "d": _curve(route)}
        if line.kind != "after":
            attributes["marker-end"] = "url(#head)"
        path = ElementTree.SubElement(parent, "path", attributes)
        ElementTree.SubElement(path, "title").text = line.told


def _look(line: Line) -> str:
    return " ".join(("line", line.kind, *(["local"] if line.local else [])))


def _curve(route: tuple[Point, ...]) -> str:
    """Straight along a lane, and bent between two rows."""
    parts = [f"M{_number(route[0][0])} {_number(route[0][1])}"]
    for (x, y), (to_x, to_y) in pairwise(route):
        if x == to_x:
            parts.append(f"V{_number(to_y)}")
        else:
            middle = _number((y + to_y) / 2)
            parts.append(f"C{_number(x)} {middle} {_number(to_x)} {middle} {_number(to_x)} {_number(to_y)}")
    return "".join(parts)


def _number(value: float) -> str:
    return f"{value:.1f}".removesuffix(".0")
