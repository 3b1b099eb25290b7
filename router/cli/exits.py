"""How a command ends: its exit codes, and what it says on standard error before."""

from __future__ import annotations

import errno
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NoReturn

import typer

from contract.errors import MeshError
from router.cli.given import repeated
from router.cli.terminal import printable
from router.home import Home
from router.unusable import remedy_of

EXIT_ERROR = 1
EXIT_USAGE = 2
EXIT_NO_MESH = 3
EXIT_INTERRUPTED = 130

OUTCOMES = {
    "not_dispatched": "the provider never saw the call",
    "unknown": "the call may have taken effect; check before you repeat it",
}
"""What each outcome of an error means."""


class NoMesh(Exception):
    """No mesh is running in a home."""

    def __init__(self, home: Home) -> None:
        super().__init__(f"no mesh is running in {home.root}")
        self.home = home


def fail(code: int, message: str, remedy: str = "") -> NoReturn:
    """Says what is wrong on standard error, and ends with an exit code."""
    say(message, remedy)
    raise typer.Exit(code)


def say(message: str, remedy: str = "") -> None:
    """Says something on standard error, and what to do about it."""
    typer.echo(f"wuu-mesh: {repeated(printable(message))}", err=True)
    if remedy:
        typer.echo(f"  → {repeated(printable(remedy))}", err=True)


def refuse_file(unusable: OSError) -> NoReturn:
    """Ends the command because of a file or directory that it cannot use; nearly all are of the home."""
    where = f"{unusable.filename}: " if unusable.filename else ""
    remedy = remedy_of(unusable)
    if unusable.errno == errno.ENOENT and not unusable.filename:
        where, remedy = "the current directory: ", "Go to one that exists."
    fail(EXIT_USAGE, f"{where}{unusable.strerror or unusable}", remedy)


@contextmanager
def explained() -> Iterator[None]:
    """Turns what may go wrong in a command into words and an exit code."""
    try:
        yield
    except NoMesh as absent:
        fail(EXIT_NO_MESH, str(absent), "Start one with `wuu-mesh up`, or name its --home.")
    except MeshError as error:
        outcome = f"\n  {error.outcome}: {OUTCOMES[error.outcome]}" if error.outcome in OUTCOMES else ""
        pointer = error.details.get("pointer", "")
        where = "" if error.message.startswith(pointer) else f" at {pointer}"
        fail(EXIT_ERROR, f"{error.code}: {error.message}{where}{outcome}", error.remedy)
    except KeyboardInterrupt:
        raise typer.Exit(EXIT_INTERRUPTED) from None
    except OSError as unusable:
        if unusable.errno == errno.EPIPE:
            # Nobody reads on. Typer ends the command without a word.
            raise
        refuse_file(unusable)
