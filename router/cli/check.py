"""`wuu-mesh check`: resolve a composition and explain it, without a mesh."""

from __future__ import annotations

import asyncio
import signal
import sqlite3
import tempfile
from collections.abc import Awaitable, Callable
from contextlib import closing
from dataclasses import replace
from functools import partial
from pathlib import Path

import typer

from router.cli.answer import emit
from router.cli.composition import accepted, read_or_fail
from router.cli.exits import EXIT_ERROR, EXIT_USAGE, explained, fail, say
from router.cli.explanation import UNKNOWN, explanation_json, print_explanation
from router.cli.terminal import console
from router.composition.choice import listed
from router.composition.composed import Composed
from router.composition.graph import Graph
from router.composition.resolve import resolve
from router.generations.journal import Journal, declaration_key
from router.generations.kernel import without_kernel_services
from router.home import Home
from router.instances.lifecycle import HOST_FEATURES
from router.instances.log import latest_log
from router.packages.discovery import Discovery
from router.packages.manifest import BadPackage
from router.reading import Composition, problem_of, read


def explain(root: Path | None, composition: Path | None, *, start: bool, json: bool) -> None:
    """Prints the graph of a composition."""
    with explained(), accepted(json=json):
        home = Home.at(root)
        given, composed, discovery = read_or_fail(composition, home)
        try:
            graph, unknown = (
                (_asked(home, given), frozenset[str]()) if start else _remembered(home, composed, discovery)
            )
        except sqlite3.Error as unusable:
            fail(EXIT_USAGE, f"{home.journal}: {unusable}", "Move it away, or name another --home.")
        states: dict[str, str] = {module: node.state for module, node in graph.nodes.items()}
        states.update(dict.fromkeys(unknown, UNKNOWN))
        if json:
            emit(explanation_json(graph, states))
        else:
            print_explanation(graph, states, list(composed.selections.values()))
    for note in graph.notes:
        say(f"note: {note}")
    for broken in discovery.problems:
        if broken.module not in graph.nodes:
            say(f"note: {problem_of(broken)}")
    if unknown and not json:
        _tell_unknown(home, sorted(unknown))
    if "blocked" in states.values():
        raise typer.Exit(EXIT_ERROR)


def _tell_unknown(home: Home, unknown: list[str]) -> None:
    remedy = "`wuu-mesh check --start` asks now; `wuu-mesh up` does, too."
    if fresh := [module for module in unknown if not _was_started(home, module)]:
        say(f"what {listed(fresh)} would declare is not known before a first start", remedy)
    if failed := [module for module in unknown if _was_started(home, module)]:
        have = "has" if len(failed) == 1 else "have"
        say(
            f"{listed(failed)} {have} started before and not declared yet",
            f"`wuu-mesh logs {failed[0]}` may say why. {remedy}",
        )


def _was_started(home: Home, module: str) -> bool:
    return latest_log(home.logs, module) is not None


def _remembered(home: Home, composed: Composed, discovery: Discovery) -> tuple[Graph, frozenset[str]]:
    """The graph from the declarations that the journal has kept, and the modules of which it has none."""
    known = dict(discovery.offered)
    unknown: set[str] = set()
    distrusted: dict[str, str] = {}
    # A home without a journal is left as it is.
    with closing(Journal(home.journal if home.journal.is_file() else None)) as journal:
        for module, entry in composed.modules.items():
            package = discovery.packages.get(module)
            if package is None or not entry.enabled:
                continue
            if discovery.ledger is not None and (why := discovery.ledger.verdict(package)):
                distrusted[module] = why
            try:
                key = declaration_key(package.fingerprint, entry.config, HOST_FEATURES)
            except BadPackage as broken:
                known[module] = replace(
                    known[module], unavailable=broken.message, unavailable_code="invalid_request"
                )
                continue
            declaration = journal.declaration(key)
            known[module] = replace(known[module], declaration=without_kernel_services(declaration))
            if declaration is None:
                unknown.add(module)
                if _was_started(home, module):
                    why = "it has started before and not declared yet"
                    known[module] = replace(known[module], unavailable=why)
    return resolve(composed.without(distrusted), known), frozenset(unknown - distrusted.keys())


def _asked(home: Home, composition: Composition) -> Graph:
    """The graph from what the modules declare now. They run in a home of their own; the journal is kept."""
    from router.mesh import Mesh

    home.make()
    with (
        console(stderr=True).status("asking the modules what they declare"),
        tempfile.TemporaryDirectory(prefix="wuu-mesh-check-") as root,
    ):
        apart = Home.at(Path(root))
        hold = apart.open()
        try:
            mesh = Mesh(apart, composition, partial(read, home=home))
            return asyncio.run(_declared(partial(mesh.declare, home.journal)))
        finally:
            hold.close()


async def _declared(declare: Callable[[], Awaitable[Graph]]) -> Graph:
    # asyncio ends on Ctrl-C with everything stopped; so it shall on SIGTERM.
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, signal.raise_signal, signal.SIGINT)
    return await declare()
