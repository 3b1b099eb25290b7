"""Offer: a package that would provide what nobody serves, and what makes it do so."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from contract.declaration import major_of
from router.composition.composed import Composed
from router.generations.journal import Journal, declaration_key
from router.home import Home
from router.instances.lifecycle import HOST_FEATURES
from router.packages.discovery import Discovery
from router.packages.manifest import BadPackage
from router.packages.package import Package
from wuu.mesh.v1.declaration_pb2 import Declaration


@dataclass(frozen=True, slots=True, kw_only=True)
class Offer:
    """A package that provides a service and does not serve it."""

    module: str
    version: str
    service: str
    """`name@MAJOR.MINOR.PATCH`."""
    root: Path
    remedy: str
    """What makes it serve."""


@dataclass(frozen=True, slots=True)
class Found:
    """The packages that a composition can name, with what they declared when they last ran."""

    home: Home
    composed: Composed
    discovery: Discovery
    states: Mapping[str, str]
    """The state of each module of the composition."""

    def offers(self, service: str, major: int | None) -> Iterator[Offer]:
        """The packages that have declared a service, those aside that serve it."""
        for module, package, declaration in self._declared():
            for provided in declaration.provided_services if declaration is not None else ():
                if provided.name != service or major not in (None, major_of(provided.version)):
                    continue
                if self.states.get(module) not in ("ready", "active"):
                    yield Offer(
                        module=module,
                        version=package.manifest.version,
                        service=f"{provided.name}@{provided.version}",
                        root=package.root,
                        remedy=self._remedy(module, package),
                    )

    def silent(self) -> list[str]:
        """The packages outside of the composition of which no declaration is kept."""
        return [
            module
            for module, _, declaration in self._declared()
            if declaration is None and module not in self.states
        ]

    def _declared(self) -> Iterator[tuple[str, Package, Declaration | None]]:
        with closing(Journal(self.home.journal if self.home.journal.is_file() else None)) as journal:
            for module, package in self.discovery.packages.items():
                entry = self.composed.modules.get(module)
                config = entry.config if entry is not None else None
                try:
                    key = declaration_key(package.fingerprint, config, HOST_FEATURES)
                except BadPackage:
                    continue
                yield module, package, journal.declaration(key)

    def _remedy(self, module: str, package: Package) -> str:
        ledger = self.discovery.ledger
        if ledger is not None and (distrusted := ledger.verdict(package)):
            return distrusted
        state = self.states.get(module)
        if state is None:
            return f'add "{module}": true to `modules` of the composition'
        if state == "disabled":
            return f"`wuu-mesh enable {module}` starts it"
        return f"it is {state}; `wuu-mesh status` says why"
