"""`wuu-mesh apply`."""

from __future__ import annotations

from pathlib import Path

from router.cli.composition.named import accepted, composition_or_fail
from router.cli.exits import explained
from router.cli.session import Session
from router.cli.transition import carry_out
from router.home import Home
from wuu.mesh.v1.control_pb2 import ApplyRequest, CompositionSource


def apply(root: Path | None, named: Path | None, *, dry_run: bool, json: bool) -> None:
    """Makes a composition the one that runs; without a name, the files of the one that runs as they are."""
    with explained(), accepted(json=json):
        if named is None:
            with Session.of(root) as session:
                running = session.status().router.composition
            named = Path(running) if running else None
        composition = composition_or_fail(named, Home.at(root), "as FILE")
    sources = [
        CompositionSource(layer=each.layer, path=str(each.path), document=each.text)
        for each in composition.sources
    ]
    carry_out(root, "Apply", ApplyRequest(sources=sources, dry_run=dry_run), json=json)
