"""`wuu-mesh call`."""

from __future__ import annotations

from pathlib import Path

from google.protobuf.descriptor import MethodDescriptor as ProtoMethod
from google.protobuf.message import DecodeError

from contract.context import AS_KEY, METHOD_KEY, SERVICE_KEY
from contract.contracts import Contracts, own_contracts
from contract.declaration import major_of
from contract.errors import MeshError
from contract.transcoder import request_from_json, response_to_json
from contract.transport import DYNAMIC
from router.cli.answer import emit_json
from router.cli.argument import read_json
from router.cli.exits import explained
from router.cli.session import Session
from wuu.mesh.v1.control_pb2 import DescribeServiceResponse
from wuu.mesh.v1.declaration_pb2 import MethodDescriptor
from wuu.mesh.v1.dynamic_pb2 import InvokeRequest, InvokeResponse


def print_result(
    root: Path | None, service: str, method: str, params: str, as_module: str, timeout: float | None
) -> None:
    """Calls a method and prints what it returns."""
    with explained(), Session.of(root, timeout) as session:
        given = read_json(params) if params else b""
        emit_json(invoke(session, service, method, given, as_module))


def invoke(session: Session, service: str, method: str, params: bytes, as_module: str = "") -> bytes:
    """Calls a service, JSON in and out."""
    described = session.describe(service, as_module)
    descriptor = described.descriptor
    name = f"{descriptor.name}@{major_of(descriptor.version)}"
    declared = next((m for m in descriptor.methods if m.name == method), None)
    if declared is None:
        methods = ", ".join(m.name for m in descriptor.methods)
        raise MeshError(
            "method_not_found", f"{described.provider} declares no {method} in {name}; it has {methods}"
        )
    metadata = [(SERVICE_KEY, name), (METHOD_KEY, method)]
    if as_module:
        metadata.append((AS_KEY, as_module))
    if not descriptor.grpc_service:
        return _invoke_dynamic(session, params, metadata)
    return _invoke_typed(session, described, declared, params, metadata)


def _invoke_dynamic(session: Session, params: bytes, metadata: list[tuple[str, str]]) -> bytes:
    request = InvokeRequest()
    if params:
        request.params.utf8 = params
    response = session.unary(DYNAMIC, request.SerializeToString(), metadata)
    return InvokeResponse.FromString(response).result.utf8 or b"null"


def _invoke_typed(
    session: Session,
    described: DescribeServiceResponse,
    declared: MethodDescriptor,
    params: bytes,
    metadata: list[tuple[str, str]],
) -> bytes:
    proto = _carrier(described, declared)
    if proto.client_streaming or proto.server_streaming:
        raise MeshError("invalid_request", f"{declared.name} streams; call it with a gRPC client")
    request = request_from_json(proto, params)
    path = f"/{described.descriptor.grpc_service}/{declared.rpc}"
    return response_to_json(proto, session.unary(path, request, metadata))


def _carrier(described: DescribeServiceResponse, declared: MethodDescriptor) -> ProtoMethod:
    """The rpc that carries a method, from the package of its provider or from `proto/`."""
    full_name = described.descriptor.grpc_service
    own = described.file_descriptor_set
    try:
        return (
            (Contracts(own) if own else own_contracts()).grpc_service(full_name).methods_by_name[declared.rpc]
        )
    except KeyError:
        raise MeshError(
            "host_error",
            f"{full_name}/{declared.rpc} stands neither in proto/ nor in the package of {described.provider}",
            remedy="Let the package bring its descriptors.binpb.",
        ) from None
    except (DecodeError, TypeError) as broken:
        raise MeshError(
            "host_error",
            f"descriptors.binpb in the package of {described.provider} cannot be used: {broken}",
            remedy="Make it with `protoc --include_imports --descriptor_set_out`.",
        ) from None
