"""Trust: the operator's word that a package may run, given and taken back.

Source: *Plugin authoring reference*: trust is independent of selection, and the authorization of a
directory for development is no trust in what is distributed from it.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from contract.errors import MeshError
from router.home import Home
from router.packages.ledger import Ledger, Trusted, locked, uncovered
from router.packages.manifest import BadPackage, read_manifest
from router.packages.package import Package
from router.packages.snapshot import fingerprint_of_snapshot
from router.packages.source import Source


def trust_installed(home: Home, module: str) -> Trusted:
    """Trusts an installed package as it was installed. Raises `invalid_request` where it is not that now."""
    with locked(home):
        ledger = Ledger.read(home)
        row = ledger.installed.get(module)
        if row is None:
            raise _refused(f"{module} is not installed", "Name the directory of a package, or install it.")
        if fingerprint_of_snapshot(row.root) != row.fingerprint:
            raise _refused(
                f"{module} was changed outside of install and update",
                f"Install it anew with `wuu-mesh plugin update {module} DIR|ZIP`.",
            )
        given = Trusted(module, row.fingerprint, row.source)
        _write(ledger, given)
    return given


def trust_in_place(home: Home, directory: Path) -> Trusted:
    """Trusts the package in a directory as it is now. Raises `BadPackage` where there is none."""
    source = Source.at(directory)
    if source.kind != "directory":
        raise BadPackage(source.path, "is no directory; a ZIP file is installed, and trusted with that")
    package = Package(source.path, read_manifest(source.path))
    if why := uncovered(package.root):
        raise BadPackage(package.root, why, module=package.manifest.id)
    given = Trusted(package.manifest.id, package.fingerprint, str(source))
    if source.path.is_relative_to(home.packages.resolve()):
        raise _refused(
            f"{source.path} is an installed package, which is trusted by its id",
            f"Use `wuu-mesh plugin trust {given.id}`.",
        )
    with locked(home):
        _write(Ledger.read(home), given)
    return given


def untrust_module(home: Home, module: str) -> tuple[str, ...]:
    """Takes the trust in every package of an id, and returns it; what is installed stays so.

    Raises `invalid_request` where nothing is known of the id.
    """
    with locked(home):
        ledger = Ledger.read(home)
        kept = tuple(each for each in ledger.trusted if each.id != module)
        if kept == ledger.trusted and module not in ledger.installed:
            raise _refused(f"no package {module} is trusted", "See `wuu-mesh plugin list`.")
        replace(ledger, trusted=kept).write()
    return (module,)


def untrust_directory(home: Home, directory: Path) -> tuple[str, ...]:
    """Takes the trust in the package in a directory, and its authorization for development.

    Returns the ids that were trusted by themselves. The directory need not be there any more. Raises
    `invalid_request` where there was neither.
    """
    path = directory.expanduser().resolve()
    with locked(home):
        ledger = Ledger.read(home)
        trusted = tuple(each for each in ledger.trusted if not _is_of(ledger, each, path))
        development = tuple(each for each in ledger.development if each.directory != str(path))
        if (trusted, development) == (ledger.trusted, ledger.development):
            raise _refused(f"{path} is neither trusted nor authorized", "See `wuu-mesh plugin list`.")
        replace(ledger, trusted=trusted, development=development).write()
    return tuple(each.id for each in ledger.trusted if each not in trusted)


def _is_of(ledger: Ledger, trusted: Trusted, path: Path) -> bool:
    row = ledger.installed.get(trusted.id)
    # What was installed from there is trusted as its snapshot, and taken back by its id.
    snapshot = row is not None and (row.fingerprint, row.source) == (trusted.fingerprint, trusted.source)
    return trusted.source == f"directory:{path}" and not snapshot


def _write(ledger: Ledger, given: Trusted) -> None:
    if given not in ledger.trusted:
        replace(ledger, trusted=(*ledger.trusted, given)).write()


def _refused(message: str, remedy: str) -> MeshError:
    return MeshError("invalid_request", message, remedy=remedy)
