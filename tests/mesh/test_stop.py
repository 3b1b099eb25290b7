"""The end of a mesh: providers after their consumers, within five seconds, whatever a module does."""

from __future__ import annotations

import signal
import subprocess
import time
from collections.abc import AsyncIterator, Callable

import pytest

from tests.support.composition import probe
from tests.support.mesh import Mesh
from tests.support.probe import Action
from tests.support.process import PATIENCE, Process

PROMISE = 5
"""Seconds within which a mesh has stopped."""


@pytest.fixture
async def mesh() -> AsyncIterator[Mesh]:
    mesh = Mesh(
        probe("consumer", requires=["probe.stubborn@1"]),
        probe(
            "stubborn",
            provides=["probe.stubborn@1"],
            requires=["probe.provider@1"],
            steps={"shutdown": Action(hang=True)},
        ),
        probe("provider", provides=["probe.provider@1"], requires=["probe.rude@1"]),
        probe("rude", provides=["probe.rude@1"], steps={"shutdown": Action(error="not now")}),
    )
    yield mesh
    await mesh.close()


def foreground(mesh: Mesh) -> subprocess.Popen[bytes]:
    """`wuu-mesh up` in the foreground, once it has said that the mesh is up."""
    up = mesh.spawn("up", "-c", mesh.composition, stderr=subprocess.PIPE)
    assert up.stderr is not None
    for line in up.stderr:
        if line.startswith(b"mesh is up"):
            return up
    raise AssertionError(f"`up` ended with {up.wait()}")


def stopped(mesh: Mesh, stop: Callable[[], object]) -> list[str]:
    """Stops a mesh that must end, with all below it, as promised; returns who was shut down, in order."""
    router = mesh.router
    processes = [router, *router.descendants()]
    begun = time.monotonic()
    stop()
    for process in processes:
        assert process.ends(begun + PROMISE - time.monotonic()), "the mesh did not stop as promised"
    assert mesh.announced is None
    return [line.split()[0] for line in mesh.recorded() if line.endswith(" shutdown")]


CONSUMERS_FIRST = ["consumer", "stubborn", "provider", "rude"]


async def test_down_stops_consumers_before_their_providers(mesh: Mesh) -> None:
    mesh.up()
    down: list[subprocess.CompletedProcess[str]] = []
    assert stopped(mesh, lambda: down.append(mesh.cli("down"))) == CONSUMERS_FIRST
    assert (down[0].returncode, down[0].stderr) == (0, "")
    said = mesh.log("wuu.router")
    assert "unconfirmed: stubborn did not answer shutdown" in said
    assert "unconfirmed: rude: shutdown: not now" in said


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
async def test_a_signal_to_the_foreground_stops_the_mesh(mesh: Mesh, number: signal.Signals) -> None:
    up = foreground(mesh)
    assert stopped(mesh, lambda: up.send_signal(number)) == CONSUMERS_FIRST
    assert up.wait(PATIENCE) == 0
    assert up.stderr is not None
    assert b"Traceback" not in up.stderr.read()
    up.stderr.close()


async def test_a_second_interrupt_ends_the_mesh_at_once(mesh: Mesh) -> None:
    up = foreground(mesh)
    assert up.stderr is not None
    processes = [mesh.router, *mesh.router.descendants()]
    up.send_signal(signal.SIGINT)
    for line in up.stderr:
        # `consumer` is gone and `stubborn` hangs.
        if line == b"module consumer stopped\n":
            break
    up.send_signal(signal.SIGINT)
    assert all(process.ends(within=2) for process in processes)
    up.wait(PATIENCE)
    up.stderr.close()


async def test_a_foreground_that_is_killed_takes_the_mesh_with_it(mesh: Mesh) -> None:
    up = foreground(mesh)
    assert stopped(mesh, up.kill) == CONSUMERS_FIRST
    up.wait(PATIENCE)
    assert up.stderr is not None
    up.stderr.close()


async def test_a_signal_to_the_router_stops_the_mesh(mesh: Mesh) -> None:
    mesh.up()
    assert stopped(mesh, lambda: mesh.router.signal(signal.SIGTERM)) == CONSUMERS_FIRST


async def test_a_mesh_can_be_stopped_while_it_starts(mesh: Mesh) -> None:
    mesh.compose(probe("late", steps={"prepare": Action(hang=True)}))
    up = mesh.spawn("up", "-c", mesh.composition, stderr=subprocess.PIPE)
    assert up.stderr is not None
    for line in up.stderr:
        if line == b"generation 1 building\n":
            break
    router = mesh.router
    processes = [router, *router.descendants()]
    up.send_signal(signal.SIGINT)
    assert all(process.ends(within=PROMISE) for process in processes)
    assert up.wait(PATIENCE) == 0
    up.stderr.close()


async def test_a_mesh_without_modules_stops_at_once(mesh: Mesh) -> None:
    mesh.compose()
    mesh.up()
    router: Process = mesh.router
    assert mesh.cli("down").returncode == 0
    assert router.ends(within=0)
