"""The home: one mesh each, and what a dead one left behind is in nobody's way."""

from __future__ import annotations

import shutil
import signal
import stat
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.support.composition import probe
from tests.support.mesh import Mesh, running


@pytest.fixture
async def mesh() -> AsyncIterator[Mesh]:
    async with running(probe("a", provides=["probe.a@1"])) as mesh:
        yield mesh


def sockets(mesh: Mesh) -> Path:
    """The directory of the mesh's sockets."""
    return next((mesh.directory / "run" / "wuu-mesh").iterdir())


async def test_two_meshes_run_side_by_side(mesh: Mesh) -> None:
    async with running(
        probe("a", provides=["probe.a@1"]), env={"XDG_RUNTIME_DIR": str(mesh.directory / "run")}
    ) as other:
        assert mesh.router.pid != other.router.pid
        for each in (mesh, other):
            assert (await each.call("probe.a@1", "shake"))["instance"] == each.module("a")["instance"]
        await other.stop()
        assert await mesh.call("probe.a@1", "echo", "still here") == "still here"


async def test_a_second_mesh_in_the_same_home_is_refused_and_hears_who_has_it(mesh: Mesh) -> None:
    second = mesh.cli("up", "--detach", "-c", mesh.composition)
    assert second.returncode == 1
    assert f"process {mesh.router.pid} holds {mesh.home}" in second.stderr
    assert "wuu-mesh down" in second.stderr
    assert await mesh.call("probe.a@1", "echo", "unharmed") == "unharmed"


async def test_a_mesh_whose_home_was_removed_keeps_its_sockets_until_it_has_ended(mesh: Mesh) -> None:
    router = mesh.router
    assert await mesh.call("probe.a@1", "echo", "before") == "before"
    await mesh.hang_up()
    router.signal(signal.SIGSTOP)
    shutil.rmtree(mesh.home)
    second = mesh.cli("up", "--detach", "-c", mesh.composition)
    assert second.returncode == 1
    assert f"process {router.pid} holds {mesh.home}" in second.stderr
    assert f"kill {router.pid}" in second.stderr
    router.signal(signal.SIGCONT)
    assert router.ends()
    mesh.authorize()
    mesh.start()
    assert await mesh.call("probe.a@1", "echo", "anew") == "anew"


async def test_what_a_killed_mesh_left_behind_does_not_block_a_start(mesh: Mesh) -> None:
    router = mesh.router
    children = router.descendants()
    router.signal(signal.SIGKILL)
    assert router.ends() and all(child.ends() for child in children)
    await mesh.hang_up()
    left = list(sockets(mesh).iterdir())
    assert mesh.announced is not None and left
    mesh.start()
    assert mesh.router.pid != router.pid
    assert await mesh.call("probe.a@1", "echo", "again") == "again"
    assert not [socket for socket in left if socket.exists() and len(socket.name) == 8]


async def test_a_home_whose_mesh_was_killed_says_that_none_runs(mesh: Mesh) -> None:
    router = mesh.router
    router.signal(signal.SIGKILL)
    assert router.ends()
    answer = mesh.cli("status")
    assert answer.returncode == 3
    assert f"no mesh is running in {mesh.home}" in answer.stderr


async def test_a_mesh_that_stops_leaves_no_socket(mesh: Mesh) -> None:
    directory = sockets(mesh)
    await mesh.stop()
    assert not directory.exists()
    assert mesh.announced is None


async def test_only_the_user_can_reach_the_sockets(mesh: Mesh) -> None:
    directory = sockets(mesh)
    assert stat.S_IMODE(directory.stat().st_mode) == 0o700
    names = {socket.name for socket in directory.iterdir()}
    assert {"control", "router"} < names
    for name in ("control", "router"):
        assert stat.S_IMODE((directory / name).stat().st_mode) == 0o600


async def test_only_the_user_can_read_what_it_keeps(mesh: Mesh) -> None:
    await mesh.stop()
    shutil.rmtree(mesh.home)
    # Whoever made the home may have let everybody in.
    mesh.home.mkdir(mode=0o755)
    mesh.authorize()
    mesh.start()
    for kept in ("logs/a", "logs/wuu.router", "state/a"):
        assert stat.S_IMODE((mesh.home / kept).stat().st_mode) == 0o700, kept
    journals = list(mesh.home.glob("journal.sqlite3*"))
    assert journals and all(stat.S_IMODE(kept.stat().st_mode) == 0o600 for kept in journals)


async def test_a_home_is_made_for_the_user_alone(mesh: Mesh) -> None:
    await mesh.stop()
    for command in (("check", "--start", "-c", mesh.composition), ("up", "--detach", "-c", mesh.composition)):
        shutil.rmtree(mesh.home)
        assert mesh.cli(*command).returncode == 0
        assert stat.S_IMODE(mesh.home.stat().st_mode) == 0o700


async def test_every_start_has_a_socket_that_was_never_used(mesh: Mesh) -> None:
    before = {socket.name for socket in sockets(mesh).iterdir()} - {"control", "router"}
    await mesh.stop()
    mesh.start()
    assert before.isdisjoint(socket.name for socket in sockets(mesh).iterdir())
