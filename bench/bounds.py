"""Bounds: what figures must reach, and how that is shown."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Generic

from rich.table import Table

from bench.benchmark import Figures


@dataclass(frozen=True, slots=True)
class Bound(Generic[Figures]):
    """What a figure must reach."""

    what: str
    of: Callable[[Figures], float | None]
    """None: what it is compared with is not installed."""
    limit: float
    unit: str = ""
    at_least: bool = False


def bounds(of: Sequence[Bound[Figures]], figures: Figures) -> Table:
    """Each figure beside its bound."""
    table = Table("", "measured", "bound", "", box=None, pad_edge=False)
    for bound in of:
        value = bound.of(figures)
        limit = f"{'≥' if bound.at_least else '≤'} {bound.limit:g} {bound.unit}"
        if value is None:
            table.add_row(bound.what, "not installed", limit, "")
            continue
        holds = value >= bound.limit if bound.at_least else value <= bound.limit
        told = "[green]holds[/]" if holds else "[red]does not hold[/]"
        table.add_row(bound.what, f"{value:g} {bound.unit}", limit, told)
    return table
