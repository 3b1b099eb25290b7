"""Discovery: the packages that directories hold."""

from __future__ import annotations

import glob
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path

from router.composition.dependency import Dependency, Relations
from router.composition.document import Reference
from router.composition.rejected import Problem, Rejected
from router.composition.resolve import Known
from router.packages.ledger import Ledger
from router.packages.manifest import MANIFEST, BadPackage, Manifest, read_manifest
from router.packages.package import NO_MODULE, Package
from router.packages.platform import unsuitable
from router.packages.relation import relations, unmet


@dataclass(frozen=True)
class Discovery:
    """What was found."""

    packages: Mapping[str, Package]
    """The usable packages that offer a module, by its id."""
    problems: tuple[BadPackage, ...]
    """The broken ones, each with the module that it would be."""
    declarative: Mapping[str, Package] = field(default_factory=dict)
    """The usable packages without a runtime, by id: they offer no module."""
    ledger: Ledger | None = None
    """What is installed and trusted; None where nothing asks."""

    @cached_property
    def broken(self) -> Mapping[str, BadPackage]:
        """The modules that no usable package offers but a broken or declarative one would, with its problem.

        They are known, so a composition that names one hears what is wrong and not that it is unknown.
        """
        without = {
            module: BadPackage(package.root, NO_MODULE, module=module)
            for module, package in self.declarative.items()
        }
        broken = {bad.module: bad for bad in reversed(self.problems)}
        return {module: bad for module, bad in (without | broken).items() if module not in self.packages}

    def again(self, modules: Iterable[str]) -> Discovery:
        """The same, with the packages of some modules as they are on the disk now."""
        packages, problems, declarative = dict(self.packages), list(self.problems), dict(self.declarative)
        for module in modules:
            root = packages.pop(module).root
            try:
                manifest = read_manifest(root)
            except BadPackage as bad:
                problems.append(BadPackage(root, bad.message, module=module))
            else:
                if manifest.id == module:
                    kept = packages if manifest.runtime is not None else declarative
                    kept[module] = Package(root, manifest)
        return Discovery(packages, tuple(problems), declarative, self.ledger)

    def verdict(self, package: Package) -> str:
        """Why a package may not run, with the remedy; empty where it may."""
        return self.ledger.verdict(package) if self.ledger is not None else ""

    def changed(self, package: Package) -> str:
        """Why a package is not what it was when it was looked at; empty where any bytes may run, too."""
        if self.ledger is None or not self.ledger.is_by_bytes(package.root):
            return ""
        return self.verdict(Package(package.root, package.manifest))

    def with_ledger_as_it_is(self) -> Discovery:
        """The same with what is installed and trusted now."""
        assert self.ledger is not None, "packages of a home come with its ledger"
        return replace(self, ledger=Ledger.read(self.ledger.home))

    @cached_property
    def offered(self) -> Mapping[str, Known]:
        """Every module that a composition can name, before anything is known of its declaration."""
        offered = {
            module: Known(module, "", None, unavailable=bad.message, unavailable_code="invalid_request")
            for module, bad in self.broken.items()
        }
        for module, package in self.packages.items():
            offered[module] = Known(
                module,
                package.manifest.version,
                None,
                unavailable=unsuitable(package.manifest),
                relations=self._relations(package.manifest),
            )
        return offered

    def _relations(self, manifest: Manifest) -> Relations:
        """What a package says about others, given their versions."""
        dependencies: list[Dependency] = []
        for relation in relations(manifest):
            there = self.packages.get(relation.module) or self.declarative.get(relation.module)
            mismatch = unmet(relation, {relation.module: there.manifest.version}) if there else ""
            # One that offers no module is there as soon as it is found: there is nothing to start after.
            if mismatch or relation.module not in self.declarative:
                dependencies.append(Dependency(relation.module, relation.optional, mismatch))
        return Relations(tuple(dependencies), manifest.breaks, manifest.conflicts)


def first_party_directory() -> Path:
    """The `providers` of this installation; it need not exist. `discover` looks two levels into it."""
    return Path(__file__).resolve().parents[2] / "providers"


def offers_module(root: Path) -> bool:
    """Whether the package at `root` is a usable one with a runtime, or a broken one, which is told later."""
    try:
        return read_manifest(root).runtime is not None
    except BadPackage:
        return True


def installed(ledger: Ledger) -> tuple[Path, ...]:
    """The roots of the packages that are installed in a home. What merely lies there is none of them."""
    return tuple(row.root for row in ledger.installed.values())


def directories_of(references: Iterable[Reference]) -> tuple[Path, ...]:
    """The directories that documents name, each relative to the document's own.

    A glob takes its matches in order; `**` is no more than `*`. Raises `Rejected` for each entry that
    matches no directory.
    """
    directories: list[Path] = []
    problems: list[Problem] = []
    for reference in references:
        base, pattern = Path(reference.document).parent, reference.path
        matches = [base / match for match in sorted(glob.glob(pattern, root_dir=base))]
        found = [match for match in matches if match.is_dir()]
        directories += found
        if not found:
            message = f"'{pattern}' matches no directory; it is relative to {base}"
            problems.append(Problem(reference.where, message))
    if problems:
        raise Rejected(tuple(problems))
    return tuple(directories)


def discover(directories: Iterable[Path]) -> Discovery:
    """The packages in `directories`: each is one itself, or holds some as its children.

    A broken package is a problem and hides no other. Of several packages with one id none is taken, since
    the order of directories is no choice of the operator's; a package found twice is one.
    """
    found: dict[str, list[Package]] = {}
    problems: list[BadPackage] = []
    for root in dict.fromkeys(_roots(directories)):
        try:
            manifest = read_manifest(root)
        except BadPackage as bad:
            problems.append(bad)
        else:
            found.setdefault(manifest.id, []).append(Package(root, manifest))
    packages: dict[str, Package] = {}
    declarative: dict[str, Package] = {}
    for module, (first, *others) in sorted(found.items()):
        if others:
            roots = " and ".join(str(other.root) for other in others)
            taken = f"{MANIFEST}: /id: '{module}' is also the id of {roots}"
            message = f"{taken}; change an id, or take one of them out"
            problems.append(BadPackage(first.root, message, module=module))
        elif first.manifest.runtime is not None:
            packages[module] = first
        else:
            declarative[module] = first
    return Discovery(packages, tuple(problems), declarative)


def _roots(directories: Iterable[Path]) -> Iterator[Path]:
    """The directories that have a manifest, as absolute paths without symbolic links."""
    first_party = first_party_directory()
    for directory in directories:
        if (directory / MANIFEST).exists():
            yield directory.resolve()
            continue
        patterns = [f"*/{MANIFEST}"]
        if directory.resolve() == first_party:
            patterns.append(f"*/*/{MANIFEST}")
        for pattern in patterns:
            yield from (manifest.parent.resolve() for manifest in sorted(directory.glob(pattern)))
