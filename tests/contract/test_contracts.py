"""The contracts under `proto/`: whatever they can say passes through JSON and comes back the same."""

from __future__ import annotations

from importlib.resources import files

import pytest
from google.protobuf.descriptor import MethodDescriptor, ServiceDescriptor
from google.protobuf.message_factory import GetMessageClass
from hypothesis import given, settings
from hypothesis import strategies as st

from contract.contracts import own_contracts
from contract.declaration import check_declaration, describe
from contract.errors import MeshError
from contract.lock import lock
from contract.transcoder import request_from_json, request_to_json, response_from_json, response_to_json
from tests.contract.messages import messages
from tests.contract.schema import TAKE
from wuu.mesh.v1.declaration_pb2 import Declaration

DOCUMENTS = own_contracts().grpc_service("wuu.state.documents.v1.Documents")
CONTRIBUTIONS = own_contracts().grpc_service("wuu.mesh.v1.Contributions")

RPCS = [*DOCUMENTS.methods, *CONTRIBUTIONS.methods, TAKE]


@pytest.mark.parametrize("rpc", RPCS, ids=lambda rpc: rpc.name)
@given(choose=st.data())
@settings(max_examples=40)
def test_a_request_comes_back_from_json_as_it_was(rpc: MethodDescriptor, choose: st.DataObject) -> None:
    request = choose.draw(messages(rpc.input_type))
    text = request_to_json(rpc, request.SerializeToString())
    assert GetMessageClass(rpc.input_type).FromString(request_from_json(rpc, text)) == request


@pytest.mark.parametrize("rpc", RPCS, ids=lambda rpc: rpc.name)
@given(choose=st.data())
@settings(max_examples=40)
def test_a_response_comes_back_from_json_as_it_was(rpc: MethodDescriptor, choose: st.DataObject) -> None:
    response = choose.draw(messages(rpc.output_type))
    text = response_to_json(rpc, response.SerializeToString())
    assert GetMessageClass(rpc.output_type).FromString(response_from_json(rpc, text)) == response


@pytest.mark.parametrize("rpc", RPCS, ids=lambda rpc: rpc.name)
@given(params=st.recursive(st.none() | st.booleans() | st.integers() | st.text(), st.lists).map(repr))
@settings(max_examples=20)
def test_what_is_no_request_is_refused_by_its_code(rpc: MethodDescriptor, params: str) -> None:
    with pytest.raises(MeshError) as refused:
        request_from_json(rpc, params.encode())
    assert refused.value.code == "invalid_params"


def test_a_documents_value_keeps_its_bytes() -> None:
    commit = DOCUMENTS.methods_by_name["Commit"]
    value = b'{ "b":1.0,\n"a":1e2, "a":12345678901234567890 }'
    params = (
        b'{"id":"t","expected_revision":"0","writes":[{"namespace":"n","key":"k","value":' + value + b"}]}"
    )
    assert value in request_to_json(commit, request_from_json(commit, params))


@pytest.mark.parametrize("service", [DOCUMENTS, CONTRIBUTIONS], ids=lambda service: service.name)
def test_what_a_contract_declares_satisfies_the_rules_of_declarations(service: ServiceDescriptor) -> None:
    check_declaration(Declaration(provided_services=[describe(service)]))


def test_a_service_that_no_proto_has_is_dynamic() -> None:
    assert own_contracts().contract("state.documents", 1) is not None
    assert own_contracts().contract("state.documents", 2) is None
    assert own_contracts().contract("example.notes", 1) is None


def test_the_lock_has_a_line_for_every_method_and_its_flags() -> None:
    lines = lock(files("wuu").joinpath("descriptors.binpb").read_bytes())
    prefix = "state.documents@1.0.0"
    path = "/wuu.state.documents.v1.Documents"
    assert f"{prefix} read {path}/Read" in lines
    assert f"{prefix} commit {path}/Commit journaled" in lines
    assert f"{prefix} release-inspection {path}/ReleaseInspection cleanup optional" in lines
    assert len([line for line in lines if line.startswith(prefix)]) == len(DOCUMENTS.methods)


def test_an_enum_that_was_not_given_is_left_out() -> None:
    """Its zero value has no spelling, and an empty string would be read by nobody."""
    assert b"mode" not in response_to_json(DOCUMENTS.methods_by_name["Authority"], b"")
