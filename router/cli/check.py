"""`wuu-mesh check`: resolve a composition and explain it, without a mesh."""

from __future__ import annotations

import asyncio
import signal
import sqlite3
import tempfile
from contextlib import closing
from pathlib import Path

import typer

from router.cli.exits import EXIT_ERROR, EXIT_USAGE, explained, fail
from router.cli.explanation import explanation_json, print_explanation
from router.cli.terminal import console, emit
from router.composition.document import Document
from router.composition.graph import Graph
from router.composition.profile import effective
from router.composition.resolve import Known, resolve
from router.generations.build import without_kernel_services
from router.generations.journal import Journal, declaration_key
from router.home import Home
from router.instances.lifecycle import HOST_FEATURES
from router.packages.discovery import Discovery
from router.packages.manifest import BadPackage
from router.reading import read

UNKNOWN = "declaration unknown"
"""The state of a module that was never started: what it provides and requires is not known."""


def explain(root: Path | None, composition: Path | None, *, start: bool, json: bool) -> None:
    """Prints the graph of a composition."""
    home = Home.at(root)
    with explained():
        document, discovery = read_or_fail(composition, home)
        try:
            graph, unknown = (
                (_asked(home, document, discovery), frozenset[str]())
                if start
                else _remembered(home, document, discovery)
            )
        except sqlite3.Error as unusable:
            fail(EXIT_USAGE, f"{home.journal}: {unusable}", "Move it away, or name another --home.")
        states = {
            module: UNKNOWN if module in unknown else node.state for module, node in graph.nodes.items()
        }
        if json:
            emit(explanation_json(graph, states))
        else:
            print_explanation(graph, states)
    if UNKNOWN in states.values() and not json:
        typer.echo(
            "`wuu-mesh check --start` asks modules what they declare; so does `wuu-mesh up`.", err=True
        )
    if "blocked" in states.values():
        raise typer.Exit(EXIT_ERROR)


def read_or_fail(composition: Path | None, home: Home) -> tuple[Document, Discovery]:
    """The composition and its packages; a file that cannot be read ends the command with 2."""
    try:
        return read(composition, home)
    except OSError as unreadable:
        where = unreadable.filename or composition
        fail(EXIT_USAGE, f"{where}: {unreadable.strerror}", "Name a composition with -c FILE.")


def _remembered(home: Home, document: Document, discovery: Discovery) -> tuple[Graph, frozenset[str]]:
    """The graph from the declarations that the journal has kept, and the modules of which it has none."""
    known: dict[str, Known] = {
        module: Known(module, package.manifest.version, None)
        for module, package in discovery.packages.items()
    }
    for module, broken in discovery.broken.items():
        known[module] = _broken(broken, "")
    unknown: set[str] = set()
    # A home without a journal is left as it is.
    with closing(Journal(home.journal if home.journal.is_file() else Path(":memory:"))) as journal:
        for module, entry in effective(document)[0].items():
            package = discovery.packages.get(module)
            if package is None or not entry.enabled:
                continue
            version = package.manifest.version
            try:
                key = declaration_key(package.fingerprint, entry.config, HOST_FEATURES)
            except BadPackage as broken:
                known[module] = _broken(broken, version)
                continue
            declaration = journal.declaration(key)
            known[module] = Known(module, version, without_kernel_services(declaration))
            if declaration is None:
                unknown.add(module)
    return resolve(document, known), frozenset(unknown)


def _broken(broken: BadPackage, version: str) -> Known:
    return Known(broken.module, version, None, unavailable=broken.message, unavailable_code="invalid_request")


def _asked(home: Home, document: Document, discovery: Discovery) -> Graph:
    """The graph from what the modules declare now. They run in a home of their own; the journal is kept."""
    from router.mesh import Mesh

    signal.signal(signal.SIGTERM, signal.default_int_handler)
    home.root.mkdir(parents=True, exist_ok=True)
    with (
        console(stderr=True).status("asking the modules what they declare"),
        tempfile.TemporaryDirectory(prefix="wuu-mesh-check-") as root,
    ):
        apart = Home.at(Path(root))
        lock = apart.open()
        try:
            mesh = Mesh(apart, document, discovery, None, "", journal=home.journal)
            return asyncio.run(mesh.declare())
        finally:
            apart.close()
            lock.release()
