"""Picture: the graph that a command shows: the one that runs, or the one that a composition would have."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

from router.cli.composition.named import read_or_fail
from router.cli.exits import EXIT_USAGE, NoMesh, fail
from router.cli.remembered import remembered
from router.cli.session import Session
from router.composition.composed import Composed
from router.control.graph import described
from router.generations.journal import Journal
from router.home import Home
from router.packages.discovery import Discovery
from router.reading import Composition, read
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


def source_of(
    home: Home, composition: Path | None, shown: GetGraphResponse
) -> tuple[Composition, Composed, Discovery]:
    """What a picture was made of: of a mesh that runs what it committed, be the files as they may now.

    Raises `Rejected`, of a mesh that runs only where the packages under it are gone.
    """
    committed = committed_in(home) if shown.generation.id else None
    if committed is None:
        return read_or_fail(composition, home)
    return committed, *read(committed, home)


def committed_in(home: Home) -> Composition | None:
    """The composition that holds in a home."""
    with closing(Journal(home.journal if home.journal.is_file() else None)) as journal:
        return journal.last_committed()


def named(picture: GetGraphResponse, composition: Path | None = None) -> str:
    """What the picture is of, in a few words; `composition` is the file that was named."""
    generation = picture.generation
    if composition is not None:
        return f"{composition}, as it would run"
    if generation.id:
        return f"generation {generation.id} {generation.state}"
    return "no mesh runs; this is what would"
