"""Picture: the graph that a command shows: the one that runs, or the one that a composition would have."""

from __future__ import annotations

import sqlite3
from pathlib import Path

from router.cli.composition import read_or_fail
from router.cli.exits import EXIT_USAGE, NoMesh, fail
from router.cli.remembered import remembered
from router.cli.session import Session
from router.control.graph import described
from router.home import Home
from wuu.mesh.v1.control_pb2 import GetGraphResponse


def picture(home: Home, composition: Path | None) -> GetGraphResponse:
    """The graph of a composition that is named; without one that of the mesh which runs in the home.

    Where none runs, it is what `up` would start with no file named. Raises `Rejected`.
    """
    if composition is None:
        try:
            with Session.of(home.root) as session:
                return session.graph()
        except NoMesh:
            pass  # It is asked for all the same: what would run.
    _, composed, discovery = read_or_fail(composition, home)
    try:
        found = remembered(home, composed, discovery)
    except sqlite3.Error as unusable:
        fail(EXIT_USAGE, f"{home.journal}: {unusable}", "Move it away, or name another --home.")
    return described(found.graph, found.composed, found.known, found.states)


def file_of_running(home: Home) -> Path | None:
    """The file that was named for the mesh which runs in the home."""
    with Session.of(home.root) as session:
        running = session.status().router.composition
    return Path(running) if running else None


def named(picture: GetGraphResponse) -> str:
    """What the picture is of, in a few words."""
    generation = picture.generation
    if generation.id:
        return f"generation {generation.id} {generation.state}"
    return "no mesh runs; this is what would"
