"""Terminal: lines and tables for people, also where something else stands in its place.

What draws them is imported where something is drawn: it takes as long to load as an answer in JSON.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

PIPE_WIDTH = 100_000
"""Columns of what is no terminal: nothing is cut or folded for it."""

STYLES = {
    "active": "green",
    "starting": "yellow",
    "blocked": "red",
    "failed": "red",
    "degraded": "yellow",
    "building": "yellow",
    "committed": "yellow",
    "retained": "yellow",
    "closing": "yellow",
    "dropped": "red",
    "lost": "red",
    "cancelled": "yellow",
    "declaration unknown": "yellow",
}


def console(*, stderr: bool = False) -> Console:
    """Where tables and lines go. What modules say is printed as it stands, never read as markup."""
    from rich.console import Console

    made = Console(stderr=stderr, highlight=False, markup=False, emoji=False)
    if not made.is_terminal:
        made.width = PIPE_WIDTH
    return made


def table(*columns: str) -> Table:
    """A table without lines whose cells fold where the terminal is too narrow."""
    from rich.table import Table

    made = Table(box=None, pad_edge=False)
    for column in columns:
        made.add_column(column, overflow="fold")
    return made


def print_table(out: Console, rows: Table) -> None:
    """Prints a table; without a terminal, also without the blanks behind a line that a pager would fold."""
    if out.is_terminal:
        out.print(rows)
        return
    with out.capture() as captured:
        out.print(rows)
    for line in captured.get().splitlines():
        out.print(line.rstrip(), soft_wrap=True)


def printable(text: str) -> str:
    """What a module said, without what a terminal would obey."""
    return "".join(
        each if each.isprintable() or each in "\n\t" else "\N{REPLACEMENT CHARACTER}" for each in text
    )


def styled(state: str) -> Text:
    """A state in its colour."""
    from rich.text import Text

    return Text(state, STYLES.get(state, ""))
