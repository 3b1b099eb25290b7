"""The end of a mesh: providers after their consumers, within five seconds, whatever a module does."""

from __future__ import annotations

import asyncio
import signal
import subprocess
import time
from collections.abc import AsyncIterator, Callable

import pytest

from tests.support.caller import failure
from tests.support.composition import probe, shell
from tests.support.mesh import Mesh
from tests.support.process import PATIENCE, Process
from tests.support.script import Action

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
    mesh.start()
    down: list[subprocess.CompletedProcess[str]] = []
    assert stopped(mesh, lambda: down.append(mesh.cli("down"))) == CONSUMERS_FIRST
    assert (down[0].returncode, down[0].stderr) == (0, "")
    said = mesh.log("wuu.router")
    assert "unconfirmed: stubborn did not answer shutdown" in said
    assert "unconfirmed: shutdown: not now" in said


async def test_an_interrupt_of_the_foreground_stops_consumers_before_their_providers(mesh: Mesh) -> None:
    up = foreground(mesh)
    assert stopped(mesh, lambda: up.send_signal(signal.SIGINT)) == CONSUMERS_FIRST
    assert up.wait(PATIENCE) == 0
    assert up.stderr is not None
    assert b"Traceback" not in up.stderr.read()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
async def test_another_signal_to_the_foreground_stops_the_mesh_too(
    mesh: Mesh, number: signal.Signals
) -> None:
    mesh.compose(probe("one"))
    up = foreground(mesh)
    assert stopped(mesh, lambda: up.send_signal(number)) == ["one"]
    assert up.wait(PATIENCE) == 0


async def test_a_second_interrupt_ends_the_mesh_at_once(mesh: Mesh) -> None:
    mesh.compose(probe("stubborn", steps={"shutdown": Action(hang=True)}))
    up = foreground(mesh)
    assert up.stderr is not None
    processes = [mesh.router, *mesh.router.descendants()]
    up.send_signal(signal.SIGINT)
    for line in up.stderr:
        if line.startswith(b"mesh stopping"):
            break
    up.send_signal(signal.SIGINT)
    assert all(process.ends(within=2) for process in processes)


async def test_a_foreground_that_is_killed_takes_the_mesh_with_it(mesh: Mesh) -> None:
    mesh.compose(probe("one"))
    up = foreground(mesh)
    assert stopped(mesh, up.kill) == ["one"]


async def test_a_signal_to_the_router_stops_the_mesh(mesh: Mesh) -> None:
    mesh.compose(probe("one"))
    mesh.start()
    assert stopped(mesh, lambda: mesh.router.signal(signal.SIGTERM)) == ["one"]


async def test_a_mesh_can_be_stopped_while_it_starts(mesh: Mesh) -> None:
    mesh.compose(probe("late", steps={"prepare": Action(hang=True)}))
    up = mesh.spawn("up", "-c", mesh.composition, stderr=subprocess.PIPE)
    assert up.stderr is not None
    for line in up.stderr:
        if line == b"generation 1 building\n":
            break
    router = mesh.router
    processes = [router, *router.descendants()]
    error = await failure(mesh.call("probe.late@1", "echo"))
    assert (error.code, error.outcome) == ("service_unavailable", "not_dispatched")
    assert "still starting" in error.message
    up.send_signal(signal.SIGINT)
    assert all(process.ends(within=PROMISE) for process in processes)
    assert up.wait(PATIENCE) == 0


async def test_a_mesh_can_be_stopped_before_its_modules_listen(mesh: Mesh) -> None:
    mesh.compose(*(shell(f"deaf-{n}", "exec sleep 600") for n in range(8)))
    up = mesh.spawn("up", "-c", mesh.composition, stderr=subprocess.PIPE)
    assert up.stderr is not None
    assert up.stderr.readline() == b"module deaf-0 starting\n"
    router = mesh.router
    processes = [router, *router.descendants()]
    up.send_signal(signal.SIGINT)
    assert all(process.ends(within=PROMISE) for process in processes)
    assert up.wait(PATIENCE) == 0
    assert not mesh.accidents("wuu.router")


async def test_a_call_in_flight_hears_that_its_provider_stops(mesh: Mesh) -> None:
    mesh.compose(probe("one", provides=["probe.one@1"]))
    mesh.start()
    call = asyncio.create_task(failure(mesh.call("probe.one@1", "hang", {"key": "stop"})))
    await mesh.call("probe.one@1", "hanging", {"key": "stop"})
    router = mesh.router
    router.signal(signal.SIGTERM)
    error = await call
    assert (error.code, error.outcome) == ("generation_closed", "unknown")
    assert router.ends()


async def test_a_mesh_that_stops_says_so(mesh: Mesh) -> None:
    mesh.compose(
        probe("slow", provides=["probe.slow@1"], steps={"shutdown": Action(hang=True)}),
        probe("lonely", requires=["probe.nobody@1"]),
    )
    up = mesh.spawn("up", "-c", mesh.composition, stderr=subprocess.PIPE)
    assert up.stderr is not None
    asked = False
    for line in up.stderr:
        if line.startswith(b"mesh is up"):
            assert await mesh.call("probe.slow@1", "echo", asked) is asked
            up.send_signal(signal.SIGINT)
            asked = True
        if line.startswith(b"mesh stopping"):
            break
    assert asked
    status = mesh.status()
    assert status["generation"]["state"] == "closing"
    assert {row["id"]: row["state"] for row in status["modules"]} == {"slow": "stopping", "lonely": "blocked"}
    error = await failure(mesh.call("probe.slow@1", "echo"))
    assert (error.code, error.outcome, error.message) == (
        "generation_closed",
        "not_dispatched",
        "the mesh is stopping",
    )
    await mesh.hang_up()
    assert up.wait(PATIENCE) == 0


async def test_a_module_that_is_frozen_is_ended_all_the_same(mesh: Mesh) -> None:
    mesh.compose(probe("frozen", provides=["probe.one@1"]), probe("consumer", requires=["probe.one@1"]))
    mesh.start()
    Process(mesh.module("frozen")["pid"]).signal(signal.SIGSTOP)
    assert stopped(mesh, lambda: mesh.cli("down")) == ["consumer"]


async def test_a_mesh_without_modules_stops_at_once(mesh: Mesh) -> None:
    mesh.compose()
    mesh.start()
    router: Process = mesh.router
    assert mesh.cli("down").returncode == 0
    assert router.ends(within=0)
