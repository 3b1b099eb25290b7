"""Ctrl-C: whatever a command waits for, it ends, and the mesh is as the operator was told."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import AsyncIterator

import pytest

from tests.cli.command import at_terminal, begun, composed, end, happens, heard, left_behind
from tests.support.composition import probe, shell
from tests.support.mesh import Mesh
from tests.support.script import Action
from tests.support.terminal import Terminal

PROMISE = 5
"""Seconds within which a mesh has stopped."""


@pytest.fixture
async def slow() -> AsyncIterator[Mesh]:
    """A composition with a module that never answers initialize."""
    async with composed(probe("slow", steps={"initialize": Action(hang=True)})) as mesh:
        yield mesh


@pytest.fixture
async def stubborn() -> AsyncIterator[Mesh]:
    """A composition with a module that never answers shutdown."""
    async with composed(probe("stubborn", steps={"shutdown": Action(hang=True)})) as mesh:
        yield mesh


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGHUP])
async def test_up_stops_while_a_module_hangs_in_initialize(slow: Mesh, number: signal.Signals) -> None:
    with begun(slow, "up", "-c", slow.composition) as up:
        heard(up, "module slow starting")
        router = slow.router
        up.send_signal(number)
        assert router.ends(within=PROMISE)
        code, said = end(up)
    assert code == 0
    assert said.endswith("mesh is down\n")
    assert "Traceback" not in said + slow.log("wuu.router")
    assert slow.announced is None
    assert left_behind(slow) == []


async def test_what_was_started_to_survive_a_hangup_does(slow: Mesh) -> None:
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        up = slow.spawn(
            "up", "-c", slow.composition, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, bufsize=0
        )
    finally:
        signal.signal(signal.SIGHUP, signal.SIG_DFL)
    heard(up, "module slow starting")
    up.send_signal(signal.SIGHUP)
    assert slow.cli("status").returncode == 0
    up.send_signal(signal.SIGINT)
    assert end(up)[0] == 0


async def test_up_that_was_to_detach_says_that_the_mesh_is_not_up(slow: Mesh) -> None:
    with begun(slow, "up", "--detach", "-c", slow.composition) as up:
        heard(up, "module slow starting")
        up.send_signal(signal.SIGINT)
        code, said = end(up)
    assert code == 130
    assert said.endswith("wuu-mesh: the mesh was stopped before it was up\n")
    assert slow.announced is None


async def test_a_second_interrupt_ends_the_mesh_at_once_and_says_so(stubborn: Mesh) -> None:
    with begun(stubborn, "up", "-c", stubborn.composition) as up:
        heard(up, "mesh is up")
        processes = [stubborn.router, *stubborn.router.descendants()]
        up.send_signal(signal.SIGINT)
        heard(up, "mesh stopping; Ctrl-C again ends it at once")
        up.send_signal(signal.SIGINT)
        code, said = end(up)
    assert code == 130
    assert said == "wuu-mesh: the mesh was ended at once; its modules had no time to clean up\n"
    assert all(process.ends() for process in processes)


async def test_two_interrupts_in_a_row_count_as_two(stubborn: Mesh) -> None:
    with begun(stubborn, "up", "-c", stubborn.composition) as up:
        heard(up, "Ctrl-C stops it")
        router = stubborn.router
        up.send_signal(signal.SIGINT)
        up.send_signal(signal.SIGTERM)
        code, said = end(up)
    assert code == 130
    assert "the mesh was ended at once" in said
    assert router.ends(within=0)


async def test_ctrl_c_on_a_terminal_reaches_the_command_and_no_module(slow: Mesh) -> None:
    command = at_terminal(slow.command("up", "-c", slow.composition))
    with Terminal(command, env=slow.env, cwd=slow.directory) as terminal:
        terminal.until("starting")
        terminal.press("\x03")
        shown = terminal.end()
        assert terminal.process.wait() == 0
    assert shown.endswith("mesh is down\n")


async def test_the_router_ends_when_the_foreground_is_killed(slow: Mesh) -> None:
    with begun(slow, "up", "-c", slow.composition) as up:
        heard(up, "module slow starting")
        processes = [slow.router, *slow.router.descendants()]
        up.kill()
        assert all(process.ends(within=PROMISE) for process in processes)
    assert slow.announced is None


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
async def test_check_leaves_nothing_running(number: signal.Signals) -> None:
    async with composed(shell("silent", "echo > ../../started; exec sleep 600")) as mesh:
        os.mkfifo(mesh.directory / "started")
        with begun(mesh, "check", "--start", "-c", mesh.composition) as check:
            happens(mesh.directory / "started")
            check.send_signal(number)
            assert end(check) == (130, "")
        assert left_behind(mesh) == []


@pytest.mark.parametrize(
    "command",
    [["call", "probe.notes", "hang", '{"key": "call"}'], ["tool", "run", "notes/hang", '{"key": "tool"}']],
)
async def test_a_call_is_cancelled(mesh: Mesh, command: list[str]) -> None:
    with begun(mesh, *command) as call:
        key = {"key": command[0]}
        await mesh.call("probe.notes@1", "hanging", key)
        call.send_signal(signal.SIGINT)
        assert end(call) == (130, "")
        await mesh.call("probe.notes@1", "cancelled", key)


async def test_following_a_log_is_done_when_it_is_interrupted(mesh: Mesh) -> None:
    await mesh.call("probe.notes@1", "complain", "a line of notes'")
    with begun(mesh, "logs", "notes", "-f") as following:
        heard(following, "a line of notes'")
        following.send_signal(signal.SIGINT)
        assert end(following) == (0, "")
