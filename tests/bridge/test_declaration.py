"""What a declaration in JSON must satisfy, row by row."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from typing import Any

import pytest

from bridge_jsonl.declaration import initialized
from contract.errors import CONTRACT, MeshError
from wuu.mesh.v1.declaration_pb2 import (
    AdapterMode,
    CapabilityKind,
    ErrorPolicy,
    ExecutionScope,
    Shape,
)
from wuu.mesh.v1.lifecycle_pb2 import InitializeResponse

SCHEMAS = {"input_schema": "a.b.input.v1", "output_schema": "a.b.output.v1"}
FEATURES = ("session-progress.v1",)

WHOLE: dict[str, Any] = {
    "protocol_version": 3,
    "lifecycle_version": 2,
    "unknown": "fields pass",
    "required_host_services": ["host.service.call"],
    "required_host_features": ["session-progress.v1"],
    "provided_services": [
        {
            "name": "example.text-analysis",
            "version": "1.2.3",
            "methods": [
                {"name": "count", **SCHEMAS, "preparation": True},
                {"name": "Words.most_used", **SCHEMAS, "cleanup": True},
            ],
        },
    ],
    "required_services": [
        {"name": "host.storage.compare_exchange", "major_version": 1},
        {"name": "state.documents", "major_version": 2, "required": True},
    ],
    "tools": [
        {
            "id": "Write_it-1",
            "description": "Writes.",
            "input_schema": {"type": "object", "properties": {}},
            "execution_scopes": ["child", "root"],
            "activity": {
                "read_only": True,
                "concurrency_safe": True,
                "orchestrator": True,
                "risk": "little",
                "reason": "it says so",
            },
            "direct_only": True,
            "display": {"label": "Write", "label_translations": {"de": "Schreiben", "zh-Hans-CN": "写"}},
            "guidance": "Use it.",
        }
    ],
    "capabilities": [
        {
            "id": "agent.pre_step",
            "kind": "transform",
            "version": 1,
            "priority": -3,
            "depends_on": ["agent.request.transform"],
            "conflicts": ["example.other"],
            "error_policy": "isolate",
        },
        {"id": "example.own", "kind": "observe", "version": 7, "error_policy": "ignore"},
    ],
    "model_adapters": [
        {"id": "example.adapter", "version": 1, "mode": "delegate"},
        {"id": "a.b", "version": 2},
    ],
}


def declare(said: object, features: tuple[str, ...] = FEATURES) -> InitializeResponse:
    return initialized(json.dumps(said).encode(), features)


def changed(change: Callable[[dict[str, Any]], object]) -> dict[str, Any]:
    said = copy.deepcopy(WHOLE)
    change(said)
    return said


def test_everything_that_is_declared_arrives() -> None:
    response = declare(WHOLE)
    assert response.lifecycle_version == 2
    assert list(response.required_host_features) == ["session-progress.v1"]
    declaration = response.declaration
    [service] = declaration.provided_services
    assert (service.name, service.version, service.grpc_service) == ("example.text-analysis", "1.2.3", "")
    assert [(m.name, m.rpc, m.preparation, m.cleanup) for m in service.methods] == [
        ("count", "", True, False),
        ("Words.most_used", "", False, True),
    ]
    assert service.methods[0].input_schema == "a.b.input.v1"
    assert [(r.name, r.major, r.required) for r in declaration.required_services] == [
        ("host.storage.compare-exchange", 1, False),
        ("state.documents", 2, True),
    ]
    [tool] = declaration.tools
    assert json.loads(tool.input_schema.utf8) == {"type": "object", "properties": {}}
    assert list(tool.execution_scopes) == [
        ExecutionScope.EXECUTION_SCOPE_CHILD,
        ExecutionScope.EXECUTION_SCOPE_ROOT,
    ]
    assert tool.activity.read_only and tool.activity.concurrency_safe and tool.activity.orchestrator
    assert (tool.activity.risk, tool.activity.reason) == ("little", "it says so")
    assert tool.direct_only
    assert tool.guidance == "Use it."
    assert dict(tool.display.label_translations) == {"de": "Schreiben", "zh-Hans-CN": "写"}
    first, second = declaration.capabilities
    assert (first.kind, first.priority) == (CapabilityKind.CAPABILITY_KIND_TRANSFORM, -3)
    assert first.error_policy == ErrorPolicy.ERROR_POLICY_ISOLATE
    assert list(first.depends_on) == ["agent.request.transform"]
    assert list(first.conflicts) == ["example.other"]
    assert (second.version, second.error_policy) == (7, ErrorPolicy.ERROR_POLICY_IGNORE)
    assert [adapter.mode for adapter in declaration.model_adapters] == [
        AdapterMode.ADAPTER_MODE_DELEGATE,
        AdapterMode.ADAPTER_MODE_DIRECT,
    ]


def test_methods_may_be_a_map() -> None:
    said = changed(lambda d: d["provided_services"][0].update(methods={"count": SCHEMAS}))
    [service] = declare(said).declaration.provided_services
    assert [method.name for method in service.methods] == ["count"]


def test_null_lists_declare_nothing() -> None:
    said = {"lifecycle_version": 2} | dict.fromkeys(
        ("tools", "capabilities", "provided_services", "required_services", "model_adapters")
    )
    assert not declare(said).declaration.ListFields()


@pytest.mark.parametrize("said", [{}, {"lifecycle_version": 1, "tools": 3}, {"lifecycle_version": 3}])
def test_another_lifecycle_is_passed_on_for_the_router_to_refuse(said: dict[str, Any]) -> None:
    response = declare(said)
    assert response == InitializeResponse(lifecycle_version=said.get("lifecycle_version", 1))


def test_a_plugin_without_a_protocol_version_may_have_tools() -> None:
    said = {"lifecycle_version": 2, "tools": WHOLE["tools"]}
    assert len(declare(said).declaration.tools) == 1


def test_protocol_2_has_capabilities() -> None:
    said = {"lifecycle_version": 2, "protocol_version": 2, "capabilities": WHOLE["capabilities"]}
    assert len(declare(said).declaration.capabilities) == 2


def documents(*methods: str, **fields: Any) -> dict[str, Any]:
    """A declaration that provides `state.documents@1` with these methods."""
    service = {
        "name": "state.documents",
        "version": "1.4.0",
        "methods": dict.fromkeys(methods, SCHEMAS),
    }
    return {"protocol_version": 3, "lifecycle_version": 2, "provided_services": [service | fields]}


def test_a_service_with_a_contract_is_carried_by_it() -> None:
    [service] = declare(
        documents("claim-namespaces", "read", "commit", "export")
    ).declaration.provided_services
    assert (service.grpc_service, service.version) == ("wuu.state.documents.v1.Documents", "1.4.0")
    methods = {method.name: method for method in service.methods}
    assert {name: method.rpc for name, method in methods.items()} == {
        "read": "Read",
        "commit": "Commit",
        "export": "Export",
        "claim-namespaces": "ClaimNamespaces",
    }
    assert methods["commit"].journaled
    assert methods["commit"].shape == Shape.SHAPE_UNARY
    assert methods["commit"].input_schema == "a.b.input.v1"


def test_another_major_of_a_contract_is_dynamic() -> None:
    [service] = declare(documents("anything", version="9.0.0")).declaration.provided_services
    assert service.grpc_service == ""


def put(path: str, value: object) -> Callable[[dict[str, Any]], object]:
    """Sets the value at a dotted path; a number is an index."""

    def change(said: dict[str, Any]) -> None:
        *parents, last = path.split(".")
        target: Any = said
        for name in parents:
            target = target[int(name) if name.isdigit() else name]
        target[int(last) if last.isdigit() else last] = value

    return change


def drop(path: str) -> Callable[[dict[str, Any]], object]:
    """Removes what is at a dotted path."""

    def change(said: dict[str, Any]) -> None:
        *parents, last = path.split(".")
        target: Any = said
        for name in parents:
            target = target[int(name) if name.isdigit() else name]
        del target[last]

    return change


def twice(field: str) -> Callable[[dict[str, Any]], object]:
    """Repeats the first item of a list."""
    return lambda said: said[field].append(said[field][0])


SERVICE = "provided_services.0"
METHOD = f"{SERVICE}.methods.0"
TOOL = "tools.0"
CAPABILITY = "capabilities.0"
ADAPTER = "model_adapters.0"

BROKEN = [
    # what                                      field that is named                       the rule
    (put("protocol_version", 4), "protocol_version", "<= 3"),
    (put("protocol_version", 0), "protocol_version", ">= 1"),
    (put("protocol_version", "3"), "protocol_version", "Expected `int`"),
    (put("protocol_version", 2), "provided_services", "need protocol_version 3"),
    (drop("protocol_version"), "provided_services", "need protocol_version 3"),
    (put("lifecycle_version", "2"), "lifecycle_version", "Expected `int`"),
    (put("tools", {}), "tools", "Expected `array"),
    # services
    (put(f"{SERVICE}.name", "Example.text"), "provided_services[0].name", "lower case and dotted"),
    (put(f"{SERVICE}.name", "example"), "provided_services[0].name", "lower case and dotted"),
    (put(f"{SERVICE}.name", "example.a_b"), "provided_services[0].name", "lower case and dotted"),
    (put(f"{SERVICE}.version", "1.0"), "provided_services[0].version", "MAJOR.MINOR.PATCH"),
    (put(f"{SERVICE}.version", "01.0.0"), "provided_services[0].version", "MAJOR.MINOR.PATCH"),
    (put(f"{SERVICE}.version", "1.0.0-rc.1"), "provided_services[0].version", "MAJOR.MINOR.PATCH"),
    (put(f"{SERVICE}.version", "1.0.0+build"), "provided_services[0].version", "MAJOR.MINOR.PATCH"),
    (twice("provided_services"), "provided_services[1]", "provided twice"),
    (put(f"{SERVICE}.methods", []), "provided_services[0].methods", "at least one"),
    (put(f"{SERVICE}.methods", {}), "provided_services[0].methods", "at least one"),
    (put(f"{METHOD}.name", "1count"), "provided_services[0].methods[0].name", "not a method name"),
    (put(f"{METHOD}.name", "a..b"), "provided_services[0].methods[0].name", "not a method name"),
    (put(f"{METHOD}.name", "Words.most_used"), "provided_services[0].methods[1].name", "twice"),
    (drop(f"{METHOD}.name"), "provided_services[0].methods[0]", "missing required field `name`"),
    (put(f"{METHOD}.input_schema", "count"), "provided_services[0].methods[0].input_schema", "dotted schema"),
    (put(f"{METHOD}.output_schema", "A.b"), "provided_services[0].methods[0].output_schema", "dotted schema"),
    (
        drop(f"{METHOD}.input_schema"),
        "provided_services[0].methods[0]",
        "missing required field `input_schema`",
    ),
    (put(f"{METHOD}.preparation", 1), "provided_services[0].methods[0].preparation", "Expected `bool`"),
    (put("required_services.0.name", "documents"), "required_services[0].name", "lower case and dotted"),
    (put("required_services.0.major_version", 0), "required_services[0].major_version", "at least 1"),
    (put("required_services.0.major_version", 1.5), "required_services[0].major_version", "Expected `int`"),
    (drop("required_services.0.major_version"), "required_services[0]", "`major_version`"),
    (twice("required_services"), "required_services[2]", "required twice"),
    (put("required_host_services", ["host.storage.get"]), "required_host_services[0]", "not offered"),
    (put("required_host_services", ["host.service.continue"]), "required_host_services[0]", "not offered"),
    (put("required_host_features", ["x"]), "required_host_features[0]", "not offered"),
    # tools
    (lambda d: d.update(tools=[d["tools"][0] | {"id": f"t{i}"} for i in range(65)]), "tools", "at most 64"),
    (put(f"{TOOL}.id", "a.b"), "tools[0].id", "does not match"),
    (put(f"{TOOL}.id", "x" * 65), "tools[0].id", "does not match"),
    (put(f"{TOOL}.id", ""), "tools[0].id", "does not match"),
    (twice("tools"), "tools[1].id", "twice"),
    (put(f"{TOOL}.description", " \n"), "tools[0].description", "blank"),
    (put(f"{TOOL}.description", "é" * 8193), "tools[0].description", "16 KiB"),
    (drop(f"{TOOL}.input_schema"), "tools[0]", "missing required field `input_schema`"),
    (put(f"{TOOL}.input_schema", {"type": "string"}), "tools[0].input_schema.type", '"object"'),
    (put(f"{TOOL}.input_schema", {"type": ["object"]}), "tools[0].input_schema.type", '"object"'),
    (put(f"{TOOL}.input_schema", {}), "tools[0].input_schema.type", '"object"'),
    (put(f"{TOOL}.input_schema", "object"), "tools[0].input_schema.type", '"object"'),
    (
        put(f"{TOOL}.input_schema", {"type": "object", "x": "x" * 131072}),
        "tools[0].input_schema",
        "at most 128 KiB",
    ),
    (put(f"{TOOL}.execution_scopes", ["root", "root"]), "tools[0].execution_scopes", "no repeats"),
    (put(f"{TOOL}.execution_scopes", ["all"]), "tools[0].execution_scopes[0]", "Invalid enum value 'all'"),
    (put(f"{TOOL}.activity.risk", "x" * 1025), "tools[0].activity.risk", "1 KiB"),
    (put(f"{TOOL}.activity.risk", "a\0"), "tools[0].activity.risk", "NUL"),
    (put(f"{TOOL}.activity.reason", "é" * 513), "tools[0].activity.reason", "1 KiB"),
    (put(f"{TOOL}.activity.reason", "\0"), "tools[0].activity.reason", "NUL"),
    (put(f"{TOOL}.display.label", "é" * 41), "tools[0].display.label", "80 bytes"),
    (
        put(f"{TOOL}.display.label_translations", {f"a{chr(97 + i % 26)}-x{i}": "x" for i in range(33)}),
        "tools[0].display.label_translations",
        "at most 32",
    ),
    (
        put(f"{TOOL}.display.label_translations", {"not a locale": "x"}),
        "tools[0].display.label_translations",
        "not a locale",
    ),
    # capabilities
    (put(f"{CAPABILITY}.id", "single"), "capabilities[0].id", "not a dotted id"),
    *(
        (put(f"{CAPABILITY}.id", own), "capabilities[0].id", "the host's own")
        for own in (
            "host.plugin.enable",
            "host.safe_mode",
            "host.crash_recovery",
            "host.permission.final",
            "host.window.lifecycle",
            "host.appserver.lifecycle",
            "host.generation.isolate",
            "host.escape.anything.at.all",
        )
    ),
    (twice("capabilities"), "capabilities[2].id", "twice"),
    (put(f"{CAPABILITY}.kind", "observe"), "capabilities[0].kind", "demands transform"),
    (put(f"{CAPABILITY}.kind", "filter"), "capabilities[0].kind", "Invalid enum value"),
    (put(f"{CAPABILITY}.version", 0), "capabilities[0].version", "at least 1"),
    (
        lambda d: d["capabilities"].append({"id": "model.request.observe", "kind": "observe", "version": 2}),
        "capabilities[2].version",
        "must be 1",
    ),
    (put(f"{CAPABILITY}.priority", 2**31), "capabilities[0].priority", "Expected `int` <= 2147483647"),
    (put(f"{CAPABILITY}.depends_on", ["x"]), "capabilities[0].depends_on", "not a dotted id"),
    (put(f"{CAPABILITY}.depends_on", ["a.b", "a.b"]), "capabilities[0].depends_on", "no repeats"),
    (put(f"{CAPABILITY}.depends_on", ["agent.pre_step"]), "capabilities[0].depends_on", "itself"),
    (put(f"{CAPABILITY}.conflicts", ["x"]), "capabilities[0].conflicts", "not a dotted id"),
    (put(f"{CAPABILITY}.conflicts", ["a.b", "a.b"]), "capabilities[0].conflicts", "no repeats"),
    (put(f"{CAPABILITY}.conflicts", ["agent.pre_step"]), "capabilities[0].conflicts", "itself"),
    (
        put(f"{CAPABILITY}.conflicts", ["agent.request.transform"]),
        "capabilities[0].conflicts",
        "stands in depends_on too",
    ),
    (put(f"{CAPABILITY}.error_policy", "retry"), "capabilities[0].error_policy", "Invalid enum value"),
    (put(f"{CAPABILITY}.error_policy", "ignore"), "capabilities[0].error_policy", "only observers"),
    (put("capabilities.1.error_policy", "propagate"), "capabilities[1].error_policy", "never propagate"),
    (
        lambda d: d["capabilities"].append(
            {"id": "model.middleware", "kind": "decision", "version": 1, "error_policy": "isolate"}
        ),
        "capabilities[2].error_policy",
        "propagates",
    ),
    # model adapters
    (put(f"{ADAPTER}.id", "single"), "model_adapters[0].id", "dotted id"),
    (put(f"{ADAPTER}.id", "a." + "x" * 159), "model_adapters[0].id", "160 characters"),
    (twice("model_adapters"), "model_adapters[2].id", "twice"),
    (put(f"{ADAPTER}.version", 0), "model_adapters[0].version", "at least 1"),
    (put(f"{ADAPTER}.mode", "native"), "model_adapters[0].mode", "Invalid enum value"),
]


@pytest.mark.parametrize(("change", "field", "rule"), BROKEN)
def test_a_broken_rule_is_named_with_its_field(
    change: Callable[[dict[str, Any]], object], field: str, rule: str
) -> None:
    with pytest.raises(MeshError) as refused:
        declare(changed(change))
    assert (refused.value.code, refused.value.domain) == ("protocol_violation", CONTRACT)
    assert refused.value.message.startswith(f"declaration: {field}: ")
    assert rule in refused.value.message


@pytest.mark.parametrize("field", ["capabilities", "model_adapters"])
def test_protocol_1_has_tools_only(field: str) -> None:
    with pytest.raises(MeshError, match=f"declaration: {field}: protocol_version 1"):
        declare({"lifecycle_version": 2, "protocol_version": 1, field: WHOLE[field]})


def test_a_contract_has_no_other_methods() -> None:
    with pytest.raises(
        MeshError, match=r"provided_services\[0\]\.methods\[3\]\.name: 'drop' is not a method"
    ):
        declare(documents("read", "commit", "export", "drop"))


def test_a_contract_is_provided_whole_but_for_what_is_optional() -> None:
    with pytest.raises(MeshError, match=r"provided_services\[0\]\.methods: .*Commit is not optional"):
        declare(documents("read", "export"))


def test_a_result_that_is_no_object_is_refused() -> None:
    with pytest.raises(MeshError, match="declaration: result: Expected `object`"):
        declare([])
