"""Cancelling what a plugin does."""

from __future__ import annotations

import asyncio
from typing import Any

import grpc
import pytest

from tests.bridge.harness import Instance, Router, RouterCall


async def cancelled(work: asyncio.Task[Any]) -> None:
    """Cancels a call and waits for its end at this side."""
    work.cancel()
    await asyncio.wait((work,))


async def until_cancelled(probe: Instance, execution: str) -> list[Any]:
    """Returns what the plugin has seen, once it has seen the execution cancelled."""
    return await probe.seen(
        lambda seen: any(entry[0] == "execution.cancel" and entry[2] == execution for entry in seen)
    )


async def test_cancel_reaches_the_plugin_once_and_after_its_request(probe: Instance) -> None:
    work = asyncio.create_task(probe.run("hold", execution="doomed"))
    await probe.held("doomed")
    await cancelled(work)
    seen = await until_cancelled(probe, "doomed")
    assert [entry[0] for entry in seen if entry[2] == "doomed"] == ["service.invoke", "execution.cancel"]


async def test_cancel_never_overtakes_its_request(probe: Instance) -> None:
    # Large requests stand in the pipe's queue while they are cancelled.
    works = [
        asyncio.create_task(probe.run("hold", execution=f"doomed-{n}", padding="x" * 300_000))
        for n in range(40)
    ]
    await probe.held("doomed-0")
    for work in works:
        await cancelled(work)
    begun, both = ["service.invoke"], ["service.invoke", "execution.cancel"]

    def settled(seen: list[Any]) -> bool:
        events = [[entry[0] for entry in seen if entry[2] == f"doomed-{n}"] for n in range(40)]
        # Some never reached the plugin: they were cancelled before.
        assert all(each in ([], begun, both) for each in events)
        return begun not in events and both in events

    await probe.seen(settled)


async def test_a_late_answer_is_ignored(probe: Instance, router: Router) -> None:
    work = asyncio.create_task(probe.run("hold", execution="doomed"))
    await probe.held("doomed")
    await cancelled(work)
    await until_cancelled(probe, "doomed")
    assert await probe.run("pid") == probe.process.pid
    assert "answer to no open call, id '" in probe.log.read_text()
    assert router.report(probe).stray_lines == 0


async def test_cancelling_one_call_leaves_the_others(probe: Instance) -> None:
    kept = asyncio.create_task(probe.run("hold", execution="kept"))
    work = asyncio.create_task(probe.run("hold", execution="doomed"))
    await probe.held("kept")
    await probe.held("doomed")
    await cancelled(work)
    seen = await until_cancelled(probe, "doomed")
    assert [entry[2] for entry in seen if entry[0] == "execution.cancel"] == ["doomed"]
    assert not kept.done()
    await cancelled(kept)


async def test_cancel_goes_on_to_the_calls_that_the_plugin_made(probe: Instance, router: Router) -> None:
    async def hang(call: RouterCall) -> bytes:
        await asyncio.Event().wait()
        raise AssertionError

    router.answer = hang
    asked = {"service": "test.other", "method": "ask"}
    work = asyncio.create_task(probe.run("ask", params=asked, execution="doomed", times=2))
    other = asyncio.create_task(probe.run("ask", params=asked, execution="kept"))
    await router.until(lambda: len(router.of(probe)) == 3)
    await cancelled(work)
    doomed = [call for call in router.of(probe) if call.execution == "doomed"]
    async with asyncio.timeout(30):
        await asyncio.gather(*(call.cancelled.wait() for call in doomed))
    [kept] = [call for call in router.of(probe) if call.execution == "kept"]
    assert not kept.cancelled.is_set()
    # The plugin is answered all the same: it has none of these calls open any more.
    await until_cancelled(probe, "doomed")
    assert not other.done()
    await cancelled(other)


async def test_a_call_past_its_deadline_is_cancelled(probe: Instance) -> None:
    with pytest.raises(grpc.aio.AioRpcError) as late:
        await probe.run("hold", execution="doomed", timeout=0.2)
    assert late.value.code() == grpc.StatusCode.DEADLINE_EXCEEDED
    await until_cancelled(probe, "doomed")
