"""A layout: boxes never lie upon each other, and every line goes from its start to its end."""

from __future__ import annotations

from itertools import combinations, pairwise

from hypothesis import given
from hypothesis import strategies as st

from router.cli.graph.layout import Box, layout

Graph = tuple[list[Box], list[tuple[int, int]]]


@st.composite
def graphs(draw: st.DrawFn, *, ascending: bool = False) -> Graph:
    """Boxes and lines between them, which may run in circles if they need not ascend."""
    sizes = st.tuples(st.integers(1, 400), st.integers(1, 80))
    boxes = [Box(*map(float, size)) for size in draw(st.lists(sizes, max_size=24))]
    if len(boxes) < 2:
        return boxes, []
    ends = st.tuples(st.integers(0, len(boxes) - 1), st.integers(0, len(boxes) - 1))
    lines = draw(st.lists(ends.filter(lambda line: line[0] != line[1]), max_size=48))
    return boxes, [(min(line), max(line)) if ascending else line for line in lines]


@given(graphs())
def test_no_box_lies_upon_another_and_all_are_on_the_page(graph: Graph) -> None:
    boxes, lines = graph
    placed = layout(boxes, lines)
    both = list(zip(boxes, placed.centres, strict=True))
    for (one, (x, y)), (other, (to_x, to_y)) in combinations(both, 2):
        beside = abs(x - to_x) >= (one.width + other.width) / 2
        below = abs(y - to_y) >= (one.height + other.height) / 2
        assert beside or below
    for box, (x, y) in both:
        assert x - box.width / 2 >= 0
        assert x + box.width / 2 <= placed.width
        assert y - box.height / 2 >= 0
        assert y + box.height / 2 <= placed.height


@given(graphs())
def test_a_line_goes_from_below_its_start_to_above_its_end(graph: Graph) -> None:
    boxes, lines = graph
    placed = layout(boxes, lines)
    for (start, end), route in zip(lines, placed.routes, strict=True):
        (x, y), (to_x, to_y) = placed.centres[start], placed.centres[end]
        assert route[0] == (x, y + boxes[start].height / 2)
        assert route[-1] == (to_x, to_y - boxes[end].height / 2)


@given(graphs(ascending=True))
def test_without_circles_every_line_runs_downwards(graph: Graph) -> None:
    for route in layout(*graph).routes:
        assert all(y <= to_y for (_, y), (_, to_y) in pairwise(route))


@given(graphs())
def test_the_same_graph_is_placed_the_same(graph: Graph) -> None:
    assert layout(*graph) == layout(*graph)
