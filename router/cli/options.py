"""The options that several commands have."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from router.cli import complete, given
from router.limits import MAX_TIMEOUT


def _directory(named: str) -> Path:
    # An unset variable in a script would otherwise make the current directory a home.
    if not named:
        raise typer.BadParameter("it names no directory")
    return Path(named)


def _remember(context: typer.Context, named: Path | None) -> Path | None:
    source = context.get_parameter_source("home")
    # Completion asks without a command line.
    given.home.set(str(named) if source is not None and source.name == "COMMANDLINE" else "")
    return named


def _file(named: Path | None) -> Path | None:
    if named == Path("-"):
        raise typer.BadParameter("a composition is a file, whose directory its packages are relative to")
    return named


def refuse_arguments(context: typer.Context, composition: Path | None) -> None:
    """For commands that take none: what stands there is most often a composition."""
    if not context.args:
        return
    surplus = " ".join(context.args)
    hint = "" if composition else f"; name a composition with -c {context.args[0]}"
    plural = "s" if len(context.args) > 1 else ""
    context.fail(f"Got unexpected extra argument{plural} ({surplus}){hint}")


HomeOption = Annotated[
    Path | None,
    typer.Option(
        "--home",
        envvar="WUU_MESH_HOME",
        metavar="DIR",
        parser=_directory,
        callback=_remember,
        help="Where the mesh keeps its state; $XDG_STATE_HOME/wuu-mesh by default.",
        show_default=False,
    ),
]

JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON for programs.")]


def _composition(default: str) -> Any:
    return typer.Option(
        "-c",
        "--composition",
        metavar="FILE",
        callback=_file,
        help=f"The composition; {default} by default.",
        show_default=False,
    )


CompositionOption = Annotated[Path | None, _composition("the product's own")]

StartOption = Annotated[
    Path | None, _composition("what was committed last in this home, in a fresh one the product's own,")
]

PictureOption = Annotated[
    Path | None, _composition("what runs, and where nothing does what `up` would find,")
]

FileArgument = Annotated[
    Path | None,
    typer.Argument(
        metavar="FILE",
        callback=_file,
        help="The composition; the files of the one that runs, as they are now, without one.",
        show_default=False,
    ),
]

ServiceArgument = Annotated[
    str,
    typer.Argument(
        metavar="SERVICE",
        help="The service: state.documents@1, or without the major.",
        autocompletion=complete.services,
    ),
]

ModuleArgument = Annotated[
    str, typer.Argument(metavar="MODULE", help="The module.", autocompletion=complete.modules)
]

TimeoutOption = Annotated[
    float | None,
    typer.Option(
        "--timeout",
        metavar="SECONDS",
        min=0.001,
        max=MAX_TIMEOUT,
        help="Give up after so long: the call is cancelled, with all that it called. No bound by default.",
        show_default=False,
    ),
]
