"""`wuu-mesh plugin inspect`: what a package is. Nothing of it runs."""

from __future__ import annotations

from pathlib import Path

import msgspec

from router.cli.answer import emit
from router.cli.plugin.telling import about_packages, progress, tell
from router.home import Home
from router.packages.installation import INTEGRITY, Inspection, inspect
from router.packages.relation import Relation
from router.packages.source import Source


def show(root: Path | None, named: Path, *, json: bool) -> None:
    """Prints a package."""
    with about_packages():
        home = Home.at(root)
        with progress("reading") as told:
            inspection = inspect(home, Source.at(named), told)
        if json:
            emit(_json(inspection))
        else:
            _print(inspection)


def _json(inspection: Inspection) -> dict[str, object]:
    return {
        "source": str(inspection.source),
        "integrity": INTEGRITY + inspection.fingerprint,
        "fingerprint": inspection.fingerprint,
        "files": inspection.files,
        "bytes": inspection.size,
        "relations": [
            {"id": each.module, "range": each.range, "optional": each.optional, "unmet": why or None}
            for each, why in inspection.relations
        ],
        "problems": inspection.problems,
        "notes": inspection.notes,
        "manifest": msgspec.to_builtins(inspection.manifest),
    }


def _print(inspection: Inspection) -> None:
    manifest = inspection.manifest

    def line(word: str, *values: str) -> None:
        if text := ", ".join(filter(None, values)):
            tell(f"{word}: {text}")

    tell(f"{manifest.id} {manifest.version}: {manifest.name}")
    line("description", manifest.description)
    line("source", str(inspection.source))
    line("integrity", INTEGRITY + inspection.fingerprint)
    line("files", f"{inspection.files} with {inspection.size} bytes")
    runtime = manifest.runtime
    line("runs", *([" ".join((runtime.command, *runtime.args))] if runtime else ["nothing; it is no module"]))
    line("protocol", runtime.protocol if runtime else "")
    line("needs Wuu", manifest.minimum_wuu_version)
    line("platforms", *manifest.platforms)
    line("family", manifest.family.name if manifest.family else "")
    line("asks for", *map(str, manifest.requested_permissions))
    for each, why in inspection.relations:
        line("uses" if each.optional else "needs", f"{_told(each)}{why and f' ({why})'}")
    line("breaks", *manifest.breaks)
    line("conflicts", *manifest.conflicts)
    for note in inspection.notes:
        line("note", note)
    for problem in inspection.problems:
        line("problem", problem)


def _told(relation: Relation) -> str:
    return f"{relation.module} {relation.range}".rstrip()
