"""The long suite of HTTP/2: `WUU_TEST_HTTP2=1`. Without it nothing but its table is collected."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.support.composition import bare, probe
from tests.support.mesh import Mesh, running

collect_ignore = (
    []
    if os.environ.get("WUU_TEST_HTTP2") == "1"
    else ["test_h2load.py", "test_h2spec.py", "test_in_flight.py"]
)


@pytest.fixture(scope="module")
async def mesh() -> AsyncIterator[Mesh]:
    """A mesh with something to call."""
    async with running(bare("bare"), probe("streams", streams="probe.streams@1")) as mesh:
        yield mesh


@pytest.fixture(scope="module")
def control(mesh: Mesh) -> Path:
    """The socket on which the operator calls."""
    announced = mesh.announced
    assert announced is not None, "it runs"
    return Path(announced.control)
