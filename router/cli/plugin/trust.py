"""`wuu-mesh plugin trust` and `untrust`."""

from __future__ import annotations

import os
from pathlib import Path

from router.cli.answer import emit
from router.cli.exits import EXIT_USAGE, fail, say
from router.cli.plugin.notice import published, refused, tell_taken_in
from router.cli.plugin.telling import about_packages, tell
from router.cli.transition import conclude
from router.home import Home
from router.packages.ledger import Ledger, authorize
from router.packages.trust import trust_in_place, trust_installed, untrust_directory, untrust_module
from wuu.mesh.v1.control_pb2 import Transition


def trust(root: Path | None, named: str, development: Path | None, *, json: bool) -> None:
    """Trusts a package, or every one below a directory."""
    if bool(named) == (development is not None):
        fail(EXIT_USAGE, "name one of ID, DIR and --development DIR", "See `wuu-mesh plugin trust --help`.")
    with about_packages():
        home = Home.at(root)
        if development is not None:
            _authorize(home, development, json=json)
            return
        known = not _is_path(named) and named in Ledger.read(home).installed
        if known or not Path(named).exists():
            _refuse_path(named)
            given = trust_installed(home, named)
        else:
            given = trust_in_place(home, Path(named))
        tell_taken_in(_taken_in(home, [given.id]), given.id)
        if json:
            emit(given)
        else:
            tell(f"{given.id} from {given.source} is trusted")


def untrust(root: Path | None, named: str, *, json: bool) -> None:
    """Takes trust back."""
    with about_packages():
        home = Home.at(root)
        ledger = Ledger.read(home)
        known = named in ledger.installed or any(each.id == named for each in ledger.trusted)
        as_path = _is_path(named) or (not known and Path(named).exists())
        modules = untrust_directory(home, Path(named)) if as_path else untrust_module(home, named)
        published(home, "untrust", modules)
        if json:
            emit({"untrusted": modules or [named]})
        else:
            tell(f"{' '.join(modules) or named} is no longer trusted")


def _authorize(home: Home, directory: Path, *, json: bool) -> None:
    if not directory.is_dir():
        fail(EXIT_USAGE, f"{directory} is no directory", "Name the directory that the packages are in.")
    authorize(home, directory)
    _taken_in(home, [])
    if json:
        emit({"directory": str(directory.resolve())})
    else:
        tell(f"every package below {directory.resolve()} is trusted")


def _taken_in(home: Home, modules: list[str]) -> Transition | None:
    """What a mesh that runs made of the trust. What it refuses stays trusted: the word was the operator's."""
    transition = published(home, "trust", modules)
    if transition is not None and refused(transition):
        say("it is trusted, and the mesh goes on without it")
        conclude(transition, quiet=True)
    return transition


def _is_path(named: str) -> bool:
    return os.sep in named or named in (".", "..")


def _refuse_path(named: str) -> None:
    if _is_path(named):
        fail(EXIT_USAGE, f"{named} is no directory", "Name the directory of a package, or an id.")
