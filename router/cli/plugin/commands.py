"""The commands of `wuu-mesh plugin`, as they are typed."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from router.cli.options import HomeOption, JsonOption

plugin = typer.Typer(help="Install, update and trust packages.", no_args_is_help=True)


def _ids(context: typer.Context, incomplete: str) -> list[str]:
    """The packages that are installed; no mesh needs to run for that."""
    from contract.errors import MeshError
    from router.home import Home
    from router.packages.ledger import Ledger

    try:
        ledger = Ledger.read(Home.at(context.params.get("home")))
    except (MeshError, OSError):
        return []
    ids = {*ledger.installed, *(each.id for each in ledger.trusted)}
    return sorted(module for module in ids if module.startswith(incomplete))


SourceArgument = Annotated[
    Path, typer.Argument(metavar="DIR|ZIP", help="The package: its directory, or a ZIP file.")
]
PackageArgument = Annotated[str, typer.Argument(metavar="ID", help="The package.", autocompletion=_ids)]


@plugin.command("list")
def list_packages(home: HomeOption = None, json: JsonOption = False) -> None:
    """Show what is installed and what is trusted in its place."""
    from router.cli.plugin.list import show

    show(home, json=json)


@plugin.command()
def inspect(source: SourceArgument, home: HomeOption = None, json: JsonOption = False) -> None:
    """Show a package: its manifest, its fingerprint, what it needs and what is in its way.

    Runs nothing of it.
    """
    from router.cli.plugin.inspect import show

    show(home, source, json=json)


@plugin.command()
def install(
    source: SourceArgument,
    integrity: Annotated[
        str,
        typer.Option(
            "--integrity",
            metavar="sha256:…",
            help="Install only the package that `inspect` showed with this.",
            show_default=False,
        ),
    ] = "",
    home: HomeOption = None,
    json: JsonOption = False,
) -> None:
    """Install a package, trust it and enable it.

    It is copied: changing DIR or ZIP afterwards changes nothing here.
    """
    from router.cli.plugin.install import install

    install(home, source, integrity, json=json)


@plugin.command()
def update(
    module: PackageArgument,
    source: SourceArgument,
    trust: Annotated[
        bool, typer.Option("--trust", help="Trust it, also from another source than before.")
    ] = False,
    home: HomeOption = None,
    json: JsonOption = False,
) -> None:
    """Replace an installed package.

    From the source that it was installed from, it stays trusted and enabled as it was.
    """
    from router.cli.plugin.install import update

    update(home, module, source, trust=trust, json=json)


@plugin.command()
def remove(module: PackageArgument, home: HomeOption = None, json: JsonOption = False) -> None:
    """Remove an installed package, and the trust in it."""
    from router.cli.plugin.install import remove

    remove(home, module, json=json)


@plugin.command()
def trust(
    package: Annotated[
        str,
        typer.Argument(
            metavar="ID|DIR",
            help="An installed package, or the directory of one that stays where it is.",
            autocompletion=_ids,
            show_default=False,
        ),
    ] = "",
    development: Annotated[
        Path | None,
        typer.Option(
            "--development",
            metavar="DIR",
            help="Trust every package below DIR, whatever becomes of it.",
            show_default=False,
        ),
    ] = None,
    home: HomeOption = None,
    json: JsonOption = False,
) -> None:
    """Trust a package with the bytes that it has now."""
    from router.cli.plugin.trust import trust

    trust(home, package, development, json=json)


@plugin.command()
def untrust(
    package: Annotated[
        str,
        typer.Argument(metavar="ID|DIR", help="The package, or a directory.", autocompletion=_ids),
    ],
    home: HomeOption = None,
    json: JsonOption = False,
) -> None:
    """Take trust back. What is installed stays so, and does not run."""
    from router.cli.plugin.trust import untrust

    untrust(home, package, json=json)
