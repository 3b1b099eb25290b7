"""Cancellation: it runs down the tree of executions, across processes, and leaves nothing behind."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest

from tests.support.caller import failure
from tests.support.composition import probe
from tests.support.mesh import Mesh, running
from tests.support.probe import STREAMS

CHAIN = ("probe.top@1", "probe.middle@1", "probe.bottom@1")


@pytest.fixture(scope="module")
async def mesh() -> AsyncIterator[Mesh]:
    async with running(
        probe("top", provides=["probe.top@1"], requires=["probe.middle@1", "probe.bottom@1"]),
        probe("middle", provides=["probe.middle@1"], requires=["probe.bottom@1"]),
        probe("bottom", provides=["probe.bottom@1"], streams="probe.streams@1"),
    ) as mesh:
        yield mesh


def chain(key: str) -> dict[str, Any]:
    """What `top` is asked, to call `middle`, to call `bottom`, which hangs; each counts under `key`."""
    last = {"service": "probe.bottom@1", "method": "hang", "params": {"key": key}}
    return {
        "service": "probe.middle@1",
        "method": "call",
        "params": {**last, "key": key},
        "key": key,
    }


async def hanging(mesh: Mesh, key: str, *services: str) -> None:
    """Returns when a call hangs under the key at each of the services."""
    for service in services:
        await mesh.call(service, "hanging", {"key": key})


async def cancelled(mesh: Mesh, key: str, *services: str) -> None:
    """Returns when a call under the key was cancelled at each of the services."""
    for service in services:
        await mesh.call(service, "cancelled", {"key": key})


def executions(mesh: Mesh) -> int:
    """How many executions live."""
    live: int = mesh.status()["router"]["executions"]
    return live


async def test_the_operators_cancel_runs_down_the_tree_across_processes(mesh: Mesh) -> None:
    call = asyncio.create_task(mesh.call("probe.top@1", "call", chain("tree")))
    await hanging(mesh, "tree", *CHAIN)
    assert executions(mesh) == 3
    call.cancel()
    await cancelled(mesh, "tree", *CHAIN)
    await mesh.idle()


async def test_a_cancel_ends_its_own_branch_and_no_other(mesh: Mesh) -> None:
    async with asyncio.TaskGroup() as group:
        one = group.create_task(mesh.call("probe.top@1", "call", chain("one")))
        other = group.create_task(mesh.call("probe.top@1", "call", chain("other")))
        await hanging(mesh, "one", *CHAIN)
        await hanging(mesh, "other", *CHAIN)
        one.cancel()
        await cancelled(mesh, "one", *CHAIN)
        assert executions(mesh) == 3
        assert len(await mesh.call("probe.bottom@1", "hanging", {"key": "other"})) == 1
        other.cancel()
    await cancelled(mesh, "other", *CHAIN)
    await mesh.idle()


async def test_a_hundred_cancelled_calls_leave_no_execution(mesh: Mesh) -> None:
    calls = [asyncio.create_task(mesh.call("probe.bottom@1", "hang", {"key": "hundred"})) for _ in range(100)]
    await mesh.call("probe.bottom@1", "hanging", {"key": "hundred", "count": 100})
    for call in calls:
        call.cancel()
    await mesh.call("probe.bottom@1", "cancelled", {"key": "hundred", "count": 100})
    await mesh.idle()


async def test_a_parent_that_returns_cancels_what_it_left_unfinished(mesh: Mesh) -> None:
    left = {"service": "probe.bottom@1", "method": "hang", "params": {"key": "left"}}
    awaited = {"service": "probe.bottom@1", "method": "hanging", "params": {"key": "left"}}
    await mesh.call("probe.top@1", "abandon", [left, awaited])
    await cancelled(mesh, "left", "probe.bottom@1")
    await mesh.idle()
    second, first = await mesh.call("probe.top@1", "outcomes", {"count": 2})
    assert len(second["result"]) == 1
    assert (first["error"]["code"], first["error"]["outcome"]) == ("execution_cancelled", "unknown")
    assert "ended before what it called" in first["error"]["message"]


async def test_a_stream_that_its_caller_leaves_is_cancelled(mesh: Mesh) -> None:
    metadata = mesh.operator.metadata("probe.streams@1")
    stream = mesh.operator.stream(f"/{STREAMS}/Watch", b"stream", metadata)
    assert await anext(stream) == b"stream"
    assert executions(mesh) == 1
    await stream.aclose()
    await cancelled(mesh, "stream", "probe.bottom@1")
    await mesh.idle()


async def test_nobody_waits_for_a_provider_that_does_not_heed_a_cancel(mesh: Mesh) -> None:
    call = asyncio.create_task(
        mesh.call("probe.top@1", "call", {"service": "probe.bottom@1", "method": "ignore", "key": "deaf"})
    )
    await mesh.call("probe.bottom@1", "ignoring")
    call.cancel()
    await cancelled(mesh, "deaf", "probe.top@1")
    await mesh.idle()
    # What it answers in the end is read by nobody and hurts nobody.
    await mesh.call("probe.bottom@1", "go")
    assert await mesh.call("probe.top@1", "call", {"service": "probe.bottom@1", "params": 1})
    await mesh.idle()


async def test_a_call_that_its_own_provider_cancels_ends_at_once_with_a_status(mesh: Mesh) -> None:
    error = await failure(mesh.call("probe.bottom@1", "resign"))
    assert (error.code, error.domain) == ("execution_cancelled", "wuu")


async def test_a_call_outside_an_execution_survives_the_call_that_it_was_made_in(mesh: Mesh) -> None:
    apart = {"service": "probe.bottom@1", "method": "hang", "params": {"key": "apart"}, "execution": ""}
    awaited = {"service": "probe.bottom@1", "method": "hanging", "params": {"key": "apart"}}
    await mesh.call("probe.top@1", "abandon", [apart, awaited])
    assert executions(mesh) == 1
    assert len(await mesh.call("probe.bottom@1", "hanging", {"key": "apart"})) == 1


async def test_the_log_of_a_provider_does_not_complain_of_cancelled_calls(mesh: Mesh) -> None:
    assert mesh.log("top") + mesh.log("middle") + mesh.log("bottom") == ""
