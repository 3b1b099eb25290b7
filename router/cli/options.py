"""The options that several commands have."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def _directory(named: str) -> Path:
    # An unset variable in a script would otherwise make the current directory a home.
    if not named:
        raise typer.BadParameter("it names no directory")
    return Path(named)


HomeOption = Annotated[
    Path | None,
    typer.Option(
        "--home",
        envvar="WUU_MESH_HOME",
        metavar="DIR",
        parser=_directory,
        help="Where the mesh keeps its state; $XDG_STATE_HOME/wuu-mesh by default.",
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
        help="The composition; the product's own by default.",
        show_default=False,
    ),
]

TimeoutOption = Annotated[
    float | None,
    typer.Option(
        "--timeout",
        metavar="SECONDS",
        min=0.001,
        help="Give up after so long: the call is cancelled, with all that it called. No bound by default.",
        show_default=False,
    ),
]
