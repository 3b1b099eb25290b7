"""Installation: how packages come into a home, change and go.

Source: *Plugin authoring reference*, installing and updating. Each verb is one change of the ledger, which
is written when everything that it names is on the disk: whoever is killed on the way has changed nothing.
"""

from __future__ import annotations

import hmac
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from contract.errors import MeshError
from router.home import Home, listener
from router.packages.catalog import broken_by, catalog, consumers, enemies, is_product_s, why_unmet
from router.packages.fingerprint import counted
from router.packages.ledger import Installed, Ledger, Trusted, locked, locked_if_free
from router.packages.manifest import Manifest
from router.packages.package import Package
from router.packages.platform import unsuitable
from router.packages.relation import Relation, relations
from router.packages.snapshot import Told, fingerprint_of_snapshot, publish, remove_unnamed, sweep
from router.packages.source import Source

INTEGRITY = "sha256:"
"""What stands before a fingerprint where an operator gives one."""

Waiting = Callable[[], None]
"""Called once where another command changes the packages of the home."""


@dataclass(frozen=True, slots=True)
class Inspection:
    """What a package is, before anything is done with it."""

    source: Source
    manifest: Manifest
    fingerprint: str
    files: int
    size: int
    """Bytes of its files."""
    relations: tuple[tuple[Relation, str], ...]
    """What it needs or uses, each with why that is not there; empty where it is."""
    problems: tuple[str, ...]
    """Why it would not be installed, or not run."""
    notes: tuple[str, ...]
    """What else is worth knowing."""


@dataclass(frozen=True, slots=True)
class Changed:
    """What became of an installed package."""

    row: Installed
    """It as it is now; of one that was removed, as it was."""
    trusted: bool
    """Whether it may run."""
    before: Installed | None = None
    """It as it was; None where it was not there."""
    was_trusted: bool = False
    """Whether it might run before."""
    notes: tuple[str, ...] = ()
    """What else is worth knowing."""


def inspect(home: Home, source: Source, told: Told) -> Inspection:
    """What a package is and what would be in its way. Runs nothing, and leaves the home as it is."""
    ledger = Ledger.read(home)
    with (
        tempfile.TemporaryDirectory(prefix="wuu-mesh-inspect-") as apart,
        source.staged(Path(apart), told) as package,
    ):
        manifest, files = package.manifest, counted(package.root)
        found = catalog(ledger)
        related = tuple((each, why_unmet(each, ledger, found)) for each in relations(manifest))
        missing = [f"it needs another package: {why}" for each, why in related if why and not each.optional]
        taken = [f"the product has a package {manifest.id}"] if is_product_s(manifest.id) else []
        return Inspection(
            source=source,
            manifest=manifest,
            fingerprint=package.fingerprint,
            files=len(files),
            size=sum(file.size for file in files),
            relations=related,
            problems=tuple(filter(None, [unsuitable(manifest), *taken, *missing])),
            notes=(*_installed_already(manifest, ledger), *enemies(manifest, ledger, found)),
        )


def install(home: Home, source: Source, *, integrity: str = "", told: Told, waiting: Waiting) -> Changed:
    """Installs a package, trusts it and enables it.

    Raises `BadPackage` for what is no usable package and `invalid_request` where it cannot be installed:
    it is already, its fingerprint is another than `integrity`, or what it needs is not there.
    """
    with _changing(home, waiting) as ledger:
        with source.staged(home.packages, told) as package:
            manifest = package.manifest
            _check_integrity(package, integrity)
            if manifest.id in ledger.installed:
                raise _refused(
                    f"{manifest.id} is installed already, in version {ledger.installed[manifest.id].version}",
                    f"Use `wuu-mesh plugin update {manifest.id} {source.path}`.",
                )
            _check_usable(manifest, ledger)
            row = _published(home, package, source, enabled=True)
        trusted = _granted(ledger.trusted, row)
        after = replace(ledger, rows=(*ledger.rows, row), trusted=trusted)
        after.write()
        notes = enemies(manifest, after, catalog(after))
    return Changed(row, True, notes=tuple(notes))


def update(home: Home, module: str, source: Source, *, trust: bool, told: Told, waiting: Waiting) -> Changed:
    """Puts other bytes in the place of an installed package.

    From the recorded source they are trusted and enabled as those before were. From another one `trust` is
    the operator's decision: without it `invalid_request`. So for what would break a consumer.
    """
    with _changing(home, waiting) as ledger:
        before = _row(ledger, module)
        if str(source) != before.source and not trust:
            raise _refused(
                f"{module} was installed from {before.source} and this is {source}",
                f"Look at it with `wuu-mesh plugin inspect {source.path}`, and decide with --trust.",
            )
        with source.staged(home.packages, told) as package:
            manifest = package.manifest
            if manifest.id != module:
                raise _refused(
                    f"{source.path} is the package {manifest.id} and not {module}", "Name that one."
                )
            _check_usable(manifest, ledger)
            if broken := broken_by(module, before.version, manifest.version, ledger):
                raise _refused(
                    f"version {manifest.version} would break what needs it: {', '.join(broken)}",
                    "Update these first, or remove or disable them.",
                )
            row = _published(home, package, source, enabled=before.enabled)
        was_trusted = ledger.trusts(module, before.fingerprint, before.source)
        trusted = trust or was_trusted
        kept = _without(ledger.trusted, before)
        after = replace(
            ledger,
            rows=tuple(row if each.id == module else each for each in ledger.rows),
            trusted=_granted(kept, row) if trusted else kept,
        )
        after.write()
        notes = enemies(manifest, after, catalog(after))
    return Changed(row, trusted, before, was_trusted, tuple(notes))


def remove(home: Home, module: str, *, waiting: Waiting) -> Changed:
    """Takes a package out of the home, and its trust. What a generation retains of it goes with that."""
    with _changing(home, waiting) as ledger:
        row = _row(ledger, module)
        notes = tuple(f"{manifest.id} needs it" for manifest, _ in consumers(module, ledger))
        rows = tuple(each for each in ledger.rows if each.id != module)
        replace(ledger, rows=rows, trusted=_without(ledger.trusted, row)).write()
    return Changed(row, False, row, notes=notes)


def take_back(home: Home, changed: Changed, *, waiting: Waiting) -> None:
    """Undoes an install or an update that a mesh which runs has refused, unless it was changed since."""
    row, before = changed.row, changed.before
    with _changing(home, waiting) as ledger:
        if ledger.installed.get(row.id) != row:
            return
        kept = _without(ledger.trusted, row)
        others = tuple(each for each in ledger.rows if each.id != row.id)
        rows = (*others, before) if before is not None else others
        trusted = _granted(kept, before) if before is not None and changed.was_trusted else kept
        replace(ledger, rows=rows, trusted=trusted).write()


def tidy(home: Home) -> None:
    """Removes what killed commands left, where nobody is at work now."""
    if home.packages.is_dir():
        with locked_if_free(home) as free:
            if free:
                _tidy(home)


def is_quiet(home: Home) -> bool:
    """Whether no mesh runs in the home, so that nothing but the ledger says what is used."""
    running = home.running()
    controls = {str(home.sockets / "control"), *([running.control] if running else [])}
    try:
        return all(listener(control) is None for control in controls)
    except OSError:
        return False


@contextmanager
def _changing(home: Home, waiting: Waiting) -> Iterator[Ledger]:
    """The ledger, for one change of it; what is not in it at the end is gone then."""
    with locked(home, waiting):
        _tidy(home)
        try:
            yield Ledger.read(home)
        finally:
            _tidy(home)


def _tidy(home: Home) -> None:
    sweep(home)
    if home.packages.is_dir() and is_quiet(home):
        remove_unnamed(home, ())


def _published(home: Home, package: Package, source: Source, *, enabled: bool) -> Installed:
    digest = package.fingerprint
    root = publish(home, package.root, package.manifest.id)
    if fingerprint_of_snapshot(root) != digest:
        raise MeshError("host_error", f"{root} is not what was copied to it", remedy="Run the command again.")
    return Installed(
        id=package.manifest.id,
        version=package.manifest.version,
        fingerprint=digest,
        source=str(source),
        enabled=enabled,
        root=root,
    )


def _check_integrity(package: Package, integrity: str) -> None:
    if integrity and not hmac.compare_digest(integrity, INTEGRITY + package.fingerprint):
        raise _refused(
            f"the package is {INTEGRITY}{package.fingerprint} and not {integrity}",
            "Inspect it anew; it is another one than you have looked at.",
        )


def _check_usable(manifest: Manifest, ledger: Ledger) -> None:
    if why := unsuitable(manifest):
        raise _refused(f"{manifest.id} cannot run here: {why}", "See `wuu-mesh plugin inspect`.")
    if is_product_s(manifest.id):
        raise _refused(
            f"the product has a package {manifest.id}, and no composition could tell them apart",
            "Give the other one an id of its own.",
        )
    found = catalog(ledger)
    needed = [relation for relation in relations(manifest) if not relation.optional]
    if missing := [why for relation in needed if (why := why_unmet(relation, ledger, found))]:
        raise _refused(
            f"{manifest.id} needs other packages: {'; '.join(missing)}",
            "Install, update, enable or trust these first; nothing does that for you.",
        )


def _installed_already(manifest: Manifest, ledger: Ledger) -> list[str]:
    row = ledger.installed.get(manifest.id)
    return [f"version {row.version} is installed, from {row.source}"] if row else []


def _row(ledger: Ledger, module: str) -> Installed:
    if module not in ledger.installed:
        raise _refused(f"{module} is not installed", "See `wuu-mesh plugin list`.")
    return ledger.installed[module]


def _granted(trusted: tuple[Trusted, ...], row: Installed) -> tuple[Trusted, ...]:
    return (*_without(trusted, row), Trusted(row.id, row.fingerprint, row.source))


def _without(trusted: tuple[Trusted, ...], row: Installed) -> tuple[Trusted, ...]:
    gone = Trusted(row.id, row.fingerprint, row.source)
    return tuple(each for each in trusted if each != gone)


def _refused(message: str, remedy: str) -> MeshError:
    return MeshError("invalid_request", message, remedy=remedy)
