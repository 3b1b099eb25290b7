"""What a command reads from its terminal, and what it writes there."""

from __future__ import annotations

import os
import sys
from typing import Any

import msgspec
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
    "declaration unknown": "yellow",
}


def console(*, stderr: bool = False) -> Console:
    """Where tables and lines go. What modules say is printed as it stands, never read as markup."""
    made = Console(stderr=stderr, highlight=False, markup=False, emoji=False)
    if not made.is_terminal:
        made.width = PIPE_WIDTH
    return made


def table(*columns: str) -> Table:
    """A table without lines whose cells fold where the terminal is too narrow."""
    made = Table(box=None, pad_edge=False)
    for column in columns:
        made.add_column(column, overflow="fold")
    return made


def styled(state: str) -> Text:
    """A state in its colour."""
    return Text(state, STYLES.get(state, ""))


def emit(value: Any) -> None:
    """One JSON value on standard output, laid out."""
    _write(msgspec.json.format(msgspec.json.encode(value), indent=2))


def emit_json(text: bytes) -> None:
    """JSON text on standard output: laid out for a terminal, byte for byte for anything else."""
    _write(msgspec.json.format(text, indent=2) if sys.stdout.isatty() else text)


def _write(text: bytes) -> None:
    sys.stdout.buffer.write(text + b"\n")
    sys.stdout.buffer.flush()


def read_argument(argument: str) -> bytes:
    """A JSON argument, in the bytes that were typed; `-` reads standard input."""
    return sys.stdin.buffer.read() if argument == "-" else os.fsencode(argument)
