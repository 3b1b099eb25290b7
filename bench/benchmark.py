"""A benchmark: a name, and what measures and shows it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

import msgspec
from rich.console import Console, RenderableType

Say = Callable[[str], None]
"""Tells how far a benchmark is: one line for people."""


Figures = TypeVar("Figures", bound=msgspec.Struct)
"""What a benchmark measured; `--json` prints its fields."""


@dataclass(frozen=True, slots=True)
class Benchmark(Generic[Figures]):
    """One file of `bench/` that measures something."""

    name: str
    """What `./mesh bench NAME` calls it."""
    summary: str
    """One line for the list."""
    measure: Callable[[bool, Say], Figures]
    """Takes the measurements. The first argument asks for few of them, which say little but come soon."""
    show: Callable[[Figures], RenderableType]
    """The figures for people, each beside the bound that it must reach."""


class Failed(Exception):
    """A measurement that could not be taken, and why."""


def progress() -> Say:
    """Progress on standard error."""
    console = Console(stderr=True, highlight=False)
    return lambda line: console.print(line, style="dim", soft_wrap=True)
