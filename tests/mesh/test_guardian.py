"""The guardian: nothing that the mesh started outlives it, however it ends."""

from __future__ import annotations

import asyncio
import signal
import subprocess
from collections.abc import AsyncIterator

import pytest

from tests.support.composition import probe
from tests.support.mesh import Mesh, running
from tests.support.process import Process

PROMISE = 5
"""Seconds within which a mesh has stopped."""


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
    guardian.signal(signal.SIGKILL)
    assert router.ends()
    assert all(process.ends(within=2) for process in processes)
    assert mesh.announced is None
    assert "the guardian is gone" in mesh.log("wuu.router")


@pytest.mark.parametrize("how", ["down", "SIGTERM"])
async def test_a_mesh_stops_in_time_though_its_guardian_does_nothing(mesh: Mesh, how: str) -> None:
    processes = await everything(mesh)
    router = mesh.router
    (guardian,) = router.children()
    guardian.signal(signal.SIGSTOP)
    if how == "down":
        stopping = mesh.spawn("down")
        assert router.ends(PROMISE)
        assert stopping.wait(PROMISE) == 0
    else:
        router.signal(signal.SIGTERM)
        assert router.ends(PROMISE)
    assert all(process.ends(within=2) for process in processes)


def test_up_fails_when_its_mesh_has_lost_its_guardian() -> None:
    mesh = Mesh(probe("a"))
    try:
        up = mesh.spawn("up", "-c", mesh.composition, stderr=subprocess.PIPE)
        assert up.stderr is not None
        said = []
        for line in up.stderr:
            said.append(line)
            if b"mesh is up" in line:
                (guardian,) = mesh.router.children()
                guardian.signal(signal.SIGKILL)
        assert up.wait(PROMISE) == 1
        assert b"the guardian is gone" in b"".join(said)
    finally:
        asyncio.run(mesh.close())


async def test_a_mesh_that_stops_takes_grandchildren_with_it(mesh: Mesh) -> None:
    processes = await everything(mesh)
    await mesh.stop()
    assert all(process.ends(within=2) for process in processes)
