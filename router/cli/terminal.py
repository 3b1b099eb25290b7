"""What the commands share: options, output and exit codes."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any, NoReturn

import msgspec
import typer

from contract.errors import MeshError
from router.composition.rejected import Rejected

EXIT_ERROR = 1
EXIT_USAGE = 2
EXIT_NO_MESH = 3

HomeOption = Annotated[
    Path | None,
    typer.Option(
        "--home",
        envvar="WUU_MESH_HOME",
        metavar="DIR",
        help="Where the mesh keeps its state. [default: $XDG_STATE_HOME/wuu-mesh]",
        show_default=False,
    ),
]

JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON for programs.")]

CompositionOption = Annotated[
    Path | None,
    typer.Option(
        "-c",
        "--composition",
        metavar="FILE",
        help="The composition. [default: the product's own]",
        show_default=False,
    ),
]


def fail(code: int, message: str, remedy: str = "") -> NoReturn:
    """Says what is wrong on standard error, and ends with an exit code."""
    typer.echo(f"wuu-mesh: {message}", err=True)
    if remedy:
        typer.echo(f"  → {remedy}", err=True)
    raise typer.Exit(code)


@contextmanager
def explained() -> Iterator[None]:
    """Turns what may go wrong in a command into words and an exit code."""
    try:
        yield
    except MeshError as error:
        fail(EXIT_ERROR, f"{error.code}: {error.message}", error.remedy)
    except Rejected as rejected:
        for problem in rejected.problems:
            typer.echo(f"wuu-mesh: {problem}", err=True)
        raise typer.Exit(EXIT_USAGE) from None


def emit(value: Any) -> None:
    """One JSON value on standard output."""
    typer.echo(msgspec.json.format(msgspec.json.encode(value), indent=2).decode())


def emit_json(text: bytes) -> None:
    """JSON text on standard output: laid out for a terminal, byte for byte for anything else."""
    if sys.stdout.isatty():
        text = msgspec.json.format(text, indent=2)
    sys.stdout.buffer.write(text + b"\n")
    sys.stdout.buffer.flush()


def read_argument(argument: str) -> bytes:
    """A JSON argument; `-` reads standard input."""
    return sys.stdin.buffer.read() if argument == "-" else argument.encode()


def modules_completion(incomplete: str) -> list[str]:
    """Shell completion: the modules of the running mesh."""
    return _completed(incomplete, lambda session: [module.id for module in session.status().modules])


def services_completion(incomplete: str) -> list[str]:
    """Shell completion: the services of the running mesh."""
    return _completed(
        incomplete, lambda session: [f"{row.service}@{row.major}" for row in session.status().services]
    )


def _completed(incomplete: str, names: Callable[[Any], list[str]]) -> list[str]:
    from router.cli.session import Session

    try:
        with Session.of(None) as session:
            return sorted({name for name in names(session) if name.startswith(incomplete)})
    except (typer.Exit, MeshError):
        return []
