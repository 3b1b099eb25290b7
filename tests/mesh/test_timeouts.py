"""Timeouts: a step of the lifecycle that never ends costs its module alone."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from tests.support.caller import failure
from tests.support.composition import probe
from tests.support.mesh import Mesh, running
from tests.support.script import Action

HANG = Action(hang=True)

TIMEOUT = 5
"""Seconds for each step, the start of a Python process among them."""


@pytest.fixture(scope="module")
async def mesh() -> AsyncIterator[Mesh]:
    async with running(
        probe("initialize", steps={"initialize": HANG}, timeout=TIMEOUT),
        probe("prepare", steps={"prepare": HANG}, timeout=TIMEOUT),
        probe("activate", provides=["probe.slow@1"], steps={"activate": HANG}, timeout=TIMEOUT),
        probe("fine", provides=["probe.fine@1"], requires=["probe.slow@1"]),
    ) as mesh:
        yield mesh


@pytest.mark.parametrize("step", ["initialize", "prepare", "activate"])
async def test_a_step_that_hangs_ends_at_the_timeout_of_the_entry(mesh: Mesh, step: str) -> None:
    row = mesh.module(step)
    assert (row["state"], row["error"]["code"]) == ("failed", "deadline_exceeded")
    assert f"{step} did not answer {step} within {TIMEOUT} s" in row["error"]["message"]


async def test_a_failed_activate_leaves_the_generation_degraded(mesh: Mesh) -> None:
    assert mesh.status()["generation"]["state"] == "degraded"
    assert mesh.module("fine")["state"] == "active"


async def test_the_consumer_of_a_provider_that_did_not_activate_hears_so(mesh: Mesh) -> None:
    answer = await mesh.call("probe.fine@1", "call", {"service": "probe.slow@1"})
    assert answer["error"]["code"] == "service_unavailable"
    assert "did not answer activate" in answer["error"]["message"]
    error = await failure(mesh.call("probe.slow@1", "echo"))
    assert (error.code, error.outcome) == ("service_unavailable", "not_dispatched")


async def test_a_module_whose_activate_failed_is_shut_down_all_the_same(mesh: Mesh) -> None:
    """Its effects may have begun."""
    await mesh.stop()
    assert "activate shutdown" in mesh.recorded()
