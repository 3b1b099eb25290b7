"""The guardian: nothing that the mesh started outlives it, however it ends."""

from __future__ import annotations

import signal
from collections.abc import AsyncIterator

import pytest

from tests.support.composition import probe
from tests.support.mesh import Mesh, running
from tests.support.process import Process


@pytest.fixture
async def mesh() -> AsyncIterator[Mesh]:
    async with running(
        probe("a", provides=["probe.a@1"], requires=["probe.b@1"]), probe("b", provides=["probe.b@1"])
    ) as mesh:
        yield mesh


async def everything(mesh: Mesh) -> list[Process]:
    """Every process below the router: the guardian, the modules, and children of theirs."""
    await mesh.call("probe.a@1", "fork", {})
    await mesh.call("probe.b@1", "fork", {"session": True})
    processes = mesh.router.descendants()
    assert len(processes) == 5
    return processes


async def test_a_router_that_is_killed_leaves_no_child_alive(mesh: Mesh) -> None:
    processes = await everything(mesh)
    mesh.router.signal(signal.SIGKILL)
    assert all(process.ends(within=2) for process in processes)


async def test_a_guardian_that_is_killed_stops_the_mesh(mesh: Mesh) -> None:
    processes = await everything(mesh)
    router = mesh.router
    (guardian,) = router.children()
    modules = [Process(row["pid"]) for row in mesh.status()["modules"]]
    guardian.signal(signal.SIGKILL)
    assert router.ends()
    assert all(module.ends() for module in modules)
    assert mesh.announced is None
    assert "the guardian is gone" in mesh.log("wuu.router")
    for process in processes:
        # A grandchild in a session of its own is nobody's any more.
        process.kill()


async def test_a_mesh_that_stops_takes_grandchildren_with_it(mesh: Mesh) -> None:
    processes = await everything(mesh)
    await mesh.stop()
    assert all(process.ends(within=2) for process in processes)
