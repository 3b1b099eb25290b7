"""What a plugin asks of the host."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from contract.contracts import own_contracts
from contract.declaration import describe
from contract.errors import MeshError
from tests.bridge.conftest import Start
from tests.bridge.harness import DECLARATION, DYNAMIC, Instance, Router, RouterCall, answers, binding
from wuu.mesh.v1.declaration_pb2 import MethodDescriptor, ServiceDescriptor
from wuu.mesh.v1.dynamic_pb2 import InvokeRequest
from wuu.mesh.v1.json_pb2 import Json
from wuu.state.documents.v1.documents_pb2 import Document, ReadRequest, ReadResponse

OTHER = {"service": "test.other", "method": "ask"}


def requiring(*services: tuple[str, int]) -> dict[str, Any]:
    """A declaration that requires these services."""
    entries = [{"name": name, "major_version": major} for name, major in services]
    return DECLARATION | {"required_services": entries}


async def test_a_call_goes_to_the_router_in_its_execution(probe: Instance, router: Router) -> None:
    [answer] = await probe.run("ask", params=OTHER | {"params": {"q": 1}}, execution="e-1")
    assert answer == {"result": {"q": 1}}
    [call] = router.of(probe)
    assert (call.path, call.service, call.method, call.execution) == (DYNAMIC, "test.other@1", "ask", "e-1")
    assert call.token == probe.handshake.token
    assert call.params == {"q": 1}


async def test_a_call_outside_any_execution_names_none(probe: Instance, router: Router) -> None:
    await probe.run("ask", params=OTHER, scoped=False)
    await probe.run("ask", params=OTHER | {"execution_id": ""}, scoped=False)
    await probe.run("ask", params=OTHER | {"execution_id": None}, scoped=False)
    assert [call.execution for call in router.of(probe)] == ["", "", ""]


async def test_json_keeps_its_bytes_through_the_host_and_back(probe: Instance, router: Router) -> None:
    async def answer(call: RouterCall) -> bytes:
        return answers(b'{ "x":\n 1.0e2 }')

    router.answer = answer
    asked = '{"service":"test.other","method":"ask","params":{ "y" : 2.50 }}'
    frame = f'{{"id":"own-1","method":"host.service.call","params":{asked}}}\n'
    [answered] = await probe.run("expect", id="own-1", text=frame)
    assert answered == {"result": {"x": 100.0}}
    [call] = router.of(probe)
    assert InvokeRequest.FromString(call.request).params.utf8 == b'{ "y" : 2.50 }'


@pytest.mark.parametrize(
    ("spelled", "service"),
    [
        ("test.other", "test.other@1"),
        ("test.other@1", "test.other@1"),
        ("host.storage.compare-exchange", "host.storage.compare-exchange@1"),
        ("host.storage.compare_exchange", "host.storage.compare-exchange@1"),
        ("test.twice", "test.twice"),
        ("test.twice@2", "test.twice@2"),
        ("test.undeclared", "test.undeclared"),
        ("test.undeclared@3", "test.undeclared@3"),
    ],
)
async def test_a_service_is_named_with_its_major_where_the_declaration_leaves_no_choice(
    attach: Start, router: Router, spelled: str, service: str
) -> None:
    declared = requiring(
        ("test.other", 1), ("host.storage.compare_exchange", 1), ("test.twice", 1), ("test.twice", 2)
    )
    instance = await (await attach(declared)).up()
    await instance.run("ask", params={"service": spelled, "method": "call"})
    assert [call.service for call in router.of(instance)] == [service]


async def test_what_is_not_declared_is_left_to_admission(probe: Instance, router: Router) -> None:
    async def refuse(call: RouterCall) -> bytes:
        raise MeshError("service_not_authorized", f"{call.service} is not declared")

    router.answer = refuse
    [answer] = await probe.run("ask", params={"service": "test.undeclared", "method": "call"})
    assert answer == {
        "error": {"code": "service_not_authorized", "message": "test.undeclared is not declared"}
    }


@pytest.mark.parametrize(
    ("params", "says"),
    [
        ([1], "Expected `object`, got `array`"),
        (None, "Expected `object`, got `null`"),
        ("text", "Expected `object`, got `str`"),
        ({"method": "m"}, "missing required field `service`"),
        ({"service": "test.other"}, "missing required field `method`"),
        ({"service": 1, "method": "m"}, "Expected `str`, got `int` - at `$.service`"),
        (OTHER | {"timeout": 3}, "unknown field `timeout`"),
        (OTHER | {"service": "No name"}, "'No name' is not a service name"),
        (OTHER | {"service": "test.other@one"}, "is not a service name"),
        (OTHER | {"method": "a\nb"}, "is not a method name"),
        (OTHER | {"execution_id": "é\n"}, "`execution_id`"),
    ],
)
async def test_a_malformed_call_is_an_invalid_request(
    probe: Instance, router: Router, params: Any, says: str
) -> None:
    [answer] = await probe.run("ask", params=params, scoped=False)
    assert answer["error"]["code"] == "invalid_request"
    assert says in answer["error"]["message"]
    assert router.of(probe) == []


@pytest.mark.parametrize("method", ["host.service.continue", "host.storage.get", "execution.update", ""])
async def test_another_method_is_answered_and_the_plugin_lives_on(probe: Instance, method: str) -> None:
    [answer] = await probe.run("ask", method=method, params={})
    assert answer["error"] == {"code": "method_not_found", "message": f"the host has no method '{method}'"}
    assert await probe.run("pid") == probe.process.pid


async def test_a_failure_keeps_its_code(probe: Instance, router: Router) -> None:
    async def refuse(call: RouterCall) -> bytes:
        raise MeshError("service_unavailable", "test.other crashed", outcome="unknown")

    router.answer = refuse
    [answer] = await probe.run("ask", params=OTHER)
    assert answer == {"error": {"code": "service_unavailable", "message": "test.other crashed"}}


async def test_a_provider_that_answers_what_is_not_json_breaks_no_frame(
    probe: Instance, router: Router
) -> None:
    async def answer(call: RouterCall) -> bytes:
        return answers(b'{"x":')

    router.answer = answer
    [answered] = await probe.run("ask", params=OTHER)
    assert answered["error"]["code"] == "protocol_violation"


async def test_calls_overlap_and_each_gets_its_own_answer(probe: Instance, router: Router) -> None:
    everyone = asyncio.Event()
    waiting = 0

    async def answer(call: RouterCall) -> bytes:
        nonlocal waiting
        waiting += 1
        if waiting == 50:
            everyone.set()
        await everyone.wait()
        return answers(json.dumps(call.params).encode())

    router.answer = answer
    got = await asyncio.gather(*(probe.run("ask", params=OTHER | {"params": n}) for n in range(50)))
    assert got == [[{"result": n}] for n in range(50)]


async def test_a_plugin_serves_while_it_waits_for_the_host(probe: Instance, router: Router) -> None:
    async def call_back(call: RouterCall) -> bytes:
        told = await probe.run("params", execution="inner")
        return answers(json.dumps(told["execution_id"]).encode())

    router.answer = call_back
    assert await probe.run("ask", params=OTHER, execution="outer") == [{"result": "inner"}]


async def test_a_plugin_has_at_most_1024_calls_open(probe: Instance, router: Router) -> None:
    go = asyncio.Event()
    open_now, most = 0, 0

    async def answer(call: RouterCall) -> bytes:
        nonlocal open_now, most
        open_now += 1
        most = max(most, open_now)
        await go.wait()
        open_now -= 1
        return answers(b"1")

    router.answer = answer
    asking = asyncio.create_task(probe.run("ask", params=OTHER, times=1500))
    await router.until(lambda: len(router.of(probe)) >= 1024)
    go.set()
    assert await asking == [{"result": 1}] * 1500
    assert most == 1024


# --- typed -------------------------------------------------------------------------------------------------


async def reader(attach: Start) -> Instance:
    """A plugin that is bound to a typed `state.documents@1`."""
    contract = own_contracts().contract("state.documents", 1)
    assert contract is not None
    instance = await attach(requiring(("state.documents", 1)))
    return await instance.up(binding("state.documents", describe(contract)))


async def test_a_typed_service_is_called_in_json(attach: Start, router: Router) -> None:
    async def answer(call: RouterCall) -> bytes:
        document = Document(namespace="n", key="k", value=Json(utf8=b'{ "a": 1.50 }'))
        return ReadResponse(documents=[document], revision="12").SerializeToString()

    router.answer = answer
    instance = await reader(attach)
    query = {"namespace": "n", "keys": ["k"], "limit": 3}
    [answered] = await instance.run(
        "ask", params={"service": "state.documents", "method": "read", "params": query}, execution="e-9"
    )
    assert answered == {
        "result": {"documents": [{"namespace": "n", "key": "k", "value": {"a": 1.5}}], "revision": "12"}
    }
    [call] = router.of(instance)
    assert (call.path, call.service) == ("/wuu.state.documents.v1.Documents/Read", "state.documents@1")
    assert (call.method, call.execution) == ("", "e-9")
    sent = ReadRequest.FromString(call.request)
    assert (sent.namespace, list(sent.keys.keys), sent.limit) == ("n", ["k"], 3)


async def test_a_typed_service_takes_no_other_params_and_has_no_other_methods(
    attach: Start, router: Router
) -> None:
    instance = await reader(attach)
    [wrong] = await instance.run(
        "ask", params={"service": "state.documents", "method": "read", "params": {"nmespace": "n"}}
    )
    assert wrong["error"]["code"] == "invalid_params"
    assert wrong["error"]["message"].startswith("/nmespace: ")
    [missing] = await instance.run("ask", params={"service": "state.documents", "method": "Read"})
    assert missing["error"]["code"] == "method_not_found"
    assert missing["error"]["message"].startswith(
        "test.provider declares no Read in state.documents; it has read"
    )
    assert router.of(instance) == []


async def test_a_carrier_that_the_bridge_does_not_have_is_named(attach: Start) -> None:
    instance = await attach(requiring(("example.other", 1)))
    carried = ServiceDescriptor(
        name="example.other",
        version="1.0.0",
        grpc_service="example.v1.Other",
        methods=[MethodDescriptor(name="m", rpc="M")],
    )
    await instance.up(binding("example.other", carried))
    [answered] = await instance.run("ask", params={"service": "example.other", "method": "m"})
    assert answered["error"]["code"] == "host_error"
    assert "example.v1.Other" in answered["error"]["message"]
