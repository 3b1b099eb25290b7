"""Notice: what a mesh that runs is told once the packages of its home have changed."""

from __future__ import annotations

from collections.abc import Iterable

from router.cli.exits import NoMesh, say
from router.cli.session import Session
from router.cli.transition import followed
from router.home import Home
from wuu.mesh.v1.control_pb2 import RereadPackagesRequest, Transition


def published(home: Home, cause: str, modules: Iterable[str]) -> Transition | None:
    """Has the mesh of a home take in what became of packages; None where none runs.

    Called after the ledger is written. A mesh that starts later reads it in any case.
    """
    try:
        with Session.of(home.root) as session:
            return followed(session, "RereadPackages", RereadPackagesRequest(cause=cause, modules=modules))
    except NoMesh:
        return None


def refused(transition: Transition | None) -> bool:
    """Whether the mesh goes on without the change."""
    return transition is not None and transition.outcome in ("rejected", "dropped")


def tell_taken_in(transition: Transition | None, module: str) -> None:
    """Says what the mesh made of a package that may run now."""
    if transition is None:
        return
    generation = transition.generation
    say(f"note: the mesh took it in: generation {generation.id} {generation.state}")
    changed = {*transition.difference.added, *transition.difference.replaced, *transition.difference.carried}
    if module not in changed:
        remedy = f'Name it in `modules` of the composition: "{module}": true.'
        say(f"note: {module} is no part of the composition that runs", remedy)
