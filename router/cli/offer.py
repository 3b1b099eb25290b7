"""Offer: a package that would provide what nobody serves, and the line that makes it do so."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from contract.declaration import major_of
from router.cli.explanation import UNKNOWN
from router.composition.composed import Composed
from router.composition.document import ModuleEntry, parse_document
from router.composition.form import VERSION
from router.composition.position import locate
from router.generations.journal import Journal, declaration_key
from router.home import Home
from router.instances.lifecycle import HOST_FEATURES
from router.packages.discovery import Discovery
from router.packages.manifest import BadPackage
from router.packages.package import Package
from router.reading import INSTALLED, Composition, Source, user_file
from wuu.mesh.v1.declaration_pb2 import Declaration

SERVES = ("ready", "active")
"""The states of a module that serves, or would."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Offer:
    """A package that provides a service and does not serve it."""

    module: str
    version: str
    service: str
    """`name@MAJOR.MINOR.PATCH`."""
    root: Path
    why: str
    """Why it does not serve: "is disabled", "is not in the composition", …"""
    remedy: str
    """What makes it serve: where to write it, or a command."""
    line: str
    """What to write there, as it stands; empty where the remedy is all."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """A service that nobody serves, and to whom."""

    service: str
    major: int | None
    """None: any."""
    consumer: str
    """Empty: to everybody."""
    ambiguous: bool
    """It has providers, of which none is selected."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """The packages that a composition can name, with what they declared when they last ran."""

    home: Home
    composition: Composition
    composed: Composed
    discovery: Discovery
    states: Mapping[str, str]
    """The state of each module of the composition."""
    runs: bool
    """Whether it is the composition of a mesh that runs."""

    def offers(self, wanted: Wanted) -> Iterator[Offer]:
        """The packages that have declared a service, those aside that serve it."""
        for module, package, declaration in self._declared():
            for provided in declaration.provided_services if declaration is not None else ():
                major = major_of(provided.version)
                if provided.name != wanted.service or wanted.major not in (None, major):
                    continue
                why, remedy, line = self._action(module, package, wanted, major)
                if why:
                    yield Offer(
                        module=module,
                        version=package.manifest.version,
                        service=f"{provided.name}@{provided.version}",
                        root=package.root,
                        why=why,
                        remedy=remedy,
                        line=line,
                    )

    def silent(self) -> list[str]:
        """The packages of which no declaration is kept: they may provide anything."""
        return [
            module
            for module, _, declaration in self._declared()
            if declaration is None and self.states.get(module, UNKNOWN) in (UNKNOWN, "disabled")
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

    def _action(self, module: str, package: Package, wanted: Wanted, major: int) -> tuple[str, str, str]:
        """Why the module does not serve, and what to do where; nothing for one that does."""
        entry, state = self.composed.modules.get(module), self.states.get(module)
        if distrusted := self.discovery.verdict(package):
            # A verdict reads "it is not trusted; `wuu-mesh plugin trust …` grants that".
            why, _, remedy = distrusted.partition("; ")
            return f"may not run: {why}", remedy or "`wuu-mesh plugin list` says more", ""
        if entry is None:
            return "is not in the composition", *self._addition(module)
        if state == "disabled" and (self.runs or module in self.composed.revoked):
            return "is disabled", f"`wuu-mesh enable {module}` starts it", ""
        if state == "disabled" and entry.source.startswith(f"{self.home.ledger}:"):
            # It is installed, and no file of the composition speaks of it.
            return "is disabled", *self._field(self._last(), "patches", {"modules": {module: True}})
        if state == "disabled":
            return "is disabled", f"write at {entry.source}", _enabling(module, entry)
        if state in SERVES:
            if not wanted.ambiguous or module == wanted.consumer:
                return "", "", ""
            return "is not selected", *self._selection(module, wanted, major)
        command = "status" if self.runs else "check"
        return f"is {state}", f"`wuu-mesh {command}` says why", ""

    def _addition(self, module: str) -> tuple[str, str]:
        """What adds a module. A file that names no `modules` has those of the layers below: a patch adds."""
        last = self._last()
        if last is None or parse_document(last.text, name=str(last.path)).modules is None:
            return self._field(last, "patches", {"modules": {module: True}})
        return _place(last, "modules"), f"{json.dumps(module)}: true"

    def _selection(self, module: str, wanted: Wanted, major: int) -> tuple[str, str]:
        whom = {"consumer": wanted.consumer} if wanted.consumer else {}
        chosen = {**whom, "service": wanted.service, "major": major, "provider": module}
        return self._field(self._last(), "services", chosen)

    def _last(self) -> Source | None:
        """The file that applies last; None where there is none but the product's own composition."""
        files = [each for each in self.composition.sources if each.layer != INSTALLED]
        return files[-1] if files else None

    def _field(self, last: Source | None, field: str, value: object) -> tuple[str, str]:
        """One more element of a list of the file that applies last, or of a file that there is not yet."""
        if last is None:
            document = json.dumps({"version": VERSION, field: [value]})
            return f"write as {user_file()}, or as a file of your own", document
        if f"/{field}" in locate(last.text).spans:
            return _place(last, field), json.dumps(value)
        return f"write into {last.path}", f"{json.dumps(field)}: {json.dumps([value])}"


def _place(source: Source, field: str) -> str:
    return f'add to "{field}" at {source.path}:{locate(source.text).line(f"/{field}")}'


def _enabling(module: str, entry: ModuleEntry) -> str:
    """What enables a module where its entry stands: in an object, or in place of `false`."""
    if entry.config is None and entry.timeout is None and entry.endpoint is None:
        return f"{json.dumps(module)}: true"
    return '"enabled": true'
