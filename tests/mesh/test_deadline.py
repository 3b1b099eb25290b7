"""Deadlines: a child has the lesser of its parent's and its own."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest

from tests.support.caller import failure
from tests.support.composition import probe
from tests.support.mesh import Mesh, running


@pytest.fixture(scope="module")
async def mesh() -> AsyncIterator[Mesh]:
    async with running(
        probe("top", provides=["probe.top@1"], requires=["probe.bottom@1"]),
        probe("bottom", provides=["probe.bottom@1"]),
    ) as mesh:
        yield mesh


async def deadlines(mesh: Mesh, parent: float | None, child: float | None) -> tuple[int, int]:
    """The deadlines of a call and of a call in it, given the timeouts with which they are made."""
    asked = {"service": "probe.bottom@1", "method": "context", "timeout": child}
    outer = await mesh.operator.invoke("probe.top@1", "call", asked, timeout=parent)
    return outer["context"]["deadline_unix_ms"], outer["result"]["deadline_unix_ms"]


async def test_a_call_without_a_timeout_has_no_deadline(mesh: Mesh) -> None:
    assert await deadlines(mesh, None, None) == (0, 0)


async def test_a_child_without_a_deadline_has_that_of_its_parent(mesh: Mesh) -> None:
    parent, child = await deadlines(mesh, 30, None)
    assert child == parent > 0


async def test_a_child_never_has_more_time_than_its_parent(mesh: Mesh) -> None:
    parent, child = await deadlines(mesh, 30, 60)
    assert child == parent > 0


async def test_a_child_may_have_less_time_than_its_parent(mesh: Mesh) -> None:
    parent, child = await deadlines(mesh, 30, 10)
    assert 0 < child < parent - 10_000


async def test_a_child_may_have_a_deadline_where_its_parent_has_none(mesh: Mesh) -> None:
    parent, child = await deadlines(mesh, None, 10)
    assert parent == 0 < child


async def test_a_deadline_that_passes_leaves_the_outcome_unknown_and_cancels_the_callee(mesh: Mesh) -> None:
    hang: dict[str, Any] = {
        "service": "probe.bottom@1",
        "method": "hang",
        "params": {"key": "own"},
        "timeout": 1,
    }
    answer = await mesh.call("probe.top@1", "call", hang)
    error = answer["error"]
    assert (error["code"], error["outcome"]) == ("deadline_exceeded", "unknown")
    await mesh.call("probe.bottom@1", "cancelled", {"key": "own"})
    await mesh.idle()


async def test_the_deadline_of_the_parent_ends_the_child_too(mesh: Mesh) -> None:
    hang = {"service": "probe.bottom@1", "method": "hang", "params": {"key": "parent"}}
    error = await failure(mesh.operator.invoke("probe.top@1", "call", hang, timeout=1))
    assert (error.code, error.outcome) == ("deadline_exceeded", "unknown")
    await mesh.call("probe.bottom@1", "cancelled", {"key": "parent"})
    await mesh.idle()


async def test_a_deadline_that_has_passed_already_ends_the_call_at_once(mesh: Mesh) -> None:
    error = await failure(mesh.operator.invoke("probe.bottom@1", "hang", {"key": "late"}, timeout=0.001))
    assert error.code == "deadline_exceeded"
    await mesh.idle()
