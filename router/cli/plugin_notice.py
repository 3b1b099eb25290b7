"""Notice: what a mesh that runs is told once the packages of its home have changed."""

from __future__ import annotations

from collections.abc import Collection

from router.home import Home


def published(home: Home, modules: Collection[str]) -> None:
    """Tells the mesh of a home, if one runs, that the packages with these ids have changed.

    Called after the ledger is written. A mesh reads the ledger with its next transition in any case.
    """
