"""A module that stands in front of another provider: what it overrides it serves, all else it passes on."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest

from provider_kit import delegate, describe_dynamic
from tests.delegation.script import TOOLS, fail, forward, listed, wait
from tests.delegation.stage import (
    GATEKEEPER,
    at_gate,
    begun,
    calls,
    chain,
    execute,
    let,
    native,
    plugin,
)
from tests.support.caller import failure
from tests.support.composition import Entry, command, probe, select
from tests.support.mesh import Mesh, running
from tests.support.probe import STREAMS
from tests.support.process import Process
from tests.support.script import Action, NestedCall

DOCUMENTS = "state.documents@1"
STREAMING = "probe.streams@1"


def in_front(module: str, of: str) -> Entry:
    """A decorator of a typed service."""
    return Entry(id=module, argv=(*command("tests.delegation.in_front"), of))


@pytest.fixture(scope="module")
async def mesh() -> AsyncIterator[Mesh]:
    """A chain of a native decorator and a plugin in front of tools, and two typed ones."""
    entries = (
        *(GATEKEEPER, native("outer"), plugin("inner"), native("tools", "tools")),
        *(in_front("top", "documents"), in_front("middle", "documents"), Entry(id="wuu.state.sqlite")),
        *(in_front("passing", "streams"), in_front("again", "streams")),
        probe("streams", streams=STREAMING, provides=["probe.waiting@1"]),
    )
    routes = (
        *chain(["outer", "inner", "tools"]),
        select(DOCUMENTS, "top"),
        select(DOCUMENTS, "middle", consumer="top"),
        select(DOCUMENTS, "wuu.state.sqlite", consumer="middle"),
        select(STREAMING, "passing"),
        select(STREAMING, "again", consumer="passing"),
        select(STREAMING, "streams", consumer="again"),
    )
    async with running(*entries, services=routes) as mesh:
        yield mesh


async def test_an_override_is_served_by_the_module_and_the_rest_by_its_delegate(mesh: Mesh) -> None:
    written = mesh.cli(
        "call",
        DOCUMENTS,
        "commit",
        '{"id": "t1", "expected_revision": "0", "writes": [{"namespace": "n", "key": "k", "value": [1.50]}]}',
    )
    assert '"revision":"1"' in written.stdout, written.stderr
    read = mesh.cli("call", DOCUMENTS, "read", '{"namespace": "n"}').stdout
    assert '"value":[1.50]' in read
    # From the store outwards: each is called by whom it is bound to, in that one's own name.
    assert read.index('"by top"') < read.index('"by wuu.operator"')


async def test_an_override_that_fails_has_failed_and_nothing_else_is_run(mesh: Mesh) -> None:
    refused = mesh.cli("call", DOCUMENTS, "read", '{"namespace": "barred"}')
    assert "barred: nobody reads that" in refused.stderr
    before = await calls(mesh, "inner"), await calls(mesh, "tools")
    error = await failure(execute(mesh, outer=[fail("broke")]))
    assert (error.code, error.domain) == ("broke", "wuu")
    # Each was asked for its number, and by way of `inner` so was `tools`.
    assert (await calls(mesh, "inner"), await calls(mesh, "tools")) == (before[0] + 2, before[1] + 2)


async def test_what_the_delegate_fails_with_the_call_fails_with(mesh: Mesh) -> None:
    error = await failure(mesh.call(TOOLS, "list", {"code": "no_such_tool"}))
    assert (error.code, error.message, error.domain) == ("no_such_tool", "as asked", "wuu")


async def test_what_no_delegate_declares_is_not_found(mesh: Mesh) -> None:
    error = await failure(mesh.call(TOOLS, "extra"))
    assert (error.code, error.domain) == ("method_not_found", "wuu")
    assert "tools declares no extra in agent.tools@1" in error.message
    refused = mesh.cli("call", DOCUMENTS, "authority")
    assert "method_not_found: wuu.state.sqlite declares no" in refused.stderr


@pytest.mark.parametrize(
    ("rpc", "sent", "answered"),
    [
        ("Unary", [b"abc"], [b"abc"]),
        ("Gather", [b"a", b"", b"bc"], [b"abc"]),
        ("Scatter", [b"abc"], [b"a", b"b", b"c"]),
        ("Both", [b"a", b"", b"bc"], [b"a", b"", b"bc"]),
    ],
)
async def test_every_shape_passes_unparsed(
    mesh: Mesh, rpc: str, sent: list[bytes], answered: list[bytes]
) -> None:
    async def requests() -> AsyncIterator[bytes]:
        for each in sent:
            yield each

    metadata = mesh.operator.metadata(STREAMING)
    stream = mesh.operator.stream(f"/{STREAMS}/{rpc}", requests(), metadata)
    assert [each async for each in stream] == answered
    await mesh.idle()


async def test_a_stream_that_is_left_ends_all_the_way_down(mesh: Mesh) -> None:
    stream = mesh.operator.stream(f"/{STREAMS}/Watch", b"left", mesh.operator.metadata(STREAMING))
    assert await anext(stream) == b"left"
    assert {each.owner for each in await mesh.executions()} == {"passing", "again", "streams"}
    await stream.aclose()
    await mesh.call("probe.waiting@1", "cancelled", {"key": "left"})
    await mesh.idle()


async def test_decorators_leave_no_complaint_in_their_logs(mesh: Mesh) -> None:
    assert "".join(map(mesh.log, ("outer", "inner", "top", "middle", "passing", "again"))) == ""


@pytest.fixture
async def own_mesh() -> AsyncIterator[Mesh]:
    """A decorator and its tools, for one test."""
    entries = GATEKEEPER, native("outer"), native("tools", "tools"), native("other", "tools")
    async with running(*entries, services=chain(["outer", "tools"])) as mesh:
        yield mesh


async def test_an_error_keeps_its_details_and_its_outcome(own_mesh: Mesh) -> None:
    error = await failure(own_mesh.call(TOOLS, "list", {"code": "no_such_tool"}))
    assert (error.code, error.domain, error.outcome) == ("no_such_tool", "wuu", "unknown")
    assert error.details["pointer"] == "/code"


async def test_what_may_be_called_in_preparation_passes_in_preparation(own_mesh: Mesh) -> None:
    entries = GATEKEEPER, native("outer"), native("tools", "tools"), native("other", "tools")
    routes = chain(["outer", "tools"])

    def reading(method: str) -> Entry:
        asked = Action(demand=NestedCall(service=TOOLS, method=method))
        return probe("reader", provides=["probe.reader@1"], requires=[TOOLS], steps={"prepare": asked})

    assert (await own_mesh.apply(*entries, reading("list"), services=routes)).outcome == "committed"
    dropped = await own_mesh.apply(*entries, reading("extra"), services=routes)
    assert [each.code for each in dropped.problems] == ["host_error"]
    assert "preparation_only" in dropped.problems[0].message


async def test_what_is_passed_on_goes_where_the_generation_of_the_call_says(own_mesh: Mesh) -> None:
    mesh = own_mesh
    call = begun(mesh, outer=[wait("swap"), listed()])
    await at_gate(mesh, "swap")
    entries = GATEKEEPER, native("outer"), native("tools", "tools"), native("other", "tools")
    await mesh.apply(*entries, services=chain(["outer", "other"]))
    assert (await mesh.call(TOOLS, "list"))["module"] == "other"
    await let(mesh, "swap")
    _, asked = (await call)["outcomes"]
    assert (asked["result"]["module"], asked["result"]["generation"]) == ("tools", "1")


async def test_a_delegate_that_is_gone_is_missing_and_nobody_takes_its_place(own_mesh: Mesh) -> None:
    mesh = own_mesh
    mesh.without_packages()
    Process(mesh.module("tools")["pid"]).kill()
    await mesh.happens("module", "tools", "failed")
    error = await failure(mesh.call(TOOLS, "list"))
    assert (error.code, error.domain, error.outcome) == ("service_unavailable", "wuu", "not_dispatched")
    ordinary = (await execute(mesh, outer=[forward()]))["outcomes"][0]["error"]
    assert (ordinary["code"], ordinary["domain"]) == ("service_not_authorized", "wuu.mesh")


async def test_a_call_in_flight_at_a_delegate_that_dies_has_an_unknown_outcome(own_mesh: Mesh) -> None:
    mesh = own_mesh
    script: dict[str, Any] = {"outer": [{"do": "proceed"}], "tools": [wait("dies")]}
    call = asyncio.create_task(mesh.call(TOOLS, "execute", script))
    await at_gate(mesh, "dies")
    Process(mesh.module("tools")["pid"]).kill()
    error = (await call)["outcomes"][0]["error"]
    assert (error["code"], error["outcome"]) == ("service_unavailable", "unknown")


def test_an_override_is_a_method_of_the_service() -> None:
    descriptor = describe_dynamic("a.b", ["read", "write"], preparation=["read"])
    assert [method.preparation for method in descriptor.methods] == [True, False]
    with pytest.raises(ValueError, match=r"a\.b has no method wipe, but read, write"):
        delegate(descriptor, {"wipe": print})
    with pytest.raises(ValueError, match=r"a\.b has no method wipe"):
        describe_dynamic("a.b", ["read", "write"], cleanup=["wipe"])
