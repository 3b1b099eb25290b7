"""`up` and `down`: a mesh that comes, shows itself coming, and goes."""

from __future__ import annotations

import os
import signal
from collections.abc import AsyncIterator

import pytest

from tests.cli.command import begun, composed, end, heard, left_behind
from tests.support.composition import probe, select, shell
from tests.support.mesh import Mesh
from tests.support.process import PATIENCE


@pytest.fixture
async def mesh() -> AsyncIterator[Mesh]:
    async with composed(
        probe("low", provides=["probe.low@1"]),
        probe("high", requires=["probe.low@1"]),
        probe("lonely", requires=["probe.nobody@1"]),
        shell("broken", "echo '[/oops] :boom:' >&2; exit 3"),
    ) as mesh:
        yield mesh


async def test_detached_it_tells_what_happens_in_plain_lines_and_returns(mesh: Mesh) -> None:
    lines = mesh.up().stderr.splitlines()
    assert {"module low starting", "module low active", "generation 1 active"} <= set(lines)
    assert lines.index("module low active") < lines.index("module high active")
    assert any(
        line.startswith("module broken failed: service_unavailable: ") and line.endswith("[/oops] :boom:")
        for line in lines
    )
    assert any(
        line.startswith("module lonely blocked: service_not_found: requires probe.nobody@1, ")
        for line in lines
    )
    ready = lines.index("mesh is up: generation 1 active (2 active, 1 blocked, 1 failed)")
    stop = f"stop it with `wuu-mesh down --home {mesh.home}`"
    assert lines[ready + 1] == f"router pid {mesh.router.pid}; {stop}"
    assert "\x1b[" not in "".join(lines)


async def test_detached_it_runs_on_without_its_terminal(mesh: Mesh) -> None:
    with mesh.terminal("up", "--detach", "-c", mesh.composition) as terminal:
        terminal.until("mesh is up")
        terminal.end()
        assert terminal.process.wait(PATIENCE) == 0
    assert await mesh.call("probe.low@1", "echo", "still here") == "still here"


async def test_a_terminal_sees_a_table_of_modules_coming_up(mesh: Mesh) -> None:
    with mesh.terminal("up", "-c", mesh.composition) as terminal:
        shown = terminal.until("Ctrl-C stops it")
        for word in ("module", "state", "starting", "active", "failed", "blocked"):
            assert word in shown
        assert "mesh is up: generation 1 active" in shown
        # The table is drawn over itself.
        assert "\x1b[2K" in terminal.raw
        router = mesh.router
        terminal.process.send_signal(signal.SIGINT)
        terminal.end()
        assert terminal.process.wait(PATIENCE) == 0
        assert router.ends()


async def test_in_the_foreground_events_go_on_in_plain_lines(mesh: Mesh) -> None:
    with begun(mesh, "up", "-c", mesh.composition) as up:
        heard(up, "mesh is up")
        up.send_signal(signal.SIGTERM)
        code, rest = end(up)
    assert code == 0
    assert rest.index("module high stopped") < rest.index("module low stopped")
    assert rest.endswith("mesh is down\n")


async def test_in_the_foreground_it_ends_when_the_mesh_is_taken_down(mesh: Mesh) -> None:
    with begun(mesh, "up", "-c", mesh.composition) as up:
        heard(up, "mesh is up")
        assert mesh.cli("down").returncode == 0
        code, rest = end(up)
    assert code == 0
    assert rest.endswith("mesh is down\n")
    assert "Ctrl-C again" not in rest


async def test_a_crash_is_told_in_the_foreground(mesh: Mesh) -> None:
    with begun(mesh, "up", "-c", mesh.composition) as up:
        heard(up, "mesh is up")
        os.kill(mesh.module("low")["pid"], signal.SIGKILL)
        crash = "module low failed: service_unavailable: low was killed by SIGKILL\n"
        assert heard(up, "module low failed") == crash
        heard(up, "generation 1 degraded: low failed")


async def test_a_router_that_is_killed_is_told_in_the_foreground(mesh: Mesh) -> None:
    with begun(mesh, "up", "-c", mesh.composition) as up:
        heard(up, "Ctrl-C stops it")
        mesh.router.signal(signal.SIGKILL)
        code, rest = end(up)
    assert code == 1
    assert rest.startswith("wuu-mesh: the router was killed by SIGKILL\n  → ")
    assert str(mesh.home / "logs") in rest


async def test_a_composition_that_is_rejected_after_initialize_leaves_nothing() -> None:
    async with composed(
        probe("a", provides=["probe.a@1"]), probe("b"), services=[select("probe.a@1", "b")]
    ) as mesh:
        answer = mesh.cli("up", "--detach", "-c", mesh.composition)
        assert (answer.returncode, answer.stdout) == (2, "")
        problem, remedy = answer.stderr.splitlines()[-2:]
        assert problem.startswith(f"wuu-mesh: {mesh.composition}:")
        assert problem.endswith(": 'b' does not provide probe.a@1; it provides none")
        assert remedy == "  → Correct the composition."
        assert mesh.recorded()
        assert mesh.announced is None
        assert left_behind(mesh) == []


async def test_down_without_a_mesh_ends_with_3(mesh: Mesh) -> None:
    answer = mesh.cli("down")
    assert (answer.returncode, answer.stdout) == (3, "")
    assert f"no mesh is running in {mesh.home}" in answer.stderr


async def test_down_returns_when_the_mesh_is_gone(mesh: Mesh) -> None:
    mesh.up()
    router = mesh.router
    answer = mesh.cli("down")
    assert (answer.returncode, answer.stdout, answer.stderr) == (0, "", "")
    assert router.ends(within=0)
    assert mesh.announced is None


async def test_the_products_own_composition_needs_nothing(mesh: Mesh) -> None:
    answer = mesh.cli("up", "--detach")
    assert answer.returncode == 0
    assert "generation 1 active (1 active)" in answer.stderr
    assert mesh.status()["router"]["composition"] is None
