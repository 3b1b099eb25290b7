"""Layout: where boxes stand and lines run, from top to bottom. Pure, and the same for the same graph.

Source: Sugiyama, Tagawa, Toda, *Methods for visual understanding of hierarchical system structures* (1981):
rows, an order in each that crosses few lines, then places. What passes a row has a lane in it, and lines with
one destination share their lanes, so that dense graphs stay small.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from heapq import heapify, heappop, heappush
from itertools import pairwise
from math import sqrt

MARGIN = 24.0
_GAP = 20.0
"""Between two boxes of a row, in pixels; a lane is so wide, too."""
_BETWEEN = 52.0
"""Between two rows."""
_ROW = 1400.0
"""What a row may take before a next one is begun, at least."""
_SWEEPS = 8
_STRAIGHT = 4.0
"""How much more a lane counts than a box: a line should bend at its ends."""

Point = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Box:
    """How large something is, in pixels."""

    width: float
    height: float


@dataclass(frozen=True, slots=True)
class Layout:
    """Where everything is, in pixels from the upper left corner."""

    centres: tuple[Point, ...]
    """The centre of each box."""
    routes: tuple[tuple[Point, ...], ...]
    """Of each line the points that it goes through, from below its start to above its end."""
    width: float
    height: float


def layout(boxes: Sequence[Box], lines: Sequence[tuple[int, int]]) -> Layout:
    """Places boxes, and lines between pairs of them by their indexes."""
    row_of = _rows(boxes, lines)
    sized = list(boxes)
    lanes: dict[tuple[int, int], int] = {}
    paths = [_path(start, end, row_of, sized, lanes) for start, end in lines]
    steps = sorted({step for path in paths for step in pairwise(path)})
    above: list[list[int]] = [[] for _ in sized]
    below: list[list[int]] = [[] for _ in sized]
    for upper, lower in steps:
        if row_of[upper] < row_of[lower]:
            above[lower].append(upper)
            below[upper].append(lower)
    rows: list[list[int]] = [[] for _ in range(max(row_of, default=-1) + 1)]
    for vertex, row in enumerate(row_of):
        rows[row].append(vertex)
    _order(rows, above, below)
    weights = [1.0] * len(boxes) + [_STRAIGHT] * (len(sized) - len(boxes))
    across = _across(rows, above, below, sized, weights)
    left = min((x - box.width / 2 for x, box in zip(across, sized, strict=True)), default=0.0)
    tops, heights, down = [], [], MARGIN
    for each in rows:
        tops.append(down)
        heights.append(max(sized[vertex].height for vertex in each))
        down += heights[-1] + _BETWEEN
    x = [round(place - left + MARGIN, 1) for place in across]
    y = [tops[row] + heights[row] / 2 for row in row_of]
    routes: list[tuple[Point, ...]] = []
    for path in paths:
        start, *passed, end = path
        points = [(x[start], y[start] + sized[start].height / 2)]
        for lane in passed:
            top = tops[row_of[lane]]
            points += [(x[lane], top), (x[lane], top + heights[row_of[lane]])]
        points.append((x[end], y[end] - sized[end].height / 2))
        routes.append(tuple(points))
    right = max((at + box.width / 2 for at, box in zip(x, sized, strict=True)), default=MARGIN)
    bottom = down - _BETWEEN if rows else MARGIN
    centres = tuple(zip(x[: len(boxes)], y[: len(boxes)], strict=True))
    return Layout(centres, tuple(routes), right + MARGIN, bottom + MARGIN)


def _rows(boxes: Sequence[Box], lines: Sequence[tuple[int, int]]) -> list[int]:
    """The row of each box: below all that leads to it, near what it leads to, where there is room."""
    ends: list[list[int]] = [[] for _ in boxes]
    starts: list[list[int]] = [[] for _ in boxes]
    for start, end in dict.fromkeys(lines):
        ends[start].append(end)
        starts[end].append(start)
    room = max(_ROW, 1.5 * sqrt(sum((box.width + _GAP) * (box.height + _BETWEEN) for box in boxes)))
    taken: list[float] = []
    rows = [-1] * len(boxes)

    def fits(vertex: int, row: int) -> bool:
        taken.extend([0.0] * (row + 1 - len(taken)))
        return taken[row] == 0 or taken[row] + boxes[vertex].width + _GAP <= room

    def put(vertex: int, row: int) -> None:
        rows[vertex] = row
        taken[row] += boxes[vertex].width + _GAP

    joined = [vertex for vertex in range(len(boxes)) if starts[vertex] or ends[vertex]]
    ordered = list(_ordered(joined, starts, ends))
    for vertex in ordered:
        row = max((rows[start] for start in starts[vertex]), default=-1) + 1
        while not fits(vertex, row):
            row += 1
        put(vertex, row)
    for vertex in reversed(ordered):
        nearest = min((rows[end] for end in ends[vertex]), default=0) - 1
        for row in range(nearest, rows[vertex], -1):
            if fits(vertex, row):
                taken[rows[vertex]] -= boxes[vertex].width + _GAP
                put(vertex, row)
                break
    row = len(taken)
    for vertex in range(len(boxes)):
        if rows[vertex] < 0:
            while not fits(vertex, row):
                row += 1
            put(vertex, row)
    used = {row: index for index, row in enumerate(sorted(set(rows)))}
    return [used[row] for row in rows]


def _ordered(
    joined: Sequence[int], starts: Sequence[Sequence[int]], ends: Sequence[Sequence[int]]
) -> Iterable[int]:
    """Starts before ends. Where lines run in a circle it is entered at the lowest index."""
    missing = {vertex: len(starts[vertex]) for vertex in joined}
    free = [vertex for vertex in joined if not missing[vertex]]
    heapify(free)
    while missing:
        vertex = heappop(free) if free else min(missing)
        if missing.pop(vertex, None) is None:
            continue
        yield vertex
        for end in ends[vertex]:
            if end in missing:
                missing[end] -= 1
                if not missing[end]:
                    heappush(free, end)


def _path(
    start: int, end: int, row_of: list[int], sized: list[Box], lanes: dict[tuple[int, int], int]
) -> list[int]:
    """What a line goes through, with a lane in every row between; lanes that are new are added."""
    path = [start]
    for row in range(row_of[start] + 1, row_of[end]):
        if (end, row) not in lanes:
            lanes[end, row] = len(sized)
            sized.append(Box(0.0, 0.0))
            row_of.append(row)
        path.append(lanes[end, row])
    return [*path, end]


def _order(rows: list[list[int]], above: Sequence[Sequence[int]], below: Sequence[Sequence[int]]) -> None:
    """Orders each row by where the neighbours of its boxes stand on average."""
    at: dict[int, float] = {}
    for row in rows:
        at.update((vertex, index / len(row)) for index, vertex in enumerate(row))
    for sweep in range(_SWEEPS):
        neighbours, passed = (above, rows) if sweep % 2 == 0 else (below, rows[::-1])
        for row in passed:
            average = {vertex: _mean([at[each] for each in neighbours[vertex]], at[vertex]) for vertex in row}
            row.sort(key=average.__getitem__)
            at.update((vertex, index / len(row)) for index, vertex in enumerate(row))


def _across(
    rows: Sequence[Sequence[int]],
    above: Sequence[Sequence[int]],
    below: Sequence[Sequence[int]],
    sized: Sequence[Box],
    weights: Sequence[float],
) -> list[float]:
    """How far from the left the centre of each box is: near its neighbours, none upon another."""
    x = [0.0] * len(sized)
    for sweep in range(_SWEEPS + 1):
        neighbours, passed = (above, rows) if sweep % 2 == 0 else (below, rows[::-1])
        for row in passed:
            wished = [_mean([x[each] for each in neighbours[vertex]], x[vertex]) for vertex in row]
            for vertex, place in zip(row, _settled(row, wished, sized, weights), strict=True):
                x[vertex] = place
    return x


def _settled(
    row: Sequence[int], wished: Sequence[float], sized: Sequence[Box], weights: Sequence[float]
) -> list[float]:
    """The places nearest to those that are wished (least squares) that keep the order and the gaps.

    Without what the boxes and gaps before them take, places only have to ascend: neighbours that do not are
    pooled (isotonic regression).
    """
    offsets: list[float] = []
    blocks: list[tuple[float, float, int]] = []  # the place, the weight, how many
    for index, vertex in enumerate(row):
        width = sized[vertex].width
        offsets.append(offsets[-1] + (sized[row[index - 1]].width + width) / 2 + _GAP if index else 0.0)
        place, weight, count = wished[index] - offsets[index], weights[vertex], 1
        while blocks and blocks[-1][0] >= place:
            other, heft, more = blocks.pop()
            place = (place * weight + other * heft) / (weight + heft)
            weight, count = weight + heft, count + more
        blocks.append((place, weight, count))
    spread = [place for place, _, count in blocks for _ in range(count)]
    return [place + offset for place, offset in zip(spread, offsets, strict=True)]


def _mean(places: Sequence[float], otherwise: float) -> float:
    return sum(places) / len(places) if places else otherwise
