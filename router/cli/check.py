"""`wuu-mesh check`: resolve a composition and explain it, without a mesh."""

from __future__ import annotations

import asyncio
import signal
import sqlite3
import tempfile
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from pathlib import Path

import typer

from router.cli.answer import emit
from router.cli.composition.named import accepted, read_or_fail
from router.cli.exits import EXIT_ERROR, EXIT_USAGE, explained, fail, say
from router.cli.explanation import UNKNOWN, explanation_json, print_explanation
from router.cli.remembered import remembered, states_of, was_started
from router.cli.terminal import console
from router.composition.graph import Graph
from router.composition.listed import listed
from router.home import Home
from router.reading import Composition, problem_of, read


def explain(root: Path | None, composition: Path | None, *, start: bool, json: bool) -> None:
    """Prints the graph of a composition."""
    with explained(), accepted(json=json):
        home = Home.at(root)
        given, composed, discovery = read_or_fail(composition, home)
        try:
            if start:
                graph = _asked(home, given)
                states: Mapping[str, str] = states_of(graph, ())
            else:
                found = remembered(home, composed, discovery)
                graph, states = found.graph, found.states
        except sqlite3.Error as unusable:
            fail(EXIT_USAGE, f"{home.journal}: {unusable}", "Move it away, or name another --home.")
        if json:
            emit(explanation_json(graph, states))
        else:
            print_explanation(graph, states, list(composed.selections.values()))
    for note in graph.notes:
        say(f"note: {note}")
    for broken in discovery.problems:
        if broken.module not in graph.nodes:
            say(f"note: {problem_of(broken)}")
    unknown = [module for module, state in states.items() if state == UNKNOWN]
    if unknown and not json:
        _tell_unknown(home, sorted(unknown))
    if "blocked" in states.values():
        raise typer.Exit(EXIT_ERROR)


def _tell_unknown(home: Home, unknown: list[str]) -> None:
    remedy = "`wuu-mesh check --start` asks now; `wuu-mesh up` does, too."
    if fresh := [module for module in unknown if not was_started(home, module)]:
        say(f"what {listed(fresh)} would declare is not known before a first start", remedy)
    if failed := [module for module in unknown if was_started(home, module)]:
        have = "has" if len(failed) == 1 else "have"
        say(
            f"{listed(failed)} {have} started before and not declared yet",
            f"`wuu-mesh logs {failed[0]}` may say why. {remedy}",
        )


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
