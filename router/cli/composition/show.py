"""`wuu-mesh composition show`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec

from router.cli.answer import emit
from router.cli.composition.named import accepted, composition_or_fail
from router.cli.exits import explained
from router.cli.terminal import console, print_table, table
from router.composition.composed import Composed, Step
from router.composition.document import ModuleEntry, Selection
from router.home import Home
from router.reading import Composition


def show(root: Path | None, named: Path | None, *, json: bool) -> None:
    """Prints what the files of a composition come to. Whether its names exist is not looked at."""
    with explained(), accepted(json=json):
        composition = composition_or_fail(named, Home.at(root))
        composed = composition.composed()
    if json:
        emit(_json(composition, composed))
    else:
        _print(composition, composed)


def _json(composition: Composition, composed: Composed) -> dict[str, Any]:
    return {
        "profile": composed.profile,
        "sources": [{"layer": each.layer, "path": str(each.path)} for each in composition.sources],
        "packages": [{"path": each.path, "document": each.document} for each in composed.packages],
        "modules": {module: _entry(entry) for module, entry in composed.modules.items()},
        "services": [
            {
                "service": each.service,
                "major": each.major,
                "provider": each.provider,
                "consumer": each.consumer,
                "source": each.source,
                "overridden": [_step(step) for step in composed.overridden.get(each.edge, ())],
            }
            for each in composed.selections.values()
        ],
    }


def _entry(entry: ModuleEntry) -> dict[str, Any]:
    return {
        "enabled": entry.enabled is True,
        "config": msgspec.Raw(entry.config) if entry.config is not None else None,
        "timeout": entry.timeout,
        "endpoint": entry.endpoint,
        "source": entry.source,
    }


def _step(step: Step) -> dict[str, str | None]:
    return {"provider": step.provider if isinstance(step, Selection) else None, "source": step.source}


def _print(composition: Composition, composed: Composed) -> None:
    out = console()
    for source in composition.sources:
        out.print(f"{source.layer}: {source.path}", soft_wrap=True)
    if not composition.sources:
        out.print("no file: the product's own")
    out.print(f"profile {composed.profile}")
    modules = table("module", "enabled", "said at")
    for module, entry in composed.modules.items():
        modules.add_row(module, "yes" if entry.enabled else "no", entry.source)
    out.print()
    print_table(out, modules)
    services = table("service", "consumer", "provider", "said at", "over")
    for each in composed.selections.values():
        over = ", ".join(
            f"{step.provider if isinstance(step, Selection) else 'a removal'} ({step.source})"
            for step in composed.overridden.get(each.edge, ())
        )
        named = f"{each.service}@{each.major}"
        services.add_row(named, each.consumer or "everybody", each.provider, each.source, over or "–")
    if services.row_count:
        out.print()
        print_table(out, services)
