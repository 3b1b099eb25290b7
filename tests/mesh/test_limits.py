"""Limits: how deep calls nest, and how many an instance serves at once."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest

from tests.support.caller import failure
from tests.support.composition import probe
from tests.support.mesh import Mesh, running

CONTRIBUTIONS = "wuu.mesh.contributions@1"


@pytest.fixture(scope="module")
async def mesh() -> AsyncIterator[Mesh]:
    async with running(
        probe(
            "registry",
            provides=["probe.registry@1"],
            requires=["probe.helper@1", CONTRIBUTIONS],
            tools=["call", "context"],
            max_in_flight=2,
        ),
        probe(
            "narrow",
            provides=["probe.narrow@1"],
            requires=["probe.registry@1", "probe.helper@1"],
            tools=["echo"],
            max_in_flight=1,
        ),
        probe("helper", provides=["probe.helper@1"]),
    ) as mesh:
        yield mesh


def nested(depth: int) -> dict[str, Any]:
    """A call of the registry's own tool that calls it again, until `depth` executions stand."""
    asked: dict[str, Any] = {"service": CONTRIBUTIONS, "tool": "registry/context"}
    for _ in range(depth - 2):
        asked = {"service": CONTRIBUTIONS, "tool": "registry/call", "params": asked}
    return asked


def innermost(answer: dict[str, Any]) -> dict[str, Any]:
    """What came of the last call."""
    while "result" in answer.get("result", {}) or "error" in answer.get("result", {}):
        answer = answer["result"]
    return answer


async def test_thirty_two_executions_may_stand_above_a_call(mesh: Mesh) -> None:
    answer = innermost(await mesh.call("probe.registry@1", "call", nested(33)))
    assert answer["result"]["hops"] == 32


async def test_the_thirty_third_is_past_the_limit(mesh: Mesh) -> None:
    answer = innermost(await mesh.call("probe.registry@1", "call", nested(34)))
    assert (answer["error"]["code"], answer["error"]["outcome"]) == ("limit_exceeded", "not_dispatched")
    assert answer["context"]["hops"] == 32


def hanging(key: str) -> dict[str, Any]:
    """A call of `helper` that hangs, and that a test can wait for there while the caller of it is full."""
    return {"service": "probe.helper@1", "method": "hang", "params": {"key": key}}


async def test_past_its_maximum_an_instance_is_full_at_once(mesh: Mesh) -> None:
    async with asyncio.TaskGroup() as group:
        calls = [
            group.create_task(mesh.call("probe.registry@1", "call", hanging("registry"))) for _ in range(2)
        ]
        await mesh.call("probe.helper@1", "hanging", {"key": "registry", "count": 2})
        error = await failure(mesh.call("probe.registry@1", "echo"))
        assert (error.code, error.outcome) == ("admission_full", "not_dispatched")
        assert error.message == "registry has 2 calls in flight, its maximum"
        for call in calls:
            call.cancel()
        await mesh.call("probe.helper@1", "cancelled", {"key": "registry", "count": 2})
    assert await mesh.call("probe.registry@1", "echo", 1) == 1


async def test_a_tool_counts_like_any_other_call(mesh: Mesh) -> None:
    async with asyncio.TaskGroup() as group:
        call = group.create_task(mesh.call("probe.narrow@1", "call", hanging("narrow")))
        await mesh.call("probe.helper@1", "hanging", {"key": "narrow"})
        answer = await mesh.call(
            "probe.registry@1", "call", {"service": CONTRIBUTIONS, "tool": "narrow/echo"}
        )
        assert answer["error"]["code"] == "admission_full"
        call.cancel()
        await mesh.call("probe.helper@1", "cancelled", {"key": "narrow"})


async def test_descendants_of_an_execution_inside_need_no_free_slot(mesh: Mesh) -> None:
    """narrow → registry → narrow, where `narrow` serves one call at a time."""
    back = {"service": CONTRIBUTIONS, "tool": "narrow/echo", "params": "home again"}
    asked = {"service": "probe.registry@1", "method": "call", "params": back}
    answer = await mesh.call("probe.narrow@1", "call", asked)
    assert answer["result"]["result"] == "home again"
