"""`executions` and `cancel`: the calls that live, and the end of one."""

from __future__ import annotations

import asyncio
import json
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import msgspec
import pytest

from contract.errors import MeshError
from tests.cli.command import begun, end, heard
from tests.support.composition import probe
from tests.support.mesh import Mesh, running
from tests.support.process import PATIENCE


@pytest.fixture
async def pair() -> AsyncIterator[Mesh]:
    """A module that calls another."""
    async with running(
        probe("low", provides=["probe.low@1"]),
        probe("high", provides=["probe.high@1"], requires=["probe.low@1", "execution.update@1"]),
    ) as mesh:
        yield mesh


@asynccontextmanager
async def nested(mesh: Mesh) -> AsyncIterator[None]:
    """A call of `high` that says how far it is, hangs in a call of `low`, and is cancelled at last."""
    progress = {"service": "execution.update@1", "method": "call", "params": msgspec.Raw(b'{"done":\n1.0}')}
    call = {"service": "probe.low@1", "method": "hang", "params": {"key": "here"}}
    outer = asyncio.create_task(mesh.call("probe.high@1", "each", [progress, call]))
    await mesh.call("probe.low@1", "hanging", {"key": "here"})
    yield
    with pytest.raises(MeshError) as ended:
        await outer
    assert ended.value.code in ("execution_cancelled", "generation_closed", "service_unavailable")


async def test_a_call_and_what_it_called_are_shown_and_cancelled_together(pair: Mesh) -> None:
    async with nested(pair):
        answer = pair.cli("executions", "--json")
        outer, inner = json.loads(answer.stdout)
        assert (outer["owner"], outer["caller"], outer["parent"]) == ("high", "wuu.operator", None)
        assert (inner["owner"], inner["caller"], inner["parent"]) == ("low", "high", outer["id"])
        assert (inner["service"], inner["method"], inner["state"]) == ("probe.low@1", "hang", "running")
        assert outer["progress"] == {"done": 1.0}
        assert (inner["generation"], inner["retained"], inner["progress"]) == ("1", False, None)
        head, first, second = pair.cli("executions").stdout.splitlines()
        assert head.startswith("generation  execution ")
        assert first.split()[:6] == ["1", outer["id"], "high", "wuu.operator", "probe.high@1", "each"]
        assert first.endswith(' {"done": 1.0}')
        assert second.split()[:6] == ["1", inner["id"], "low", "high", "probe.low@1", "hang"]
        cancelled = pair.cli("cancel", outer["id"])
        assert (cancelled.returncode, cancelled.stdout) == (0, "2 executions were cancelled\n")
    await pair.idle()
    assert json.loads(pair.cli("executions", "--json").stdout) == []


async def test_an_execution_that_does_not_live_is_not_cancelled(mesh: Mesh) -> None:
    answer = mesh.cli("cancel", "no-such")
    assert (answer.returncode, answer.stdout) == (1, "")
    assert answer.stderr.startswith("wuu-mesh: execution_not_found: there is no live execution no-such\n")


async def test_watched_they_are_printed_when_they_change_until_the_mesh_ends(pair: Mesh) -> None:
    with begun(pair, "executions", "--watch", "--json") as watch, begun(pair, "executions", "-w") as table:
        assert heard(watch, "") == "[]\n"
        assert heard(table, "").startswith("generation  execution ")
        async with nested(pair):
            rows: list[dict[str, str | None]] = []
            while not any(row["parent"] for row in rows):
                rows = json.loads(heard(watch, "[{"))
            assert f" {rows[0]['id']} " in heard(table, "1 ")
            pair.cli("down")
            for command in (watch, table):
                code, said = end(command)
                assert code == 0
                assert said.endswith("wuu-mesh: the mesh has stopped\n")


async def test_a_terminal_is_redrawn_until_ctrl_c(pair: Mesh) -> None:
    with pair.terminal("executions", "--watch") as terminal:
        terminal.until("progress")
        async with nested(pair):
            terminal.until("probe.low@1 hang")
            assert "\x1b[2K" in terminal.raw
            terminal.process.send_signal(signal.SIGINT)
            terminal.end()
            assert terminal.process.wait(PATIENCE) == 0
            (outer, _) = await pair.executions()
            pair.cli("cancel", outer.id)
