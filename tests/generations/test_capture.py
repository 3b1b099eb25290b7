"""Capture: work keeps the generation that admitted it, and a lease keeps it for what outlives the call."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import msgspec
import pytest

from tests.support.caller import failure
from tests.support.composition import Entry, probe, select
from tests.support.mesh import Mesh, running
from tests.support.process import Process
from tests.support.script import Action, NestedCall

GATE = probe("gate", provides=["probe.gate@1"])
ONE = probe("one", provides=["probe.word@1"])
TWO = probe("two", provides=["probe.word@1"])
TOP = probe(
    "top",
    provides=["probe.top@1"],
    requires=["probe.word@1", "probe.gate@1", "wuu.mesh.leases@1", "execution.update@1"],
)
WAITING = msgspec.Raw(b'{"key": "restless"}')
ENTRIES = (GATE, ONE, TWO, TOP)


@pytest.fixture
async def mesh() -> AsyncIterator[Mesh]:
    async with running(*ENTRIES, services=[select("probe.word@1", "one")]) as mesh:
        yield mesh


async def swap(mesh: Mesh, to: str, *more: Entry) -> str:
    ended = await mesh.apply(*ENTRIES, *more, services=[select("probe.word@1", to)])
    assert ended.outcome == "committed"
    return ended.generation.id


def then_context(key: str) -> list[dict[str, Any]]:
    """What `top` is asked: to wait at the gate, and to call the word of its generation then."""
    return [
        {"service": "probe.gate@1", "method": "wait", "params": {"key": key}},
        {"service": "probe.word@1", "method": "context"},
    ]


async def held(mesh: Mesh, key: str) -> asyncio.Task[Any]:
    """A call of `top` that has come to the gate."""
    call = asyncio.create_task(mesh.call("probe.top@1", "each", then_context(key)))
    await mesh.call("probe.gate@1", "hanging", {"key": key})
    return call


async def let(mesh: Mesh, key: str) -> None:
    await mesh.call("probe.gate@1", "let", {"key": key})


async def test_a_retained_execution_keeps_its_provider_across_any_number_of_swaps(mesh: Mesh) -> None:
    old = await held(mesh, "old")
    for to in ("two", "one", "two"):
        await swap(mesh, to)
    young = await held(mesh, "young")
    await swap(mesh, "one")
    await let(mesh, "young")
    await let(mesh, "old")
    for call, provider, generation in ((old, "one", "1"), (young, "two", "4")):
        context = (await call)[1]["result"]
        assert context["audience"].startswith(f"{provider}@")
        assert context["generation"] == generation


async def test_a_retained_generation_closes_with_its_last_execution_and_only_then(mesh: Mesh) -> None:
    top = Process(mesh.module("top")["pid"])
    call = await held(mesh, "k")
    await swap(mesh, "two")
    await mesh.happens("generation", "1", "retained")
    record = (await mesh.generations())["1"]
    assert (record.state, record.executions) == ("retained", 2)
    assert not top.ends(0)
    await let(mesh, "k")
    await call
    await mesh.happens("generation", "1", "closed")
    assert top.ends()
    record = (await mesh.generations())["1"]
    assert (record.state, record.executions) == ("closed", 0)
    assert [(each.module, each.cause, each.confirmed) for each in record.revocations] == [
        ("top", "superseded", True)
    ]


async def test_what_is_carried_over_is_one_instance_in_several_generations(mesh: Mesh) -> None:
    gate = mesh.module("gate")["instance"]
    call = await held(mesh, "k")
    await swap(mesh, "two")
    assert mesh.module("gate")["instance"] == gate
    await let(mesh, "k")
    await call
    await mesh.happens("generation", "1", "closed")
    assert mesh.module("gate")["state"] == "active"
    assert await mesh.call("probe.gate@1", "echo", 1) == 1


async def test_a_lease_keeps_its_generation_and_what_runs_under_it_keeps_its_bindings(mesh: Mesh) -> None:
    top = Process(mesh.module("top")["pid"])
    await mesh.call("probe.top@1", "job", {"key": "job", "calls": then_context("end")})
    await mesh.call("probe.gate@1", "hanging", {"key": "end"})
    await swap(mesh, "two")
    record = (await mesh.generations())["1"]
    assert (record.state, record.executions) == ("retained", 0)
    assert [(lease.module, lease.key, lease.kind) for lease in record.leases] == [("top", "job", "job")]
    assert not top.ends(0)
    await let(mesh, "end")
    await mesh.happens("generation", "1", "closed")
    assert top.ends()
    _, worked = [line for line in mesh.recorded() if line.startswith("top job:")]
    assert '"audience":"one@' in worked and '"generation":"1"' in worked


async def test_a_lease_that_is_held_is_answered_as_it_is(mesh: Mesh) -> None:
    assert await mesh.call("probe.top@1", "lease", {"key": "job"}) == "1"
    assert await mesh.call("probe.top@1", "lease", {"key": "job"}) == "1"
    assert len((await mesh.generations())["1"].leases) == 1


async def test_a_lease_is_taken_in_an_execution_and_released_once(mesh: Mesh) -> None:
    await mesh.call("probe.top@1", "lease", {"key": "job"})
    assert await mesh.call("probe.top@1", "release", {"key": "job"}) is True
    assert await mesh.call("probe.top@1", "release", {"key": "job"}) is False
    error = await failure(mesh.call("probe.top@1", "lease", {"key": ""}))
    assert "`key` has 1 to 128 bytes" in error.message


async def test_the_leases_of_an_instance_that_dies_die_with_it(mesh: Mesh) -> None:
    top = Process(mesh.module("top")["pid"])
    await mesh.call("probe.top@1", "lease", {"key": "job"})
    await swap(mesh, "two")
    assert (await mesh.generations())["1"].state == "retained"
    top.kill()
    await mesh.happens("generation", "1", "closed")
    record = (await mesh.generations())["1"]
    assert [(each.module, each.cause) for each in record.revocations] == [("top", "failed")]


async def test_a_call_outside_of_any_execution_keeps_nothing_alive(mesh: Mesh) -> None:
    restless = probe(
        "top",
        provides=["probe.top@1"],
        requires=["probe.gate@1"],
        steps={"activate": Action(begin=NestedCall(service="probe.gate@1", method="wait", params=WAITING))},
    )
    await mesh.apply(GATE, restless)
    await mesh.call("probe.gate@1", "hanging", {"key": "restless"})
    await mesh.apply(GATE)
    await mesh.happens("generation", "2", "closed")


async def test_a_superseded_instance_without_work_may_only_clean_up(mesh: Mesh) -> None:
    ending = probe(
        "top",
        provides=["probe.top@1"],
        requires=["probe.word@1", "probe.gate@1"],
        steps={
            "shutdown": [
                Action(call=NestedCall(service="probe.word@1", method="echo")),
                Action(call=NestedCall(service="probe.word@1", method="tidy")),
            ]
        },
    )
    await mesh.apply(GATE, ONE, TWO, ending, services=[select("probe.word@1", "one")])
    await mesh.apply(GATE, ONE, TWO, ending, services=[select("probe.word@1", "two")])
    await mesh.happens("generation", "2", "closed")
    refused, tidied = [line for line in mesh.recorded() if line.startswith("top shutdown:")]
    assert "generation_closed" in refused
    assert '"audience":"one@' in tidied and '"phase":"cleanup"' in tidied
