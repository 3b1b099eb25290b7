"""What a module contributes: tools, capability handlers and model adapters, held to their rules."""

from __future__ import annotations

from typing import Any

import pytest

from contract.declaration import CAPABILITY_KINDS, check_declaration
from contract.errors import MeshError
from wuu.mesh.v1.declaration_pb2 import (
    Capability,
    CapabilityKind,
    Declaration,
    ErrorPolicy,
    ExecutionScope,
    ModelAdapter,
    Tool,
)
from wuu.mesh.v1.json_pb2 import Json

OBSERVE = CapabilityKind.CAPABILITY_KIND_OBSERVE
TRANSFORM = CapabilityKind.CAPABILITY_KIND_TRANSFORM
DECISION = CapabilityKind.CAPABILITY_KIND_DECISION
PROPAGATE = ErrorPolicy.ERROR_POLICY_PROPAGATE
ISOLATE = ErrorPolicy.ERROR_POLICY_ISOLATE
IGNORE = ErrorPolicy.ERROR_POLICY_IGNORE


def tool(**fields: Any) -> Declaration:
    valid: dict[str, Any] = {
        "id": "run",
        "description": "Runs.",
        "input_schema": Json(utf8=b'{"type":"object"}'),
    }
    return Declaration(tools=[Tool(**{**valid, **fields})])


def capability(**fields: Any) -> Declaration:
    valid: dict[str, Any] = {"id": "example.watch", "kind": OBSERVE, "version": 1}
    return Declaration(capabilities=[Capability(**{**valid, **fields})])


def adapter(**fields: Any) -> Declaration:
    return Declaration(model_adapters=[ModelAdapter(**{"id": "example.model", "version": 1, **fields})])


def refusal(declaration: Declaration) -> str:
    """What is wrong with it: the field and the rule."""
    with pytest.raises(MeshError) as refused:
        check_declaration(declaration)
    assert refused.value.code == "protocol_violation"
    return refused.value.message.removeprefix("declaration: ")


@pytest.mark.parametrize(
    "declaration",
    [
        tool(id="a-B_9", description="é" * 8192, input_schema=Json(utf8=b'{"a":1, "type" : "object"}')),
        tool(execution_scopes=[ExecutionScope.EXECUTION_SCOPE_ROOT, ExecutionScope.EXECUTION_SCOPE_CHILD]),
        tool(activity={"risk": "r" * 1024, "reason": "é" * 512}, display={"label": "é" * 40}),
        tool(display={"label_translations": {"zh-Hans": "读", "de": "lesen", "pt_BR": "ler"}}),
        capability(depends_on=["a.b", "a.c"], conflicts=["a.d"]),
        capability(error_policy=IGNORE),
        capability(error_policy=ISOLATE),
        capability(kind=TRANSFORM, error_policy=PROPAGATE),
        capability(kind=TRANSFORM, error_policy=ISOLATE),
        capability(id="model.adapter", kind=DECISION, error_policy=PROPAGATE),
        adapter(id="a." + "b" * 158),
    ],
)  # fmt: skip
def test_what_keeps_the_rules_passes(declaration: Declaration) -> None:
    check_declaration(declaration)


@pytest.mark.parametrize(
    ("declaration", "field"),
    [
        (tool(input_schema=Json(utf8=b'{"type":"string"}')), "tools[0].input_schema.type"),
        (tool(input_schema=Json(utf8=b'{"type":["object"]}')), "tools[0].input_schema.type"),
        (tool(input_schema=Json(utf8=b"{}")), "tools[0].input_schema.type"),
        (tool(input_schema=Json(utf8=b"true")), "tools[0].input_schema.type"),
        (tool(input_schema=Json(utf8=b'{"type":"object"')), "tools[0].input_schema.type"),
        (tool(input_schema=Json()), "tools[0].input_schema.type"),
        (tool(execution_scopes=[ExecutionScope.EXECUTION_SCOPE_ROOT] * 2), "tools[0].execution_scopes"),
        (tool(activity={"risk": "r" * 1025}), "tools[0].activity.risk"),
        (tool(activity={"reason": "a\0b"}), "tools[0].activity.reason"),
        (tool(display={"label_translations": {f"x-{n}": "x" for n in range(33)}}), "tools[0].display.label_translations"),
        (tool(display={"label_translations": {"not a locale": "x"}}), "tools[0].display.label_translations"),
        (capability(id="watch"), "capabilities[0].id"),
        (capability(id="Example.Watch"), "capabilities[0].id"),
        (capability(kind=CapabilityKind.CAPABILITY_KIND_UNSPECIFIED), "capabilities[0].kind"),
        (capability(version=0), "capabilities[0].version"),
        (capability(id="model.adapter", kind=DECISION, version=2), "capabilities[0].version"),
        (capability(depends_on=["a.b", "a.b"]), "capabilities[0].depends_on"),
        (capability(depends_on=["a"]), "capabilities[0].depends_on"),
        (capability(depends_on=["example.watch"]), "capabilities[0].depends_on"),
        (capability(conflicts=["example.watch"]), "capabilities[0].conflicts"),
        (capability(depends_on=["a.b"], conflicts=["a.b"]), "capabilities[0].conflicts"),
        (capability(error_policy=PROPAGATE), "capabilities[0].error_policy"),
        (capability(kind=TRANSFORM, error_policy=IGNORE), "capabilities[0].error_policy"),
        (capability(id="model.middleware", kind=DECISION, error_policy=ISOLATE), "capabilities[0].error_policy"),
        (adapter(id="model"), "model_adapters[0].id"),
        (adapter(id="a." + "b" * 159), "model_adapters[0].id"),
        (adapter(version=0), "model_adapters[0].version"),
    ],
)  # fmt: skip
def test_what_breaks_a_rule_is_refused_by_its_field(declaration: Declaration, field: str) -> None:
    assert refusal(declaration).startswith(f"{field}: ")


def test_ids_are_unique() -> None:
    twice = capability()
    twice.MergeFrom(capability())
    assert refusal(twice) == "capabilities[1].id: 'example.watch' is declared twice"
    twice = adapter()
    twice.MergeFrom(adapter())
    assert refusal(twice) == "model_adapters[1].id: 'example.model' is declared twice"


@pytest.mark.parametrize(
    "id_",
    [
        "host.plugin.install",
        "host.escape.hatch",
        "host.safe_mode",
        "host.crash_recovery",
        "host.permission.final",
        "host.window.lifecycle",
        "host.appserver.lifecycle",
        "host.generation.isolate",
    ],
)
def test_what_is_the_hosts_own_is_nobodys_capability(id_: str) -> None:
    assert refusal(capability(id=id_)) == f"capabilities[0].id: '{id_}' is the host's own"


@pytest.mark.parametrize("id_", sorted(CAPABILITY_KINDS))
def test_a_capability_of_the_host_demands_its_kind(id_: str) -> None:
    for kind in (OBSERVE, TRANSFORM, DECISION):
        declaration = capability(id=id_, kind=kind)
        if kind == CAPABILITY_KINDS[id_]:
            check_declaration(declaration)
        else:
            assert refusal(declaration).startswith(f"capabilities[0].kind: {id_} demands ")
