"""`wuu-mesh check`: resolve a composition and explain it, without a mesh."""

from __future__ import annotations

import asyncio
import tempfile
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

from router.cli.status import styled
from router.cli.terminal import (
    EXIT_ERROR,
    EXIT_USAGE,
    CompositionOption,
    HomeOption,
    JsonOption,
    emit,
    explained,
    fail,
)
from router.composition.document import Document
from router.composition.graph import Graph
from router.composition.profile import effective
from router.composition.resolve import Known, resolve
from router.generations.journal import Journal, declaration_key
from router.home import Home
from router.instances.lifecycle import HOST_FEATURES
from router.packages.discovery import Discovery
from router.reading import read


def check(
    composition: CompositionOption = None,
    start: Annotated[
        bool,
        typer.Option(
            "--start",
            help="Start packages whose declaration is not known, to ask them. Nothing is activated.",
        ),
    ] = False,
    home: HomeOption = None,
    json: JsonOption = False,
) -> None:
    """Resolve a composition and explain it, without starting the mesh.

    Exits with 2 when the document is rejected, 1 when a module would be blocked, 0 otherwise.
    """
    at = Home.at(home)
    with explained():
        document, discovery = read_or_fail(composition, at)
        graph, unknown = (
            _started(at, document, discovery) if start else _from_journal(at, document, discovery)
        )
    if json:
        emit(_json(graph, unknown))
    else:
        _show(graph, unknown)
    if any(node.state == "blocked" for node in graph.nodes.values()):
        raise typer.Exit(EXIT_ERROR)


def read_or_fail(composition: Path | None, home: Home) -> tuple[Document, Discovery]:
    """The composition and its packages; a file that cannot be read ends the command with 2."""
    try:
        return read(composition, home)
    except OSError as unreadable:
        fail(
            EXIT_USAGE,
            f"{composition}: {unreadable.strerror}",
            "Name a composition that exists with -c FILE.",
        )


def _from_journal(home: Home, document: Document, discovery: Discovery) -> tuple[Graph, list[str]]:
    known: dict[str, Known] = {}
    unknown: list[str] = []
    journal = Journal(home.journal) if home.journal.is_file() else None
    entries, _ = effective(document)
    for module, package in discovery.packages.items():
        version = package.manifest.version
        known[module] = Known(module, version, None)
        if module not in entries or not entries[module].enabled:
            continue
        declaration = (
            journal.declaration(declaration_key(package.fingerprint, entries[module].config, HOST_FEATURES))
            if journal
            else None
        )
        if declaration is None:
            unknown.append(module)
        known[module] = Known(module, version, declaration)
    for module, broken in discovery.broken.items():
        known[module] = Known(
            module, "", None, unavailable=broken.message, unavailable_code="invalid_request"
        )
    if journal:
        journal.close()
    return resolve(document, known), unknown


def _started(home: Home, document: Document, discovery: Discovery) -> tuple[Graph, list[str]]:
    from router.mesh import Mesh

    with tempfile.TemporaryDirectory(prefix="wuu-mesh-check-") as root:
        apart = Home.at(Path(root))
        lock = apart.open()
        try:
            mesh = Mesh(apart, document, discovery, None, "", journal=home.journal)
            return asyncio.run(mesh.declare()), []
        finally:
            apart.close()
            lock.release()


def _json(graph: Graph, unknown: list[str]) -> dict[str, Any]:
    return {
        "modules": [
            {
                "id": node.module,
                "state": "declaration unknown" if node.module in unknown else node.state,
                "error": {"code": node.reason_code, "message": node.reason} if node.reason else None,
                "bindings": [
                    {"service": b.service, "major": b.major, "provider": b.provider, "source": b.source}
                    for b in node.bindings
                ],
                "absent": [
                    {"service": a.service, "major": a.major, "code": a.code, "message": a.message}
                    for a in node.absent
                ],
            }
            for node in graph.nodes.values()
        ],
        "order": list(graph.order),
    }


def _show(graph: Graph, unknown: list[str]) -> None:
    console = Console()
    table = Table("module", "state", "calls", "why", box=None, pad_edge=False)
    for node in graph.nodes.values():
        calls = [f"{b.service}@{b.major} → {b.provider} ({b.source})" for b in node.bindings]
        calls += [f"{a.service}@{a.major} → nobody" for a in node.absent]
        state = "[yellow]declaration unknown[/]" if node.module in unknown else styled(node.state)
        table.add_row(node.module, state, "\n".join(calls) or "–", node.reason)
    console.print(table if graph.nodes else "the composition has no modules")
    if unknown:
        console.print("Declarations are known once a package was started; `wuu-mesh check --start` asks now.")
