"""Executions: listed while they live with what their owners say of them, and cancelled with all below."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from typing import Any

import msgspec
import pytest

from tests.support.caller import failure
from tests.support.composition import probe
from tests.support.mesh import Mesh, running
from wuu.mesh.v1.control_pb2 import CancelExecutionRequest, CancelExecutionResponse

UPDATE = "execution.update@1"
LOW = probe("low", provides=["probe.low@1"], requires=[UPDATE])
TOP = probe("top", provides=["probe.top@1"], requires=["probe.low@1", UPDATE])


@pytest.fixture(scope="module")
async def mesh() -> AsyncIterator[Mesh]:
    async with running(LOW, TOP) as mesh:
        yield mesh


async def cancel(mesh: Mesh, execution: str) -> int:
    request = CancelExecutionRequest(id=execution)
    return (await mesh.control(request, CancelExecutionResponse, "CancelExecution")).cancelled


async def nested(mesh: Mesh, key: str) -> asyncio.Task[Any]:
    hang = {"service": "probe.low@1", "method": "hang", "params": {"key": key}}
    call = asyncio.create_task(failure(mesh.call("probe.top@1", "call", hang)))
    await mesh.call("probe.low@1", "hanging", {"key": key})
    return call


def update(progress: object, execution: str | None = None) -> dict[str, object]:
    asked: dict[str, object] = {"service": UPDATE, "method": "call", "params": progress}
    return asked if execution is None else {**asked, "execution": execution}


async def test_an_execution_is_listed_with_its_owner_parent_and_generation(mesh: Mesh) -> None:
    begun = time.time() * 1000
    call = await nested(mesh, "listed")
    top, low = await mesh.executions()
    assert (top.owner, top.caller, top.parent, top.service, top.method) == (
        "top",
        "wuu.operator",
        "",
        "probe.top@1",
        "call",
    )
    assert (low.owner, low.caller, low.parent) == ("low", "top", top.id)
    assert (top.generation, top.retained, top.state) == ("1", False, "running")
    assert begun - 1 <= top.started_unix_ms <= low.started_unix_ms
    await cancel(mesh, top.id)
    await call
    await mesh.idle()
    assert await mesh.executions() == []


async def test_a_cancel_ends_the_whole_subtree_and_nothing_beside_it(mesh: Mesh) -> None:
    beside = asyncio.create_task(mesh.call("probe.low@1", "wait", {"key": "beside"}))
    await mesh.call("probe.low@1", "hanging", {"key": "beside"})
    call = await nested(mesh, "cut")
    top = next(each for each in await mesh.executions() if each.owner == "top")
    assert await cancel(mesh, top.id) == 2
    error = await call
    assert (error.code, error.message, error.outcome) == (
        "execution_cancelled",
        f"the operator cancelled {top.id}",
        "unknown",
    )
    await mesh.call("probe.low@1", "cancelled", {"key": "cut"})
    await mesh.call("probe.low@1", "let", {"key": "beside"})
    assert await beside == "beside"


async def test_a_cancel_of_what_does_not_live_says_so(mesh: Mesh) -> None:
    error = await failure(cancel(mesh, "nobody"))
    assert (error.code, error.message) == ("execution_not_found", "there is no live execution nobody")


async def test_the_last_progress_stands_with_its_time(mesh: Mesh) -> None:
    wait = {"service": "probe.low@1", "method": "wait", "params": {"key": "progress"}}
    steps = [update({"done": 1}), update({"done": 2, "of": 3.0}), wait]
    call = asyncio.create_task(mesh.call("probe.top@1", "each", steps))
    await mesh.call("probe.low@1", "hanging", {"key": "progress"})
    top = next(each for each in await mesh.executions() if each.owner == "top")
    assert msgspec.json.decode(top.progress.utf8) == {"done": 2, "of": 3.0}
    assert top.progress_unix_ms >= top.started_unix_ms
    await mesh.call("probe.low@1", "let", {"key": "progress"})
    assert [outcome.get("result", "none") for outcome in (await call)[:2]] == [None, None]


async def test_an_execution_that_ended_is_not_reopened_by_a_late_update(mesh: Mesh) -> None:
    ended = (await mesh.call("probe.top@1", "context"))["execution"]
    (late,) = await mesh.call("probe.top@1", "each", [update({"done": 1}, ended)])
    assert late["error"]["code"] == "execution_not_found"
    await mesh.idle()
    assert await mesh.executions() == []


async def test_an_update_is_made_in_an_execution_of_its_owner_and_is_small(mesh: Mesh) -> None:
    outside, large = await mesh.call("probe.top@1", "each", [update(1, ""), update("x" * 5000)])
    assert outside["error"]["code"] == "execution_not_found"
    assert large["error"]["code"] == "invalid_params"


async def test_the_executions_of_a_retained_generation_are_listed_as_such(mesh: Mesh) -> None:
    call = await nested(mesh, "old")
    await mesh.reload("top")
    listed = await mesh.executions()
    assert [(each.owner, each.retained) for each in listed] == [("top", True), ("low", True)]
    assert {each.generation for each in listed} != {mesh.status()["generation"]["id"]}
    await cancel(mesh, listed[0].id)
    await call
