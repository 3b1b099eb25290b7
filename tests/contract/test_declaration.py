"""Declarations: derived from the proto, and held to their rules."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from contract.contracts import own_contracts
from contract.declaration import check_declaration, describe, parse_service
from contract.errors import MeshError
from contract.lock import lock
from wuu.mesh.v1.declaration_pb2 import (
    Declaration,
    MethodDescriptor,
    ServiceDescriptor,
    ServiceRequirement,
    Shape,
    Tool,
)
from wuu.mesh.v1.json_pb2 import Json

GEN = Path(__file__).parents[2] / "gen" / "wuu"
DOCUMENTS = own_contracts().contract("state.documents", 1)


def method(name: str = "run", **fields: str) -> MethodDescriptor:
    schemas: dict[str, Any] = {"input_schema": "a.in.v1", "output_schema": "a.out.v1"}
    return MethodDescriptor(name=name, **{**schemas, **fields})


def provided(name: str = "a.b", version: str = "1.0.0", *methods: MethodDescriptor) -> ServiceDescriptor:
    return ServiceDescriptor(name=name, version=version, methods=methods or (method(),))


def tool(**fields: object) -> Tool:
    valid: dict[str, Any] = {
        "id": "run",
        "description": "Runs.",
        "input_schema": Json(utf8=b'{"type":"object"}'),
    }
    return Tool(**{**valid, **fields})


def test_a_descriptor_says_what_the_proto_says() -> None:
    assert DOCUMENTS is not None
    described = describe(DOCUMENTS)
    methods = {m.name: m for m in described.methods}
    assert (described.name, described.version) == ("state.documents", "1.0.0")
    assert described.grpc_service == "wuu.state.documents.v1.Documents"
    assert methods["claim-namespaces"].rpc == "ClaimNamespaces"
    assert methods["commit"].journaled
    assert methods["authority"].preparation
    assert methods["release-inspection"].cleanup
    assert not methods["read"].preparation
    assert methods["read"].shape == Shape.SHAPE_UNARY
    assert methods["read"].input_schema == "state.documents.read.input.v1"


def test_a_feature_chooses_its_schema_identifiers() -> None:
    assert DOCUMENTS is not None
    plain = {m.name: m.input_schema for m in describe(DOCUMENTS).methods}
    paged = {m.name: m.input_schema for m in describe(DOCUMENTS, features=["paged_export"]).methods}
    assert plain["export"] == "state.documents.export.input.v1"
    assert paged["export"] == "state.documents.export.input.v2"
    assert plain["read"] == paged["read"]


def test_optional_methods_are_declared_only_where_they_are_implemented() -> None:
    assert DOCUMENTS is not None
    described = describe(DOCUMENTS, implemented=["Read", "Commit", "Export"])
    assert [m.name for m in described.methods] == ["read", "commit", "export"]


def test_a_method_that_is_not_optional_must_be_implemented() -> None:
    assert DOCUMENTS is not None
    with pytest.raises(ValueError, match="Commit is not optional"):
        describe(DOCUMENTS, implemented=["Read", "Export"])


@pytest.mark.parametrize(
    ("name", "parsed"), [("a.b@1", ("a.b", 1)), ("a.b", ("a.b", None)), ("a-1.b@12", ("a-1.b", 12))]
)
def test_a_service_is_named_with_or_without_its_major(name: str, parsed: tuple[str, int | None]) -> None:
    assert parse_service(name) == parsed


@pytest.mark.parametrize(
    "name",
    [
        "",
        "a",
        "A.b",
        "a.b@",
        "a.b@0",
        "a.b@01",
        "a.b@1.2",
        "a.b@²",
        "a.b@4294967296",
        "a.b@" + "9" * 5000,
        "a..b",
        ".a.b",
        "a.b@1 ",
    ],
)
def test_what_is_not_a_service_name_is_refused(name: str) -> None:
    with pytest.raises(MeshError, match="is not a service name"):
        parse_service(name)


def typed(*methods: MethodDescriptor) -> ServiceDescriptor:
    return ServiceDescriptor(name="a.b", version="1.0.0", grpc_service="a.B", methods=methods)


BROKEN: dict[str, tuple[str, Callable[[], Declaration]]] = {
    "a name in capitals": ("provided_services[0].name", lambda: Declaration(provided_services=[provided("A.b")])),
    "a name of one part": ("provided_services[0].name", lambda: Declaration(provided_services=[provided("a")])),
    "a version with a leading zero": ("provided_services[0].version", lambda: Declaration(provided_services=[provided("a.b", "1.00.0")])),
    "a version of two parts": ("provided_services[0].version", lambda: Declaration(provided_services=[provided("a.b", "1.0")])),
    "no methods": ("provided_services[0].methods", lambda: Declaration(provided_services=[ServiceDescriptor(name="a.b", version="1.0.0")])),
    "a method twice": ("provided_services[0].methods[1].name", lambda: Declaration(provided_services=[provided("a.b", "1.0.0", method(), method())])),
    "a method with a space": ("provided_services[0].methods[0].name", lambda: Declaration(provided_services=[provided("a.b", "1.0.0", method("a b"))])),
    "an inline schema": ("provided_services[0].methods[0].input_schema", lambda: Declaration(provided_services=[provided("a.b", "1.0.0", method(input_schema="{}"))])),
    "a typed method without an rpc": ("provided_services[0].methods[0].rpc", lambda: Declaration(provided_services=[typed(method())])),
    "an rpc of two methods": ("provided_services[0].methods[1].rpc", lambda: Declaration(provided_services=[typed(method("a", rpc="A"), method("b", rpc="A"))])),
    "a service twice": ("provided_services[1]", lambda: Declaration(provided_services=[provided("a.b", "1.0.0"), provided("a.b", "1.2.0")])),
    "a requirement without a major": ("required_services[0].major_version", lambda: Declaration(required_services=[ServiceRequirement(name="a.b")])),
    "a requirement twice": ("required_services[1]", lambda: Declaration(required_services=[ServiceRequirement(name="a.b", major=1)] * 2)),
    "65 tools": ("tools", lambda: Declaration(tools=[tool(id=f"t{n}") for n in range(65)])),
    "a tool id with a dot": ("tools[0].id", lambda: Declaration(tools=[tool(id="a.b")])),
    "a tool id of 65 characters": ("tools[0].id", lambda: Declaration(tools=[tool(id="a" * 65)])),
    "a tool twice": ("tools[1].id", lambda: Declaration(tools=[tool(), tool()])),
    "a blank description": ("tools[0].description", lambda: Declaration(tools=[tool(description=" \n")])),
    "a description over 16 KiB": ("tools[0].description", lambda: Declaration(tools=[tool(description="é" * 8193)])),
    "a schema over 128 KiB": ("tools[0].input_schema", lambda: Declaration(tools=[tool(input_schema=Json(utf8=b" " * 131073))])),
    "a label over 80 bytes": ("tools[0].display.label", lambda: Declaration(tools=[tool(display={"label": "é" * 41})])),
    "a NUL in the risk": ("tools[0].activity.risk", lambda: Declaration(tools=[tool(activity={"risk": "a\0"})])),
}  # fmt: skip


@pytest.mark.parametrize("case", BROKEN)
def test_a_broken_declaration_names_the_field(case: str) -> None:
    field, broken = BROKEN[case]
    with pytest.raises(MeshError) as refused:
        check_declaration(broken())
    assert refused.value.code == "protocol_violation"
    assert refused.value.message.startswith(f"declaration: {field}: ")
    assert refused.value.details["field"] == field


def test_two_majors_of_one_service_may_be_provided() -> None:
    check_declaration(Declaration(provided_services=[provided("a.b", "1.0.0"), provided("a.b", "2.0.0")]))


def test_the_lock_of_method_names_is_what_the_protos_say() -> None:
    assert (GEN / "contract.lock").read_text().splitlines() == lock((GEN / "descriptors.binpb").read_bytes())
