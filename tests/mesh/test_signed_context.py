"""The signed context: what the router vouches for, and what a provider demands before it serves."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator
from typing import Any

import pytest

from contract.context import CONTEXT_KEY, CallContext, Phase, sign
from tests.support.caller import DYNAMIC, Caller, failure
from tests.support.composition import probe
from tests.support.mesh import Mesh, running
from tests.support.probe import STREAMS
from wuu.mesh.v1.dynamic_pb2 import InvokeRequest, InvokeResponse

CONTEXT_CALL = {"service": "probe.low@1", "method": "context"}


@pytest.fixture(scope="module")
async def mesh() -> AsyncIterator[Mesh]:
    async with running(
        probe("low", provides=["probe.low@1", "probe.second@1"], streams="probe.streams@1"),
        probe("high", provides=["probe.high@1"], requires=["probe.low@1"]),
    ) as mesh:
        yield mesh


async def test_the_context_of_an_operators_call_says_who_calls_whom_and_what(mesh: Mesh) -> None:
    before = time.time() * 1000
    context = await mesh.call("probe.low@1", "context")
    status = mesh.status()
    assert context["audience"] == mesh.module("low")["instance"]
    assert context["caller"] == "wuu.operator"
    assert context["generation"] == status["generation"]["id"]
    assert context["execution"]
    assert context["parent"] == ""
    assert context["phase"] == "active"
    assert context["service"] == "probe.low@1"
    assert context["method"] == "context"
    assert context["deadline_unix_ms"] == 0
    assert before < context["expires_unix_ms"] <= before + 120_000
    assert context["hops"] == 0
    assert (context["user_space"], context["product_domain"], context["workspace"]) == ("", "", "")


async def test_the_context_of_a_nested_call_names_the_module_that_calls_and_its_execution(
    mesh: Mesh,
) -> None:
    outer = await mesh.call("probe.high@1", "call", CONTEXT_CALL)
    inner = outer["result"]
    assert inner["audience"] == mesh.module("low")["instance"]
    assert inner["caller"] == "high"
    assert inner["parent"] == outer["context"]["execution"]
    assert inner["execution"] != inner["parent"]
    assert inner["generation"] == outer["context"]["generation"]
    assert (outer["context"]["hops"], inner["hops"]) == (0, 1)


async def test_a_call_outside_any_execution_has_no_parent(mesh: Mesh) -> None:
    outer = await mesh.call("probe.high@1", "call", {**CONTEXT_CALL, "execution": ""})
    assert (outer["result"]["parent"], outer["result"]["hops"]) == ("", 0)
    assert outer["result"]["caller"] == "high"


async def test_identity_is_never_taken_from_the_payload(mesh: Mesh) -> None:
    forged = {"caller": "low", "owner": "low", "plugin_id": "low", "session_id": "s"}
    assert (await mesh.call("probe.high@1", "context", forged))["caller"] == "wuu.operator"


async def test_no_two_executions_have_the_same_id(mesh: Mesh) -> None:
    ids = {(await mesh.call("probe.low@1", "context"))["execution"] for _ in range(20)}
    assert len(ids) == 20


# --- what a provider demands ---


@pytest.fixture(scope="module")
async def handshake(mesh: Mesh) -> dict[str, Any]:
    """What `low` was told at its start."""
    told: dict[str, Any] = await mesh.call("probe.low@1", "shake")
    return told


@pytest.fixture(scope="module")
async def direct(handshake: dict[str, Any]) -> AsyncIterator[Caller]:
    """Somebody who speaks to the socket of `low` without the router."""
    caller = Caller(f"unix:{handshake['listen']}")
    yield caller
    await caller.close()


def context(handshake: dict[str, Any], **fields: Any) -> CallContext:
    """The context of a call of `echo`, as the router would make it."""
    said: dict[str, Any] = {
        "audience": handshake["instance"],
        "caller": "high",
        "execution": "x-1",
        "phase": Phase.PHASE_ACTIVE,
        "service": "probe.low@1",
        "method": "echo",
        "expires_unix_ms": int(time.time() * 1000) + 10_000,
    }
    return CallContext(**{**said, **fields})


def signed(handshake: dict[str, Any], **fields: Any) -> bytes:
    """That context under the key of the instance."""
    return sign(context(handshake, **fields).SerializeToString(), bytes.fromhex(handshake["key"]))


async def send(direct: Caller, signed_context: bytes | None, path: str = DYNAMIC) -> bytes:
    """Calls the provider itself, past the router."""
    request = InvokeRequest()
    request.params.utf8 = b"[1]"
    metadata = [] if signed_context is None else [(CONTEXT_KEY, signed_context)]
    return (await direct.unary(path, request.SerializeToString(), metadata)).message


async def test_a_provider_serves_a_call_with_a_valid_context(
    direct: Caller, handshake: dict[str, Any]
) -> None:
    answer = await send(direct, signed(handshake))
    assert InvokeResponse.FromString(answer).result.utf8 == b"[1]"


async def test_a_provider_refuses_a_call_without_a_context(direct: Caller) -> None:
    error = await failure(send(direct, None))
    assert (error.code, error.domain) == ("unauthenticated", "wuu")


async def test_a_provider_refuses_a_context_that_cannot_be_read(direct: Caller) -> None:
    error = await failure(send(direct, b"\xff\xff\xff"))
    assert error.code == "unauthenticated"


async def test_a_provider_refuses_a_context_under_another_key(
    direct: Caller, handshake: dict[str, Any]
) -> None:
    forged = sign(context(handshake).SerializeToString(), b"k" * 32)
    error = await failure(send(direct, forged))
    assert error.code == "unauthenticated"


async def test_a_provider_refuses_a_context_that_has_expired(
    direct: Caller, handshake: dict[str, Any]
) -> None:
    error = await failure(send(direct, signed(handshake, expires_unix_ms=int(time.time() * 1000) - 1)))
    assert error.code == "unauthenticated"
    assert "expired" in error.message


async def test_a_provider_refuses_a_context_for_another_instance(
    direct: Caller, handshake: dict[str, Any]
) -> None:
    error = await failure(send(direct, signed(handshake, audience="low@0000000000000000")))
    assert error.code == "unauthenticated"


async def test_a_provider_refuses_a_typed_call_with_the_context_of_another_method(
    direct: Caller, handshake: dict[str, Any]
) -> None:
    right = signed(handshake, service="probe.streams@1", method="unary")
    assert await send(direct, right, f"/{STREAMS}/Unary")
    for wrong in (
        signed(handshake, service="probe.streams@1", method="gather"),
        signed(handshake, service="probe.low@1", method="unary"),
        signed(handshake, service="probe.streams@2", method="unary"),
    ):
        error = await failure(send(direct, wrong, f"/{STREAMS}/Unary"))
        assert error.code == "unauthenticated"


@pytest.mark.parametrize("rpc", ["Initialize", "Prepare", "Activate", "ServiceChanged", "Shutdown"])
async def test_a_provider_lets_nobody_but_the_router_call_its_lifecycle(
    direct: Caller, handshake: dict[str, Any], rpc: str
) -> None:
    error = await failure(send(direct, signed(handshake), f"/wuu.mesh.v1.Lifecycle/{rpc}"))
    assert (error.code, error.domain) == ("unauthenticated", "wuu")
    error = await failure(send(direct, None, f"/wuu.mesh.v1.Lifecycle/{rpc}"))
    assert error.code == "unauthenticated"
