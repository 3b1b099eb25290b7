"""Continuation: a decorator of tools goes on with the very call it was given, once, and with nothing else."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest

from contract.continuation import CONTINUE
from tests.delegation.script import (
    GATE,
    TOOLS,
    fail,
    forward,
    ids,
    leave,
    linger,
    outside,
    proceed,
    twice,
    use,
    wait,
)
from tests.delegation.stage import (
    GATEKEEPER,
    at_gate,
    begun,
    calls,
    chain,
    error,
    execute,
    layers,
    let,
    native,
    over,
    plugin,
    text,
    typed,
)
from tests.support.caller import failure
from tests.support.mesh import Mesh, running
from wuu.mesh.v1.continuation_pb2 import ContinueRequest

KINDS = {"native": native, "plugin": plugin}

CHAINS = [
    ("native", "native", "native"),
    ("native", "plugin", "native"),
    ("plugin", "native", "plugin"),
    ("plugin", "plugin", "plugin"),
]
"""Each kind before, behind and between the other."""

EVERYBODY = (GATEKEEPER, native("outer"), native("inner"), native("tools", "tools"), native("plain", "plain"))
ROUTES = [*chain(["outer", "inner", "tools"]), *chain(["plain", "tools"])[1:]]


@pytest.fixture(scope="module")
async def mesh() -> AsyncIterator[Mesh]:
    """A chain of two decorators, and one that has no right to continue beside."""
    async with running(*EVERYBODY, services=ROUTES) as mesh:
        yield mesh


@pytest.fixture
async def own_mesh() -> AsyncIterator[Mesh]:
    """The same for one test."""
    async with running(*EVERYBODY, services=ROUTES) as mesh:
        yield mesh


@pytest.mark.parametrize(("outer", "inner", "tools"), CHAINS)
async def test_a_call_goes_down_a_chain_of_native_modules_and_plugins(
    outer: str, inner: str, tools: str
) -> None:
    entries = KINDS[outer]("outer"), KINDS[inner]("inner"), KINDS[tools]("tools", "tools")
    async with running(GATEKEEPER, *entries, services=chain(["outer", "inner", "tools"])) as mesh:
        answer = await execute(mesh, outer=[proceed(), proceed()], inner=[proceed()])
        told = [(each["module"], each["caller"], each["continuable"]) for each in layers(answer)]
        assert told == [("outer", "wuu.operator", True), ("inner", "outer", True), ("tools", "inner", False)]
        error(answer["outcomes"][1], "execution_not_found")
        # An ordinary call is no way around it, and a method that needs no continuation goes on as ever.
        answer = await execute(mesh, outer=[forward(), proceed()], inner=[forward()])
        refused, (inner_answer,) = answer["outcomes"][0], [answer["outcomes"][1]["result"]]
        assert "may not call execute of another in its own name" in error(refused, "service_not_authorized")
        error(inner_answer["outcomes"][0], "service_not_authorized")
        listed = await mesh.call(TOOLS, "list")
        assert (listed["module"], listed["caller"]) == ("tools", "inner")


async def test_what_is_continued_is_the_request_byte_for_byte(mesh: Mesh) -> None:
    script = {"outer": [proceed()], "inner": [proceed()], "ignored": " ü\u2028"}
    answer = await mesh.call(TOOLS, "execute", script)
    assert {each["params"].encode() for each in layers(answer)} == {text(script)}


async def test_every_layer_has_a_continuation_of_its_own(mesh: Mesh) -> None:
    answer = await execute(mesh, outer=[ids(), proceed()], inner=[ids(), proceed()])
    outer, inner, _ = (each["outcomes"] for each in layers(answer))
    assert outer[0] != inner[0]
    assert all(len(each[0]["result"][0]) > 16 for each in (outer, inner))


async def test_it_is_used_once(mesh: Mesh) -> None:
    before = await calls(mesh, "tools")
    answer = await execute(mesh, outer=[proceed(), proceed()], inner=[proceed()])
    assert "was used" in error(answer["outcomes"][1], "execution_not_found")
    assert await calls(mesh, "tools") == before + 2  # One of them asked for the number.


async def test_of_several_uses_at_once_one_is_made(mesh: Mesh) -> None:
    answer = await execute(mesh, outer=[twice()])
    made, refused = sorted(answer["outcomes"][0]["result"], key=lambda outcome: "error" in outcome)
    assert made["result"]["module"] == "inner"
    assert "was used" in error(refused, "execution_not_found")


async def test_a_failed_delegate_has_used_it_up_and_its_error_is_unchanged(mesh: Mesh) -> None:
    answer = await execute(mesh, outer=[proceed(), proceed()], inner=[fail("tool_broke")])
    failed, again = answer["outcomes"]
    assert failed["error"] == {
        "code": "tool_broke",
        "message": "as scripted",
        "domain": "wuu",
        "outcome": "",
        "details": {"pointer": "/do"},
    }
    assert "was used" in error(again, "execution_not_found")


async def test_another_id_is_refused_and_uses_nothing_up(mesh: Mesh) -> None:
    answer = await execute(mesh, outer=[use("made-up"), use(""), proceed()])
    made_up, empty, made = answer["outcomes"]
    assert "is not the continuation of" in error(made_up, "execution_not_found")
    error(empty, "execution_not_found")
    assert made["result"]["module"] == "inner"


async def test_it_is_used_in_the_execution_of_the_call_by_a_live_instance(mesh: Mesh) -> None:
    answer = await execute(mesh, outer=[outside("any"), proceed()])
    assert "in its execution, and none is named" in error(answer["outcomes"][0], "execution_not_found")
    assert answer["outcomes"][1]["result"]["module"] == "inner"
    request = ContinueRequest(id="any").SerializeToString()
    for token in ("", "made-up"):
        refused = await failure(
            mesh.stranger(token).unary(CONTINUE, request, mesh.stranger(token).metadata())
        )
        assert (refused.code, refused.outcome) == ("unauthenticated", "not_dispatched")


async def test_a_typed_call_is_continued_in_its_own_messages() -> None:
    path = "/test.tools.v1.Tools/Execute"
    entries = typed("outer", "decorator"), typed("inner", "decorator"), typed("tools", "tools")
    async with running(*entries, services=chain(["outer", "inner", "tools"])) as mesh:
        metadata = mesh.operator.metadata(TOOLS)
        assert (await mesh.operator.unary(path, b"\xff", metadata)).message == b"\xff for inner"
        # A module that has another shape for the same path takes nothing from those that are called.
        both = [*entries, typed("streaming", "streaming")]
        await mesh.apply(*both, services=chain(["outer", "inner", "tools"]))
        assert (await mesh.operator.unary(path, b"\xff", metadata)).message == b"\xff for inner"
        await mesh.idle()


async def test_a_delegate_with_another_carrier_is_refused_by_name() -> None:
    entries = GATEKEEPER, native("outer"), typed("tools", "tools")
    async with running(*entries, services=chain(["outer", "tools"])) as mesh:
        answer = await execute(mesh, outer=[proceed()])
        assert "is carried by typed:test.tools.v1.Tools" in error(answer["outcomes"][0], "method_not_found")


async def test_the_id_of_another_call_of_the_module_is_refused(mesh: Mesh) -> None:
    first = begun(mesh, outer=[ids(), wait("another-call"), proceed()])
    await at_gate(mesh, "another-call")
    [live] = [each for each in await mesh.executions() if each.owner == "outer"]
    answer = await execute(mesh, outer=[use("guessed", live.id)])
    error(answer["outcomes"][0], "execution_not_found")
    await let(mesh, "another-call")
    assert (await first)["outcomes"][2]["result"]["module"] == "inner"


async def test_another_module_cannot_use_it(mesh: Mesh) -> None:
    first = begun(mesh, outer=[wait("another-module"), proceed()])
    await at_gate(mesh, "another-module")
    [live] = [each for each in await mesh.executions() if each.owner == "outer"]
    stolen = {"inner": [use("any", live.id)]}
    answer = await mesh.operator.invoke(TOOLS, "execute", stolen, module="inner")
    assert "not a live execution of inner" in error(answer["outcomes"][0], "execution_not_found")
    await let(mesh, "another-module")
    await first


async def test_it_is_void_once_the_call_has_returned(mesh: Mesh) -> None:
    answer = await execute(mesh, outer=[ids()])
    id_, execution = answer["outcomes"][0]["result"]
    answer = await execute(mesh, outer=[use(id_, execution), use(id_)])
    late, elsewhere = answer["outcomes"]
    assert "not a live execution" in error(late, "execution_not_found")
    assert "is not the continuation of" in error(elsewhere, "execution_not_found")


async def test_it_is_void_once_the_call_was_cancelled(own_mesh: Mesh) -> None:
    mesh = own_mesh
    call = begun(mesh, outer=[linger("cancelled"), proceed()])
    await at_gate(mesh, "cancelled")
    call.cancel()
    await over(mesh, "outer")
    await let(mesh, "cancelled")
    _, void = await mesh.call(TOOLS, "last")
    error(void, "execution_not_found")
    assert await calls(mesh, "tools") == 0


async def test_who_does_not_name_the_feature_has_none(mesh: Mesh) -> None:
    script = {"plain": [ids(), proceed(), forward()]}
    answer = await mesh.operator.invoke(TOOLS, "execute", script, module="plain")
    none, refused, ordinary = answer["outcomes"]
    assert (answer["continuable"], none["result"][0]) == (False, "")
    assert "does not require service.continuation.v1" in error(refused, "service_not_authorized")
    error(ordinary, "service_not_authorized")


async def test_the_provider_at_the_end_has_none_and_only_execute_is_continued(mesh: Mesh) -> None:
    answer = await execute(mesh, outer=[proceed()], inner=[proceed()], tools=[proceed()])
    *_, tools = layers(answer)
    error(tools["outcomes"][0], "service_not_authorized")


async def test_a_disabled_decorator_is_revoked_and_so_is_its_continuation(own_mesh: Mesh) -> None:
    mesh = own_mesh
    call = asyncio.create_task(failure(execute(mesh, outer=[linger("revoked"), proceed()])))
    await at_gate(mesh, "revoked")
    before = await calls(mesh, "inner")
    await mesh.switch("outer", enabled=False)
    assert (await call).code == "module_revoked"
    await let(mesh, "revoked")
    # Once it has ended it can try no more; until then it was free to.
    await mesh.happens("module", "outer", "stopped")
    assert await calls(mesh, "inner") == before + 1


async def test_a_disabled_delegate_is_not_called(own_mesh: Mesh) -> None:
    mesh = own_mesh
    call = begun(mesh, outer=[wait("delegate"), proceed(), proceed()])
    await at_gate(mesh, "delegate")
    await mesh.switch("inner", enabled=False)
    await let(mesh, "delegate")
    _, revoked, again = (await call)["outcomes"]
    assert "inner was disabled" in error(revoked, "module_revoked")
    error(again, "execution_not_found")


async def test_a_newer_generation_leaves_it_as_it_is(own_mesh: Mesh) -> None:
    mesh = own_mesh
    call = begun(mesh, outer=[wait("swap"), proceed()], inner=[proceed()])
    await at_gate(mesh, "swap")
    other = native("other", "tools")
    await mesh.apply(*EVERYBODY, other, services=[*chain(["outer", "inner", "other"]), ROUTES[-1]])
    newer = await execute(mesh, outer=[proceed()], inner=[proceed()])
    assert [each["module"] for each in layers(newer)] == ["outer", "inner", "other"]
    await let(mesh, "swap")
    older = await call
    # What waited at the gate is no layer of the chain.
    assert [each["module"] for each in layers(older)] == ["outer", "inner", "tools"]
    assert {each["generation"] for each in layers(older)} == {"1"}


async def test_a_cancel_runs_down_the_chain(mesh: Mesh) -> None:
    call = begun(mesh, outer=[proceed()], inner=[proceed()], tools=[wait("down")])
    await at_gate(mesh, "down")
    call.cancel()
    await mesh.call(GATE, "cancelled", {"key": "down"})
    await mesh.idle()


async def test_a_decorator_may_leave_what_it_continued_and_has_used_it_up(mesh: Mesh) -> None:
    script = {"outer": [leave("left"), proceed()], "inner": [proceed()], "tools": [wait("left")]}
    left, again = (await mesh.call(TOOLS, "execute", script))["outcomes"]
    assert left == {"result": True}
    assert "was used" in error(again, "execution_not_found")
    await mesh.call(GATE, "cancelled", {"key": "left"})
    await mesh.idle()


async def test_the_deadline_of_the_call_bounds_the_chain(mesh: Mesh) -> None:
    answer = await execute(mesh, within=60, outer=[proceed()], inner=[proceed()])
    assert len({each["deadline"] for each in layers(answer)} - {0}) == 1
    call = failure(execute(mesh, within=0.5, outer=[proceed()], inner=[proceed()], tools=[wait("late")]))
    assert (await call).code == "deadline_exceeded"
    await mesh.call(GATE, "cancelled", {"key": "late"})
    await mesh.idle()


async def test_an_operator_reads_who_continued_what(mesh: Mesh) -> None:
    call = begun(mesh, outer=[proceed()], inner=[proceed()], tools=[wait("read")])
    await at_gate(mesh, "read")
    live: Any = {each.owner: each for each in await mesh.executions()}
    assert (live["inner"].caller, live["inner"].parent) == ("outer", live["outer"].id)
    assert (live["tools"].caller, live["tools"].parent) == ("inner", live["inner"].id)
    await let(mesh, "read")
    await call
