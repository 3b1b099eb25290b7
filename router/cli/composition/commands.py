"""The commands of `wuu-mesh composition`, as they are typed."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from router.cli.options import CompositionOption, HomeOption, JsonOption

composition = typer.Typer(help="Look at compositions, rewrite and trust them.", no_args_is_help=True)

_WorkspaceArgument = Annotated[
    Path | None,
    typer.Argument(
        metavar="DIR", help="The workspace; the current directory without one.", show_default=False
    ),
]


@composition.command()
def show(composition: CompositionOption = None, home: HomeOption = None, json: JsonOption = False) -> None:
    """Show what the files of a composition come to, and which of them said what."""
    from router.cli.composition.show import show

    show(home, composition, json=json)


@composition.command()
def migrate(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="The composition.")],
    check: Annotated[
        bool, typer.Option("--check", help="Only say whether it would be rewritten; then it ends with 1.")
    ] = False,
    json: JsonOption = False,
) -> None:
    """Rewrite a composition of version 2 or 3 to version 4.

    Nothing else of the file is touched: each version reads the ones before it as they are.
    """
    from router.cli.composition.migrate import migrate

    migrate(file, check=check, json=json)


@composition.command()
def schema() -> None:
    """Print the JSON Schema of a composition, for editors."""
    from router.cli.answer import emit
    from router.composition.schema import document_schema

    emit(document_schema())


@composition.command()
def trust(workspace: _WorkspaceArgument = None, home: HomeOption = None, json: JsonOption = False) -> None:
    """Let the composition of a workspace apply, as it is now.

    It is .wuu/composition.json with what it includes; once a byte of them is another, it is ignored again.
    """
    from router.cli.composition.trust import trust

    trust(home, workspace, json=json)


@composition.command()
def untrust(workspace: _WorkspaceArgument = None, home: HomeOption = None, json: JsonOption = False) -> None:
    """Ignore the composition of a workspace from now on."""
    from router.cli.composition.trust import untrust

    untrust(home, workspace, json=json)
