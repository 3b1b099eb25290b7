"""The writing-report example on its wire, with a test in the place of both services."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping

import pytest
import pytest_asyncio

from tests.examples.mesh import EXAMPLES
from tests.examples.plugin import Frame, Plugin

ANALYSIS = {"words": 2, "characters": 3, "longest": "a"}
NAMESPACE = "example.writing-report"
RECEIPT = "report/call-1"


@pytest_asyncio.fixture
async def plugin() -> AsyncIterator[Plugin]:
    async with Plugin(EXAMPLES / "writing-report") as plugin:
        yield plugin


async def start_report(plugin: Plugin, *, execution: str = "x1") -> str:
    """Runs the tool up to its first read of the store; returns the id of the request."""
    number = await plugin.ask(
        "tool.execute",
        {"tool_id": "report", "arguments": {"text": "a b"}, "call_id": "call-1", "execution_id": execution},
    )
    asked = await called(plugin, "example.text.analysis", "analyze")
    assert asked["params"]["params"] == {"text": "a b"}
    assert asked["params"]["execution_id"] == execution
    await plugin.answer(asked, ANALYSIS)
    return number


async def called(plugin: Plugin, service: str, method: str) -> Frame:
    """The next frame of the plugin, which calls this method."""
    frame = await plugin.read()
    assert frame["method"] == "host.service.call"
    assert (frame["params"]["service"], frame["params"]["method"]) == (service, method)
    return frame


async def read_finds(plugin: Plugin, revision: str, documents: Mapping[str, object]) -> None:
    """Answers the plugin's read of the store with documents by key."""
    asked = await called(plugin, "state.documents", "read")
    assert asked["params"]["params"] == {"namespace": NAMESPACE, "keys": ["totals", RECEIPT]}
    found = [{"namespace": NAMESPACE, "key": key, "value": value} for key, value in documents.items()]
    await plugin.answer(asked, {"documents": found, "revision": revision})


async def test_the_report_is_one_transaction_on_the_revision_that_was_read(plugin: Plugin) -> None:
    number = await start_report(plugin)
    await read_finds(plugin, "7", {"totals": {"reports": 4, "words": 10}})
    commit = await called(plugin, "state.documents", "commit")
    assert commit["params"]["params"] == {
        "id": "example.writing-report/call-1/1",
        "expected_revision": "7",
        "writes": [
            {"namespace": NAMESPACE, "key": "totals", "value": {"reports": 5, "words": 12}},
            {"namespace": NAMESPACE, "key": RECEIPT, "value": ANALYSIS},
        ],
    }
    await plugin.answer(commit, {"id": "", "revision": "8", "digest": ""})
    answer = await plugin.read()
    assert answer["id"] == number
    assert answer["result"]["result"]["structured_content"]["totals"] == {"reports": 5, "words": 12}


async def test_a_conflict_is_read_anew_and_committed_under_a_fresh_id(plugin: Plugin) -> None:
    await start_report(plugin)
    await read_finds(plugin, "1", {})
    await plugin.refuse(await called(plugin, "state.documents", "commit"), "state_conflict")
    await read_finds(plugin, "2", {"totals": {"reports": 1, "words": 9}})
    commit = (await called(plugin, "state.documents", "commit"))["params"]["params"]
    assert (commit["id"], commit["expected_revision"]) == ("example.writing-report/call-1/2", "2")
    assert commit["writes"][0]["value"] == {"reports": 2, "words": 11}


async def test_conflicts_without_end_are_given_up(plugin: Plugin) -> None:
    number = await start_report(plugin)
    for _ in range(5):
        await read_finds(plugin, "1", {})
        await plugin.refuse(await called(plugin, "state.documents", "commit"), "state_conflict")
    answer = await plugin.read()
    assert (answer["id"], answer["error"]["code"]) == (number, "state_conflict")


@pytest.mark.parametrize("code", ["service_unavailable", "host_error", "state_operation_conflict"])
async def test_no_other_failure_is_tried_again(plugin: Plugin, code: str) -> None:
    number = await start_report(plugin)
    await read_finds(plugin, "1", {})
    await plugin.refuse(await called(plugin, "state.documents", "commit"), code)
    assert await plugin.read() == {"id": number, "error": {"code": code, "message": "as asked"}}


async def test_a_repeated_call_finds_its_receipt_and_counts_nothing(plugin: Plugin) -> None:
    number = await start_report(plugin)
    await read_finds(plugin, "3", {"totals": {"reports": 3, "words": 8}, RECEIPT: ANALYSIS})
    answer = await plugin.read()
    assert answer["id"] == number
    assert answer["result"]["result"]["structured_content"]["totals"] == {"reports": 3, "words": 8}


async def test_a_cancelled_report_commits_nothing_more(plugin: Plugin) -> None:
    number = await start_report(plugin)
    asked = await called(plugin, "state.documents", "read")
    await plugin.ask("execution.cancel", {"execution_id": "x1"})
    answer = await plugin.read()
    assert (answer["id"], answer["error"]["code"]) == (number, "execution_cancelled")
    # The late answer leads nowhere: the next frame is the answer to the next request.
    await plugin.answer(asked, {"documents": [], "revision": "1"})
    number = await plugin.ask("shutdown")
    assert await plugin.read() == {"id": number, "result": None}


async def test_the_cancellation_of_one_execution_leaves_the_others(plugin: Plugin) -> None:
    number = await start_report(plugin)
    await plugin.ask("execution.cancel", {"execution_id": "x2"})
    await read_finds(plugin, "0", {})
    await plugin.answer(await called(plugin, "state.documents", "commit"), {})
    assert (await plugin.read())["id"] == number
