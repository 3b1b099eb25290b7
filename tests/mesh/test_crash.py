"""A crash: it fails what was in flight, tells the consumers, and leaves everybody else alone."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import AsyncIterator
from typing import Any

import pytest

from tests.support.caller import failure
from tests.support.composition import probe
from tests.support.mesh import Mesh, running
from tests.support.process import Process
from tests.support.script import Action


@pytest.fixture(scope="module")
async def mesh() -> AsyncIterator[Mesh]:
    async with running(
        probe("killed", provides=["probe.killed@1"]),
        probe("exits", provides=["probe.exits@1"]),
        probe("aborts", provides=["probe.aborts@1"]),
        probe(
            "consumer",
            provides=["probe.consumer@1"],
            requires=["probe.killed@1", "probe.exits@1?", "probe.bystander@1"],
        ),
        probe(
            "a-deaf-one",
            requires=["probe.killed@1"],
            steps={"service-changed": Action(hang=True)},
        ),
        probe("bystander", provides=["probe.bystander@1"]),
    ) as mesh:
        mesh.without_packages()
        yield mesh


@pytest.fixture(scope="module")
async def killed(mesh: Mesh) -> dict[str, Any]:
    """What happened when `killed` was killed: what each call in flight heard, and which process it left."""
    bystander = asyncio.create_task(mesh.call("probe.bystander@1", "hang", {"key": "by"}))
    await mesh.call("probe.killed@1", "complain", "these are my last words")
    child = Process(await mesh.call("probe.killed@1", "fork", {}))
    itself = await mesh.instance("killed", "probe.killed@1")
    direct = asyncio.create_task(failure(mesh.call("probe.killed@1", "hang", {"key": "in"})))
    nested = asyncio.create_task(
        mesh.call(
            "probe.consumer@1",
            "call",
            {"service": "probe.killed@1", "method": "hang", "params": {"key": "in"}},
        )
    )
    await mesh.call("probe.killed@1", "hanging", {"key": "in", "count": 2})
    await mesh.call("probe.bystander@1", "hanging", {"key": "by"})
    Process(mesh.module("killed")["pid"]).signal(signal.SIGKILL)
    return {
        "direct": await direct,
        "nested": await nested,
        "child": child,
        "bystander": bystander,
        "itself": itself,
    }


async def test_a_call_in_flight_fails_and_says_how_the_process_ended_and_what_it_said(
    killed: dict[str, Any],
) -> None:
    error = killed["direct"]
    assert (error.code, error.domain, error.outcome) == ("service_unavailable", "wuu.mesh", "unknown")
    assert error.message == "killed was killed by SIGKILL; it last said: these are my last words"


async def test_a_nested_call_in_flight_fails_alike_and_its_caller_goes_on(killed: dict[str, Any]) -> None:
    error = killed["nested"]["error"]
    assert (error["code"], error["outcome"]) == ("service_unavailable", "unknown")
    assert "was killed by SIGKILL" in error["message"]


async def test_what_the_process_left_in_its_group_goes_with_it(killed: dict[str, Any]) -> None:
    assert killed["child"].ends()


async def test_the_token_of_a_dead_instance_is_worth_nothing(killed: dict[str, Any]) -> None:
    error = await failure(killed["itself"].invoke("probe.bystander@1", "echo"))
    assert error.code == "unauthenticated"


async def test_status_shows_the_module_failed_and_the_generation_degraded(
    mesh: Mesh, killed: dict[str, Any]
) -> None:
    row = mesh.module("killed")
    assert (row["state"], row["pid"]) == ("failed", None)
    assert row["error"]["code"] == "service_unavailable"
    assert "was killed by SIGKILL" in row["error"]["message"]
    assert mesh.status()["generation"]["state"] == "degraded"


async def test_a_consumer_is_told_even_where_another_one_does_not_listen(
    mesh: Mesh, killed: dict[str, Any]
) -> None:
    await mesh.call("probe.consumer@1", "changed")
    told = [line for line in mesh.recorded() if line.startswith("consumer service-changed")]
    assert len(told) == 1
    assert told[0].startswith("consumer service-changed probe.killed@1 gone killed was killed by SIGKILL")


async def test_a_module_that_is_no_consumer_is_not_told(mesh: Mesh, killed: dict[str, Any]) -> None:
    assert not [line for line in mesh.recorded() if line.startswith("bystander service-changed")]


async def test_a_later_call_is_not_dispatched(mesh: Mesh, killed: dict[str, Any]) -> None:
    error = await failure(mesh.call("probe.killed@1", "echo"))
    assert (error.code, error.outcome) == ("service_unavailable", "not_dispatched")
    assert "was killed by SIGKILL" in error.message


async def test_everybody_else_goes_on(mesh: Mesh, killed: dict[str, Any]) -> None:
    assert await mesh.call("probe.consumer@1", "call", {"service": "probe.bystander@1", "params": 1})
    killed["bystander"].cancel()
    await mesh.call("probe.bystander@1", "cancelled", {"key": "by"})
    await mesh.idle()


async def test_an_exit_status_is_told(mesh: Mesh) -> None:
    error = await failure(mesh.call("probe.exits@1", "crash", {"how": "exit", "status": 7}))
    assert (error.code, error.outcome) == ("service_unavailable", "unknown")
    assert error.message == "exits exited with status 7"


async def test_an_abort_is_told_by_its_signal(mesh: Mesh) -> None:
    error = await failure(mesh.call("probe.aborts@1", "crash", {"how": "abort"}))
    assert error.message.startswith("aborts was killed by SIGABRT")


async def test_a_process_that_exits_with_status_0_has_failed_too(mesh: Mesh) -> None:
    error = await failure(mesh.call("probe.bystander@1", "crash", {"how": "exit", "status": 0}))
    assert error.message == "bystander exited with status 0"
    assert mesh.module("bystander")["state"] == "failed"
