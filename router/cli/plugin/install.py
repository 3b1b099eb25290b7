"""`wuu-mesh plugin install`, `update` and `remove`."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import typer

from contract.errors import MeshError
from router.cli.answer import emit
from router.cli.exits import EXIT_USAGE, fail, say
from router.cli.plugin.notice import published, refused, tell_taken_in
from router.cli.plugin.telling import about_packages, progress, tell, waiting
from router.cli.terminal import printable
from router.cli.transition import conclude
from router.home import Home
from router.packages import installation
from router.packages.installation import INTEGRITY, Changed
from router.packages.ledger import Ledger
from router.packages.source import Source

_INTEGRITY = re.compile(re.escape(INTEGRITY) + "[0-9a-f]{64}")


def install(root: Path | None, named: Path, integrity: str, *, json: bool) -> None:
    """Installs a package."""
    if integrity and not _INTEGRITY.fullmatch(integrity):
        fail(EXIT_USAGE, f"'{integrity}' is no integrity", f"`plugin inspect` prints it: {INTEGRITY}…")
    with about_packages():
        home = Home.at(root)
        source = Source.at(named)
        with progress("installing") as told:
            changed = installation.install(
                home, source, integrity=integrity, told=told, waiting=waiting(home)
            )
        _take_in(home, "install", changed)
        _answer(changed, f"installed {_named(changed)}, trusted and enabled", json=json)


def update(root: Path | None, module: str, named: Path, *, trust: bool, json: bool) -> None:
    """Updates a package; on a terminal, asks whether another source is trusted."""
    with about_packages():
        home = Home.at(root)
        source = Source.at(named)
        trust = trust or _decided(home, module, source)
        with progress("updating") as told:
            changed = installation.update(home, module, source, trust=trust, told=told, waiting=waiting(home))
        before, row = changed.before, changed.row
        assert before is not None
        trusted = "trusted" if changed.trusted else "untrusted, as before"
        enabled = "enabled" if row.enabled else "disabled, as before"
        same = before.fingerprint == row.fingerprint
        words = f"{row.id} is the same" if same else f"updated {before.version} to {_named(changed)}"
        _take_in(home, "update", changed)
        _answer(changed, f"{words}, {trusted}, {enabled}", json=json)


def remove(root: Path | None, module: str, *, json: bool) -> None:
    """Removes a package."""
    with about_packages():
        home = Home.at(root)
        changed = installation.remove(home, module, waiting=waiting(home))
        published(home, "remove", [module])
        _answer(changed, f"removed {_named(changed)}", json=json)


def _take_in(home: Home, cause: str, changed: Changed) -> None:
    """Has a mesh that runs take the package in; what it refuses is undone."""
    try:
        transition = published(home, cause, [changed.row.id])
    except MeshError:
        installation.take_back(home, changed, waiting=waiting(home))
        raise
    if transition is not None and refused(transition):
        installation.take_back(home, changed, waiting=waiting(home))
        say(f"the mesh refuses it, so nothing is changed: {_named(changed)} is not taken in")
        conclude(transition, quiet=True)
    tell_taken_in(transition, changed.row.id)


def _answer(changed: Changed, words: str, *, json: bool) -> None:
    row = changed.row
    if json:
        emit(
            {
                "id": row.id,
                "version": row.version,
                "fingerprint": row.fingerprint,
                "source": row.source,
                "trusted": changed.trusted,
                "enabled": row.enabled,
                "root": str(row.root),
                "before": changed.before.version if changed.before else None,
                "notes": changed.notes,
            }
        )
        return
    tell(words)
    for note in changed.notes:
        say(f"note: {note}")


def _named(changed: Changed) -> str:
    return f"{changed.row.id} {changed.row.version}"


def _decided(home: Home, module: str, source: Source) -> bool:
    """Whether who sits there trusts the new source, where there is one to decide on and somebody to ask."""
    row = Ledger.read(home).installed.get(module)
    if row is None or row.source == str(source) or not (sys.stdin.isatty() and sys.stderr.isatty()):
        return False
    question = f"{module} was installed from {row.source}. Trust {source} for it"
    try:
        return typer.confirm(printable(question), err=True)
    except typer.Abort:
        raise KeyboardInterrupt from None
