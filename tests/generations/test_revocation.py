"""Revocation: what is disabled or removed ends at once, in every generation, and cleanup stays open."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator
from typing import Any

import pytest

from tests.support.caller import failure
from tests.support.composition import probe, select
from tests.support.mesh import Mesh, running
from tests.support.script import Action, NestedCall

GATE = probe("gate", provides=["probe.gate@1"])
WORD = probe("word", provides=["probe.word@1"], tools=["echo"])
TOP = probe(
    "top",
    provides=["probe.top@1"],
    requires=["probe.word@1", "probe.gate@1"],
    tools=["echo"],
    steps={
        "shutdown": [
            Action(call=NestedCall(service="probe.word@1", method="echo")),
            Action(call=NestedCall(service="probe.word@1", method="tidy")),
        ]
    },
)
REGISTRY = probe(
    "registry", provides=["probe.registry@1"], requires=["wuu.mesh.contributions@1", "probe.gate@1"]
)
ENTRIES = (GATE, WORD, TOP, REGISTRY)
CHOICE = select("probe.word@1", "word")


@pytest.fixture
async def mesh() -> AsyncIterator[Mesh]:
    async with running(*ENTRIES, services=[CHOICE]) as mesh:
        yield mesh


def hang(key: str) -> dict[str, Any]:
    return {"service": "probe.word@1", "method": "hang", "params": {"key": key}}


async def waiting(mesh: Mesh) -> asyncio.Task[Any]:
    """A call of `top` that waits at the gate, and calls the word then."""
    wait = {"service": "probe.gate@1", "method": "wait", "params": {"key": "k"}}
    call = asyncio.create_task(mesh.call("probe.top@1", "each", [wait, {"service": "probe.word@1"}]))
    await mesh.call("probe.gate@1", "hanging", {"key": "k"})
    return call


async def test_a_disable_cancels_what_the_module_serves_however_old_its_generation(mesh: Mesh) -> None:
    calls = []
    for age in range(3):
        calls.append(asyncio.create_task(mesh.call("probe.top@1", "call", hang(f"k{age}"))))
        await mesh.call("probe.word@1", "hanging", {"key": f"k{age}"})
        # Another `top` each time; `word` is carried over.
        await mesh.reload("top")
    direct = asyncio.create_task(failure(mesh.call("probe.word@1", "hang", {"key": "direct"})))
    await mesh.call("probe.word@1", "hanging", {"key": "direct"})
    ended = await mesh.switch("word", enabled=False)
    assert ended.outcome == "committed"
    error = await direct
    assert (error.code, error.outcome) == ("module_revoked", "unknown")
    for call in calls:
        assert (await call)["error"]["code"] == "module_revoked"


async def test_a_disable_cancels_what_the_module_called(mesh: Mesh) -> None:
    asked = {"service": "probe.gate@1", "method": "hang", "params": {"key": "k"}}
    call = asyncio.create_task(failure(mesh.call("probe.top@1", "call", asked)))
    await mesh.call("probe.gate@1", "hanging", {"key": "k"})
    await mesh.switch("top", enabled=False)
    assert (await call).code == "module_revoked"
    await mesh.call("probe.gate@1", "cancelled", {"key": "k"})


async def test_a_retained_execution_cannot_call_a_revoked_module_any_more(mesh: Mesh) -> None:
    call = await waiting(mesh)
    await mesh.switch("word", enabled=False)
    await mesh.call("probe.gate@1", "let", {"key": "k"})
    waited, refused = await call
    assert waited["result"] == "k"
    assert (refused["error"]["code"], refused["error"]["outcome"]) == ("module_revoked", "not_dispatched")


async def test_a_module_that_is_removed_does_not_come_to_its_next_call(mesh: Mesh) -> None:
    call = await waiting(mesh)
    await mesh.apply(GATE, REGISTRY, probe("word", provides=["probe.word@1"], enabled=False))
    await mesh.call("probe.gate@1", "let", {"key": "k"})
    error = await failure(call)
    assert error.code == "module_revoked"


async def test_cleanup_stays_open_to_a_revoked_module_and_of_it(mesh: Mesh) -> None:
    await mesh.switch("word", enabled=False)
    await mesh.happens("generation", "1", "closed")
    refused, tidied = [line for line in mesh.recorded() if line.startswith("top shutdown:")]
    assert "generation_closed" in refused
    assert '"audience":"word@' in tidied
    revocations = (await mesh.generations())["1"].revocations
    assert [(each.module, each.cause, each.confirmed) for each in revocations] == [
        ("top", "superseded", True),
        ("word", "disabled", True),
    ]


async def test_consumers_become_inactive_and_what_they_contributed_is_withdrawn_everywhere(
    mesh: Mesh,
) -> None:
    wait = {"service": "probe.gate@1", "method": "wait", "params": {"key": "k"}}
    tools = [{"service": "wuu.mesh.contributions@1", "tool": f"{module}/echo"} for module in ("top", "word")]
    call = asyncio.create_task(mesh.call("probe.registry@1", "each", [wait, *tools]))
    await mesh.call("probe.gate@1", "hanging", {"key": "k"})
    await mesh.switch("word", enabled=False)
    row = mesh.module("top")
    assert (row["state"], row["error"]["code"]) == ("blocked", "service_unavailable")
    said = r"requires probe\.word@1 of word \(.*composition\.json:\d+\), which is disabled"
    assert re.fullmatch(said, row["error"]["message"])
    assert await mesh.happens("module", "top", "inactive")
    await mesh.call("probe.gate@1", "let", {"key": "k"})
    _, top, word = await call
    assert top["error"]["code"] == "service_unavailable"
    assert word["error"]["code"] == "module_revoked"
    assert mesh.cli("tool", "list", "--json").stdout == "[]\n"


async def test_independent_modules_go_on(mesh: Mesh) -> None:
    gate = mesh.module("gate")["instance"]
    call = asyncio.create_task(mesh.call("probe.gate@1", "wait", {"key": "k"}))
    await mesh.call("probe.gate@1", "hanging", {"key": "k"})
    await mesh.switch("word", enabled=False)
    await mesh.call("probe.gate@1", "let", {"key": "k"})
    assert await call == "k"
    assert mesh.module("gate")["instance"] == gate


async def test_an_update_under_the_same_id_does_not_revoke(mesh: Mesh) -> None:
    call = await waiting(mesh)
    before = mesh.module("word")["instance"]
    changed = probe("word", provides=["probe.word@1"])
    ended = await mesh.apply(GATE, changed, TOP, REGISTRY, services=[CHOICE])
    assert list(ended.difference.replaced) == ["top", "word"]
    await mesh.call("probe.gate@1", "let", {"key": "k"})
    waited, answered = await call
    assert waited["result"] == "k"
    assert "error" not in answered
    assert mesh.module("word")["instance"] != before


async def test_a_module_that_is_enabled_again_is_back_with_its_dependants(mesh: Mesh) -> None:
    await mesh.switch("word", enabled=False)
    assert (await failure(mesh.call("probe.top@1", "echo"))).code == "service_unavailable"
    assert (await failure(mesh.call("probe.word@1", "echo"))).code == "service_unavailable"
    ended = await mesh.switch("word", enabled=True)
    assert list(ended.difference.added) == ["top", "word"]
    assert (await mesh.call("probe.top@1", "call", {"service": "probe.word@1", "params": 1}))["result"] == 1


async def test_a_removal_revokes_like_a_disable(mesh: Mesh) -> None:
    call = asyncio.create_task(failure(mesh.call("probe.word@1", "hang", {"key": "k"})))
    await mesh.call("probe.word@1", "hanging", {"key": "k"})
    ended = await mesh.apply(GATE, TOP, REGISTRY)
    assert ended.outcome == "committed"
    assert list(ended.difference.removed) == ["top", "word"]
    assert (await call).code == "module_revoked"
    assert mesh.module("top")["state"] == "blocked"


async def test_a_module_that_was_inactive_is_revoked_where_it_still_works(mesh: Mesh) -> None:
    wait = {"service": "probe.gate@1", "method": "wait", "params": {"key": "k"}}
    call = asyncio.create_task(failure(mesh.call("probe.top@1", "call", wait)))
    await mesh.call("probe.gate@1", "hanging", {"key": "k"})
    await mesh.switch("word", enabled=False)
    assert mesh.module("top")["state"] == "blocked"
    await mesh.switch("top", enabled=False)
    assert (await call).code == "module_revoked"
