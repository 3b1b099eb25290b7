"""One mesh for every command that only asks."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from tests.support.composition import Entry, probe, select, shell
from tests.support.mesh import Mesh, running


@pytest.fixture(scope="package")
async def mesh() -> AsyncIterator[Mesh]:
    """Modules in every state that a mesh can be found in."""
    async with running(
        probe(
            "notes",
            provides=["probe.notes@1", "probe.twice@1"],
            requires=["probe.other@1?", "probe.absent@1?"],
            tools=["echo", "error", "hang"],
        ),
        probe("other", provides=["probe.other@1", "probe.twice@1"], streams="probe.streams@2"),
        probe("borrower", requires=["probe.twice@1"]),
        probe("blocked", requires=["probe.nobody@1"]),
        shell("failed", "echo the last words >&2; exit 3"),
        probe("disabled", enabled=False),
        Entry(id="wuu.state.sqlite"),
        services=[select("probe.twice@1", "other", consumer="borrower")],
    ) as mesh:
        yield mesh
