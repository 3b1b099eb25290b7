"""`wuu-mesh check`: resolve a composition and explain it, without a mesh."""

from __future__ import annotations

import asyncio
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer

from router.cli.status import styled
from router.cli.terminal import (
    EXIT_ERROR,
    EXIT_USAGE,
    CompositionOption,
    HomeOption,
    JsonOption,
    console,
    emit,
    explained,
    fail,
    table,
)
from router.composition.document import Document
from router.composition.graph import Graph
from router.composition.profile import effective
from router.composition.resolve import resolve
from router.generations.journal import Journal, declaration_key
from router.home import Home
from router.instances.lifecycle import HOST_FEATURES
from router.packages.discovery import Discovery
from router.packages.manifest import BadPackage
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
    if any(node.state == "blocked" and node.module not in unknown for node in graph.nodes.values()):
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
    known = discovery.offered
    unknown: list[str] = []
    entries, _ = effective(document)
    journal = Journal(home.journal) if home.journal.is_file() else None
    for module, entry in entries.items():
        package = discovery.packages.get(module)
        if package is None or not entry.enabled:
            continue
        try:
            key = declaration_key(package.fingerprint, entry.config, HOST_FEATURES)
        except BadPackage as bad:
            known[module] = replace(
                known[module], unavailable=bad.message, unavailable_code="invalid_request"
            )
            continue
        declaration = journal.declaration(key) if journal else None
        if declaration is None:
            unknown.append(module)
        known[module] = replace(known[module], declaration=declaration)
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
    out = console()
    rows = table("module", "state", "calls", "why")
    for node in graph.nodes.values():
        calls = [f"{b.service}@{b.major} → {b.provider} ({b.source})" for b in node.bindings]
        calls += [f"{a.service}@{a.major} → nobody" for a in node.absent]
        state = "[yellow]declaration unknown[/]" if node.module in unknown else styled(node.state)
        rows.add_row(node.module, state, "\n".join(calls) or "–", node.reason)
    out.print(rows if graph.nodes else "the composition has no modules")
    if unknown:
        out.print("Declarations are known once a package was started; `wuu-mesh check --start` asks now.")
