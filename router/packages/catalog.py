"""Catalog: the packages that a home can name without a composition, and whether one will do for another."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from router.packages.discovery import discover, first_party_directory, installed
from router.packages.ledger import Ledger, Trusted
from router.packages.manifest import BadPackage, Manifest, read_manifest
from router.packages.package import Package
from router.packages.relation import Relation, admits, relations, unmet


def catalog(ledger: Ledger) -> Mapping[str, tuple[Package, ...]]:
    """The packages by id: what is installed, what is trusted in its place, and the product's own."""
    in_place = [Path(each.source.removeprefix("directory:")) for each in trusted_in_place(ledger)]
    developed = [Path(each.directory) for each in ledger.development]
    found: dict[str, tuple[Package, ...]] = {}
    for directories in (installed(ledger), in_place, developed, [first_party_directory()]):
        for root in directories:
            for package in _packages(root):
                others = found.get(package.manifest.id, ())
                if package.root not in [other.root for other in others]:
                    found[package.manifest.id] = (*others, package)
    return found


def trusted_in_place(ledger: Ledger) -> tuple[Trusted, ...]:
    """What is trusted where it lies. What is installed is trusted as its snapshot, not as its source."""
    from_there = {(row.id, row.fingerprint, row.source) for row in ledger.rows}
    return tuple(
        each
        for each in ledger.trusted
        if each.source.startswith("directory:") and (each.id, each.fingerprint, each.source) not in from_there
    )


def is_product_s(module: str) -> bool:
    """Whether a package of the product's own has this id."""
    found = discover([first_party_directory()])
    return module in found.packages or module in found.declarative


def why_unmet(relation: Relation, ledger: Ledger, found: Mapping[str, tuple[Package, ...]]) -> str:
    """Why no package of a catalog will do for another that needs it; empty where one does."""
    packages = found.get(relation.module, ())
    if not packages:
        return unmet(relation, {})
    reasons = [_reason(relation, ledger, package) for package in packages]
    return "" if "" in reasons else reasons[0]


def consumers(module: str, ledger: Ledger) -> Iterator[tuple[Manifest, Relation]]:
    """The installed and enabled packages that need another one, each with how it says so."""
    for row in ledger.installed.values():
        if not row.enabled or row.id == module or not ledger.trusts(row.id, row.fingerprint, row.source):
            continue
        try:
            manifest = read_manifest(row.root)
        except BadPackage:
            # It was changed outside of install and update, and does not run in any case.
            continue
        for relation in relations(manifest):
            if relation.module == module and not relation.optional:
                yield manifest, relation


def broken_by(module: str, before: str, after: str, ledger: Ledger) -> list[str]:
    """Which consumers an update would leave without what they have now, and why."""
    return [
        f"{manifest.id} needs {module} in '{relation.range}'"
        for manifest, relation in consumers(module, ledger)
        if admits(relation.range, before) and not admits(relation.range, after)
    ]


def enemies(manifest: Manifest, ledger: Ledger, found: Mapping[str, tuple[Package, ...]]) -> list[str]:
    """What is said of packages that cannot or should not run beside another, from either side."""
    said = []
    for module, packages in found.items():
        if module == manifest.id or all(_standing(package, ledger) for package in packages):
            continue
        other = packages[0].manifest
        if module in manifest.breaks or manifest.id in other.breaks:
            said.append(f"it cannot run beside {module}, which is there; a composition can have one of them")
        elif module in manifest.conflicts or manifest.id in other.conflicts:
            said.append(f"it conflicts with {module}, which is there; nothing is disabled for that")
    return said


def _packages(directory: Path) -> Iterable[Package]:
    found = discover([directory])
    return [*found.packages.values(), *found.declarative.values()]


def _reason(relation: Relation, ledger: Ledger, package: Package) -> str:
    return unmet(relation, {relation.module: package.manifest.version}) or _standing(package, ledger)


def _standing(package: Package, ledger: Ledger) -> str:
    row = ledger.installed.get(package.manifest.id)
    if row is not None and row.root == package.root and not row.enabled:
        return f"{row.id} is disabled"
    why = ledger.verdict(package)
    return why and f"{package.manifest.id} may not run: {why}"
