"""A plugin goes on with a call that it serves: `host.service.continue`."""

from __future__ import annotations

import asyncio
import sys
from typing import Any

import pytest

from contract.continuation import CONTINUE, SERVICE_CONTINUATION
from contract.errors import MeshError
from tests.bridge.conftest import Start
from tests.bridge.harness import DECLARATION, Instance, Router, RouterCall, answers
from wuu.mesh.v1.continuation_pb2 import ContinueRequest, ContinueResponse
from wuu.mesh.v1.json_pb2 import Json
from wuu.state.documents.v1.documents_pb2 import Document, ReadRequest, ReadResponse

BOTH = ["host.service.call", "host.service.continue"]


@pytest.fixture
async def decorator(attach: Start) -> Instance:
    """A probe whose host has the feature."""
    asking = {"required_host_features": [SERVICE_CONTINUATION], "required_host_services": BOTH}
    instance = await attach(DECLARATION | asking)
    await instance.initialize(host_features=[SERVICE_CONTINUATION])
    await instance.prepare()
    await instance.activate()
    return instance


def going_on(router: Router, response: bytes) -> None:
    """The router answers a continuation with this message."""

    async def answer(call: RouterCall) -> bytes:
        assert call.path == CONTINUE
        return ContinueResponse(response=response).SerializeToString()

    router.answer = answer


async def ask(plugin: Instance, execution: str = "served", **params: Any) -> Any:
    """Has the plugin continue while it serves an execution; returns the host's answer."""
    asked: dict[str, Any] = {"method": "host.service.continue", "params": params}
    [answer] = await plugin.run("ask", execution=execution, **asked)
    return answer


async def test_the_host_offers_it_beside_the_feature(decorator: Instance) -> None:
    [initialize, *_] = await decorator.seen()
    assert initialize[3]["supported_host_features"] == [SERVICE_CONTINUATION]
    assert initialize[3]["supported_host_services"] == BOTH


async def test_without_the_feature_the_host_has_no_such_method(probe: Instance, router: Router) -> None:
    answer = await ask(probe, continuation_id="once")
    assert answer["error"]["code"] == "method_not_found"
    assert router.of(probe) == []


async def test_a_plugin_requires_only_what_is_offered(attach: Start) -> None:
    instance = await attach(DECLARATION | {"required_host_services": BOTH})
    with pytest.raises(Exception, match="is not offered by this host"):
        await instance.initialize()


async def test_the_id_goes_to_the_router_in_the_execution(decorator: Instance, router: Router) -> None:
    going_on(router, answers(b'{ "x":\n 1.0e2 }'))
    assert await ask(decorator, continuation_id="once") == {"result": {"x": 100.0}}
    [call] = router.of(decorator)
    assert (call.execution, call.service, call.method) == ("served", "", "")
    assert ContinueRequest.FromString(call.request).id == "once"


TYPED = """
import json, sys
method = {"input_schema": "a.b", "output_schema": "a.b"}
service = {"name": "state.documents", "version": "1.0.0",
           "methods": {"read": method, "commit": method, "export": method}}
declared = {"protocol_version": 3, "lifecycle_version": 2, "provided_services": [service],
            "required_host_features": ["service.continuation.v1"]}
asked = {}
for line in sys.stdin:
    frame = json.loads(line)
    if frame.get("method") == "service.invoke":
        asked["own"] = frame["id"]
        ids = {key: frame["params"][key] for key in ("execution_id", "continuation_id")}
        said = {"id": "own", "method": "host.service.continue", "params": ids}
    elif "method" in frame:
        said = {"id": frame["id"], "result": declared if frame["method"] == "initialize" else None}
    else:
        said = {**frame, "id": asked.pop(frame["id"])}
    print(json.dumps(said), flush=True)
"""
"""A decorator of `state.documents@1` that goes on with whatever it is called for."""


async def test_the_answer_to_a_typed_call_is_in_json_and_back(attach: Start, router: Router) -> None:
    plugin = await attach(argv=(sys.executable, "-I", "-S", "-c", TYPED))
    await plugin.initialize(host_features=[SERVICE_CONTINUATION])
    found = ReadResponse(revision="7", documents=[Document(namespace="n", key="k", value=Json(utf8=b"[1]"))])
    going_on(router, found.SerializeToString())
    made_for: dict[str, Any] = {"service": "state.documents@1", "method": "read", "continuation": "once"}
    request = ReadRequest(namespace="n").SerializeToString()
    answer = await plugin.call("/wuu.state.documents.v1.Documents/Read", request, **made_for)
    assert ReadResponse.FromString(answer) == found
    [asked] = router.of(plugin)
    assert ContinueRequest.FromString(asked.request).id == "once"


@pytest.mark.parametrize(
    "params",
    [
        {},
        {"continuation_id": 7},
        {"continuation_id": None},
        {"continuation_id": "once", "params": {}},
        {"continuation_id": "once", "service": "agent.tools"},
        {"continuation_id": "once", "execution_id": "two\nlines"},
        {"continuation_id": "once", "execution_id": None},
    ],
)
async def test_nothing_but_the_two_ids_is_taken(
    decorator: Instance, router: Router, params: dict[str, Any]
) -> None:
    answer = await ask(decorator, **params)
    assert answer["error"]["code"] == "invalid_request"
    assert router.of(decorator) == []


async def test_a_refusal_keeps_code_and_message(decorator: Instance, router: Router) -> None:
    async def refuse(_: RouterCall) -> bytes:
        raise MeshError("execution_not_found", "that was used", outcome="not_dispatched")

    router.answer = refuse
    answer = await ask(decorator, continuation_id="once")
    assert answer == {"error": {"code": "execution_not_found", "message": "that was used"}}


async def test_a_cancel_goes_on_to_what_is_continued(decorator: Instance, router: Router) -> None:
    async def hang(_: RouterCall) -> bytes:
        await asyncio.Event().wait()
        raise AssertionError

    router.answer = hang
    work = asyncio.create_task(ask(decorator, "doomed", continuation_id="once"))
    await router.until(lambda: len(router.of(decorator)) == 1)
    work.cancel()
    await asyncio.wait((work,))
    [call] = router.of(decorator)
    async with asyncio.timeout(30):
        await call.cancelled.wait()
