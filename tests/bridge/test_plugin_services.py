"""What others ask of a plugin: services, tools, capabilities."""

from __future__ import annotations

import asyncio
import hashlib
import json
from typing import Any

import grpc
import pytest

from tests.bridge.conftest import Start
from tests.bridge.harness import DECLARATION, DYNAMIC, Instance, Router, code
from wuu.mesh.v1.context_pb2 import OwnerAdmission
from wuu.mesh.v1.contributions_pb2 import ExecuteToolRequest
from wuu.mesh.v1.json_pb2 import Json
from wuu.state.documents.v1.documents_pb2 import ReadRequest, ReadResponse

DOCUMENTS = "/wuu.state.documents.v1.Documents"
SCHEMAS = {"input_schema": "a.b.input.v1", "output_schema": "a.b.output.v1"}


async def test_a_service_is_told_who_calls_and_in_which_execution(probe: Instance) -> None:
    told = await probe.run("params", execution="execution-7")
    assert told == {
        "service": "test.probe",
        "method": "run",
        "caller": "test.caller",
        "execution_id": "execution-7",
        "params": {"do": "params"},
    }


async def test_admission_and_continuation_go_along_where_they_apply(probe: Instance) -> None:
    admitted = b'{ "namespaces": ["a"] }'
    digest = hashlib.sha256(admitted)
    told = await probe.invoke(
        b'{"do":"params"}',
        continuation="once",
        admission=OwnerAdmission(
            action="state/inspections/list",
            input_json=Json(utf8=admitted),
            input_digest=digest.digest(),
            subject="owner",
            lineage=["outer", "inner"],
        ),
    )
    assert json.loads(told)["continuation_id"] == "once"
    assert json.loads(told)["admission"] == {
        "version": 1,
        "action": "state/inspections/list",
        "input_json": admitted.decode(),
        "input_digest": digest.hexdigest(),
        "subject": "owner",
        "lineage": ["outer", "inner"],
    }


async def test_json_keeps_its_bytes_on_the_way_in(probe: Instance) -> None:
    params = (
        '{ "do":"line",  "n": 1.500e+02, "s": "\\u00e9é\\/", "dup":1, "dup":2, "big": 123456789012345678901 }'
    )
    line = bytes.fromhex(json.loads(await probe.invoke(params.encode())))
    assert f'"params":{params}'.encode() in line


async def test_json_with_line_ends_arrives_as_one_line(probe: Instance) -> None:
    params = json.dumps({"do": "line", "list": [1, 2]}, indent=2).replace("\n", "\r\n").encode()
    line = bytes.fromhex(json.loads(await probe.invoke(params)))
    assert line.count(b"\n") == 1
    assert b"\r" not in line
    assert json.loads(line)["params"]["params"] == json.loads(params)


@pytest.mark.parametrize(
    "result",
    [
        '{ "b" : 1.50e2,"a":[ ],"c":"\\u00e9é\U0001f600" }',
        "null",
        "12345678901234567890.5",
        '"text"',
        '{"dup":1,"dup":2}',
    ],
)
async def test_json_keeps_its_bytes_on_the_way_out(probe: Instance, result: str) -> None:
    order = {"do": "say", "text": f'{{"id":"$ID","result": {result} }}\n'}
    assert await probe.invoke(json.dumps(order).encode()) == result.encode()


async def test_absent_params_are_null(probe: Instance) -> None:
    told = json.loads(await probe.invoke(b""))
    assert told["params"] is None


async def test_params_that_are_not_json_never_reach_the_plugin(probe: Instance) -> None:
    for params in (b"{", b'"\xff"', b"1 2", b"[" * 5000 + b"]" * 5000):
        with pytest.raises(grpc.aio.AioRpcError) as refused:
            await probe.invoke(params)
        assert code(refused) == ("wuu", "invalid_params")
    assert len(await probe.seen()) == 4


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        ('{"code":"state_conflict","message":"try again"}', "state_conflict"),
        ('{"code":"my_own_code","message":"try again"}', "my_own_code"),
        ('{"code":"service_unavailable","message":"try again"}', "service_unavailable"),
        ('{"message":"try again"}', "host_error"),
        ('{"code":"","message":"try again"}', "host_error"),
        ('{"code":null,"message":"try again"}', "host_error"),
    ],
)
async def test_an_error_is_the_plugins_own(probe: Instance, error: str, expected: str) -> None:
    with pytest.raises(grpc.aio.AioRpcError) as refused:
        await probe.run("say", text=f'{{"id":"$ID","error":{error}}}\n')
    assert code(refused) == ("wuu", expected)
    assert refused.value.details() == "try again"


async def test_a_service_or_method_that_is_not_declared_is_not_found(probe: Instance) -> None:
    for context in (
        {"service": "test.unknown@1"},
        {"service": "test.probe@2"},
        {"method": "walk"},
    ):
        with pytest.raises(grpc.aio.AioRpcError) as refused:
            await probe.invoke(b'{"do":"params"}', **context)
        assert code(refused) == ("wuu", "method_not_found")
    with pytest.raises(grpc.aio.AioRpcError) as refused:
        await probe.call(f"{DOCUMENTS}/Read", b"", service="state.documents@1", method="read")
    assert code(refused) == ("wuu", "method_not_found")


async def test_answers_come_back_in_any_order(probe: Instance) -> None:
    held = [asyncio.create_task(probe.run("hold", execution=f"held-{n}")) for n in range(20)]
    sizes = await asyncio.gather(*(probe.run("large", bytes=size) for size in range(50)))
    assert [len(text) for text in sizes] == list(range(50))
    for task in held:
        task.cancel()
    await asyncio.wait(held)


# --- typed -------------------------------------------------------------------------------------------------


async def documents(attach: Start, result: str) -> Instance:
    """A plugin that provides `state.documents@1`, and answers every call with that result."""
    methods = dict.fromkeys(("read", "commit", "export"), SCHEMAS)
    service = {"name": "state.documents", "version": "1.0.0", "methods": methods}
    line = f'{{"id":"$ID","result":{result}}}\n'
    return await (
        await attach(DECLARATION | {"provided_services": [service]}, {"say": {"service.invoke": line}})
    ).up()


async def test_a_typed_service_is_served_in_json(attach: Start) -> None:
    result = '{"documents":[{"namespace":"n","key":"k","value":{ "x" : 1 }}],"revision":"7"}'
    instance = await documents(attach, result)
    request = ReadRequest(namespace="n", limit=5)
    request.keys.keys.extend(["k", "l"])
    response = ReadResponse.FromString(
        await instance.call(
            f"{DOCUMENTS}/Read", request.SerializeToString(), service="state.documents@1", method="read"
        )
    )
    assert response.revision == "7"
    assert response.documents[0].value.utf8 == b'{ "x" : 1 }'
    assert not response.HasField("next_cursor")


async def test_a_typed_service_that_answers_something_else_breaks_the_protocol(attach: Start) -> None:
    instance = await documents(attach, '{"documents":[],"revision":7}')
    with pytest.raises(grpc.aio.AioRpcError) as broken:
        await instance.call(f"{DOCUMENTS}/Read", b"", service="state.documents@1", method="read")
    assert code(broken) == ("wuu", "protocol_violation")
    assert broken.value.details() == "result: /revision: must be a string"


async def test_a_typed_service_is_not_dynamic(attach: Start) -> None:
    instance = await documents(attach, "null")
    with pytest.raises(grpc.aio.AioRpcError) as refused:
        await instance.call(DYNAMIC, b"", service="state.documents@1", method="read")
    assert code(refused) == ("wuu", "method_not_found")


# --- tools -------------------------------------------------------------------------------------------------


def tool(order: dict[str, Any], **fields: Any) -> ExecuteToolRequest:
    """A call of the probe's tool."""
    return ExecuteToolRequest(
        tool_id="run",
        tool="probe_run",
        arguments=Json(utf8=json.dumps(order).encode()),
        call_id="c1",
        **fields,
    )


async def test_a_tool_is_told_what_is_known(probe: Instance) -> None:
    request = tool(
        {"do": "params"},
        cwd="/here",
        session_id="s",
        thread_id="t",
        turn_id="u",
        actor_id="a",
        step_index=0,
    )
    response = await probe.tool(request, execution="e1")
    assert json.loads(response.structured_content.utf8) == {
        "tool_id": "run",
        "tool": "probe_run",
        "arguments": {"do": "params"},
        "call_id": "c1",
        "cwd": "/here",
        "execution_id": "e1",
        "session_id": "s",
        "thread_id": "t",
        "turn_id": "u",
        "actor_id": "a",
        "step_index": 0,
    }
    response = await probe.tool(tool({"do": "params"}), execution="e2")
    assert json.loads(response.structured_content.utf8) == {
        "tool_id": "run",
        "tool": "probe_run",
        "arguments": {"do": "params"},
        "call_id": "c1",
        "cwd": "",
        "execution_id": "e2",
    }


async def test_a_tool_keeps_the_bytes_of_what_it_says(probe: Instance) -> None:
    result = (
        '{"content":[ {"type" : "text"} ],"structured_content": 1.0,'
        '"meta":{ },"is_error":true,"activity":{"a":1}}'
    )
    response = await probe.tool(
        tool({"do": "say", "text": f'{{"id":"$ID","result":{{"result":{result}}}}}\n'})
    )
    assert response.content.utf8 == b'[ {"type" : "text"} ]'
    assert response.structured_content.utf8 == b"1.0"
    assert response.meta.utf8 == b"{ }"
    assert response.is_error
    assert response.activity.utf8 == b'{"a":1}'


async def test_a_tool_may_say_nothing(probe: Instance) -> None:
    result = '{"content":null,"meta":null,"is_error":null}'
    response = await probe.tool(
        tool({"do": "say", "text": f'{{"id":"$ID","result":{{"result":{result}}}}}\n'})
    )
    assert not response.ListFields()


@pytest.mark.parametrize(
    "result",
    [
        "null",
        '"text"',
        "{}",
        '{"content":[]}',
        '{"result":[]}',
        '{"result":{"content":"text"}}',
        '{"result":{"content":[],"other":1}}',
        '{"result":{"is_error":"yes"}}',
        '{"result":{"meta":[]}}',
        '{"result":{"activity":1}}',
    ],
)
async def test_a_tool_that_answers_something_else_breaks_the_protocol_for_its_call_alone(
    probe: Instance, result: str
) -> None:
    with pytest.raises(grpc.aio.AioRpcError) as broken:
        await probe.tool(tool({"do": "say", "text": f'{{"id":"$ID","result":{result}}}\n'}))
    assert code(broken) == ("wuu", "protocol_violation")
    assert "the result of the tool run" in (broken.value.details() or "")
    assert await probe.run("pid") == probe.process.pid


async def test_a_tool_that_is_not_declared_is_not_found(probe: Instance) -> None:
    with pytest.raises(grpc.aio.AioRpcError) as refused:
        await probe.tool(ExecuteToolRequest(tool_id="walk"))
    assert code(refused) == ("wuu", "method_not_found")


# --- capabilities ------------------------------------------------------------------------------------------


async def test_a_capability_gets_the_input_and_the_output_so_far(probe: Instance) -> None:
    told = await probe.capability("params")
    assert told.pop("execution_id")
    assert told == {"capability": "test.capability", "input": {"do": "params"}, "output": {"so": "far"}}


async def test_a_capability_that_is_not_declared_is_not_found(probe: Instance) -> None:
    with pytest.raises(grpc.aio.AioRpcError) as refused:
        await probe.capability("params", "test.unknown")
    assert code(refused) == ("wuu", "method_not_found")


async def test_an_error_of_a_capability_fails_its_call_alone(probe: Instance) -> None:
    with pytest.raises(grpc.aio.AioRpcError) as refused:
        await probe.capability("say", text='{"id":"$ID","error":{"code":"no_luck","message":"no"}}\n')
    assert code(refused) == ("wuu", "no_luck")
    assert await probe.run("pid") == probe.process.pid


@pytest.mark.parametrize("result", ["null", "{}", '{"outputs":1}', '{"output":1,"more":2}'])
async def test_a_capability_that_answers_something_else_fails_the_plugin(
    probe: Instance, router: Router, result: str
) -> None:
    with pytest.raises(grpc.aio.AioRpcError) as broken:
        await probe.capability("say", text=f'{{"id":"$ID","result":{result}}}\n')
    assert code(broken) == ("wuu", "protocol_violation")
    await router.until(lambda: router.report(probe).failure.code == "protocol_violation")
    with pytest.raises(grpc.aio.AioRpcError) as later:
        await probe.run("pid")
    assert code(later) == ("wuu", "protocol_violation")


async def test_a_capability_past_its_time_is_cancelled_and_fails_the_plugin(
    attach: Start, router: Router
) -> None:
    instance = await (await attach(timeout=1)).up()
    with pytest.raises(grpc.aio.AioRpcError) as late:
        await instance.capability("hold")
    assert code(late) == ("wuu", "deadline_exceeded")
    await router.until(lambda: router.report(instance).failure.code == "deadline_exceeded")


async def test_metrics_past_their_time_fail_their_call_alone(attach: Start, router: Router) -> None:
    instance = await (await attach(timeout=1)).up()
    with pytest.raises(grpc.aio.AioRpcError) as late:
        await instance.capability("hold", "model.request.metrics")
    assert code(late) == ("wuu", "deadline_exceeded")
    seen = await instance.seen()
    assert [method for method, *_ in seen[-2:]] == ["execution.cancel", "service.invoke"]
    assert not router.report(instance).HasField("failure")
