"""One mesh for every command that only asks."""

from __future__ import annotations

import signal
from collections.abc import AsyncIterator, Iterator

import pytest

from tests.support.composition import Entry, probe, select, shell
from tests.support.mesh import Mesh, running


@pytest.fixture(scope="package", autouse=True)
def heeded() -> Iterator[None]:
    """Signals that tests send: what runs in the background ignores some, and its children would, too."""
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGHUP)}
    for number, handler in before.items():
        if handler is signal.SIG_IGN:
            signal.signal(number, signal.SIG_DFL)
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


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
