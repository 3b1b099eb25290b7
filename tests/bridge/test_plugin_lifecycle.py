"""A plugin from its start to its end."""

from __future__ import annotations

import shutil
from typing import Any

import grpc
import pytest

from tests.bridge.conftest import Start
from tests.bridge.harness import DECLARATION, PLUGINS, Instance, Router, answers, code
from wuu.mesh.v1.contributions_pb2 import ExecuteToolRequest
from wuu.mesh.v1.json_pb2 import Json


async def test_initialize_tells_the_plugin_where_it_is_and_what_the_host_can_do(attach: Start) -> None:
    instance = await attach()
    response = await instance.initialize(workspace="/the/workspace")
    assert response.lifecycle_version == 2
    [service] = response.declaration.provided_services
    assert (service.name, service.methods[0].name) == ("test.probe", "run")
    [initialize, _] = await instance.seen()
    assert initialize == [
        "initialize",
        "1",
        None,
        {
            "protocol_version": 1,
            "capability_protocol_version": 3,
            "lifecycle_version": 2,
            "plugin_id": "test.plugin",
            "plugin_root": str(PLUGINS),
            "project_root": "/the/workspace",
            "wuu_home": "/home/of/wuu",
            "workspace_state_dir": "/state/of/plugin",
            "supported_host_services": ["host.service.call"],
            "supported_host_features": ["feature.one", "feature.two"],
        },
    ]


async def test_without_a_workspace_the_package_is_the_project(attach: Start) -> None:
    instance = await attach()
    await instance.initialize()
    [initialize, _] = await instance.seen()
    assert initialize[3]["project_root"] == str(PLUGINS)


async def test_the_steps_arrive_in_order_and_are_numbered(attach: Start) -> None:
    instance = await (await attach()).up()
    seen = await instance.seen()
    assert [(method, number) for method, number, *_ in seen] == [
        ("initialize", "1"),
        ("prepare", "2"),
        ("activate", "3"),
        ("service.invoke", "4"),
    ]


async def test_an_older_lifecycle_is_left_to_the_router_to_refuse(attach: Start) -> None:
    instance = await attach({"tools": []})
    response = await instance.initialize()
    assert response.lifecycle_version == 1
    assert not response.HasField("declaration")


async def test_a_bad_declaration_is_refused_with_its_field_and_rule(attach: Start) -> None:
    instance = await attach(DECLARATION | {"required_host_features": ["feature.three"]})
    with pytest.raises(grpc.aio.AioRpcError) as refused:
        await instance.initialize()
    assert code(refused) == ("wuu", "protocol_violation")
    assert (
        refused.value.details()
        == "declaration: required_host_features[0]: 'feature.three' is not offered by this host"
    )


async def test_a_declaration_may_be_written_with_line_ends(attach: Start) -> None:
    instance = await attach('{ "lifecycle_version" :\t2, "tools" : [ ] }')
    assert (await instance.initialize()).lifecycle_version == 2


@pytest.mark.parametrize("step", ["initialize", "prepare", "activate", "shutdown"])
async def test_an_error_in_a_step_is_the_plugins_own(attach: Start, step: str) -> None:
    instance = await attach(options={"errors": {step: {"code": "bad_state", "message": "no way"}}})
    with pytest.raises(grpc.aio.AioRpcError) as refused:
        await instance.up()
        await instance.shutdown()
    assert code(refused) == ("wuu", "bad_state")
    assert refused.value.details() == "no way"


@pytest.mark.parametrize("step", ["initialize", "prepare", "activate"])
async def test_a_step_past_its_time_fails_the_plugin(attach: Start, router: Router, step: str) -> None:
    instance = await attach(options={"silent": [step]}, timeout=1)
    with pytest.raises(grpc.aio.AioRpcError) as late:
        await instance.up()
    assert code(late) == ("wuu", "deadline_exceeded")
    assert late.value.details() == f"no answer to {step} within 1 s"
    await router.until(lambda: router.report(instance).failure.code == "deadline_exceeded")
    with pytest.raises(grpc.aio.AioRpcError) as later:
        await instance.shutdown()
    assert code(later) == ("wuu", "deadline_exceeded")


async def test_a_changed_service_is_named_with_the_reason(probe: Instance) -> None:
    await probe.service_changed(service="test.other", major=1, available=False, reason="it crashed")
    await probe.service_changed(service="test.other", major=1, available=True)
    seen = await probe.seen()
    assert [entry[3] for entry in seen if entry[0] == "service.changed"] == [
        {"service": "test.other", "reason": "it crashed"},
        {"service": "test.other"},
    ]


@pytest.mark.parametrize(
    "options",
    [
        {"errors": {"service.changed": {"message": "I do not care"}}},
        {"silent": ["service.changed"]},
    ],
)
async def test_what_a_plugin_makes_of_a_changed_service_is_its_own_affair(
    attach: Start, options: dict[str, Any]
) -> None:
    instance = await attach(options=options, timeout=1)
    await instance.up()
    await instance.service_changed(service="test.other", major=1)
    assert "service.changed" in instance.log.read_text()
    assert await instance.run("pid") == instance.process.pid


async def test_after_shutdown_the_input_ends(probe: Instance) -> None:
    await probe.shutdown()
    assert await probe.exited() == 0


async def test_a_plugin_that_exits_instead_of_answering_shutdown_has_shut_down_well(attach: Start) -> None:
    instance = await (await attach(options={"exit": ["shutdown"]})).up()
    await instance.shutdown()
    assert await instance.exited() == 0


async def test_shutdown_has_two_seconds_then_the_input_ends(attach: Start) -> None:
    instance = await (await attach(options={"silent": ["shutdown"]})).up()
    with pytest.raises(grpc.aio.AioRpcError) as late:
        await instance.shutdown()
    assert code(late) == ("wuu", "deadline_exceeded")
    assert late.value.details() == "no answer to shutdown within 2 s"
    assert await instance.exited() == 0


async def test_a_plugin_in_node_provides_a_service_and_a_tool(attach: Start, router: Router) -> None:
    node = shutil.which("node")
    assert node is not None
    instance = await attach(argv=(node, str(PLUGINS / "words.mjs")))
    await instance.up()
    counted = await instance.invoke(
        '{"text": "eins\u2028zwei drei"}'.encode(), service="example.words@1", method="count"
    )
    assert counted == b'{"words":3}'

    async def answer(call: Any) -> bytes:
        assert (call.service, call.method, call.execution) == ("test.other@1", "ask", "the-execution")
        return answers(b'{\n"heard": "you"\n}')

    router.answer = answer
    request = ExecuteToolRequest(tool_id="report", tool="p_report", arguments=Json(utf8=b'{"a":1}'))
    response = await instance.tool(request, execution="the-execution")
    assert response.content.utf8 == b'[{"type":"text","text":"{\\"heard\\":\\"you\\"}"}]'
    assert "words: ready" in instance.log.read_text()
    await instance.shutdown()
    assert await instance.exited() == 0
