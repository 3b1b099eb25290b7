"""`wuu-mesh call`."""

from __future__ import annotations

from pathlib import Path

from contract.context import AS_KEY, METHOD_KEY, SERVICE_KEY
from contract.contracts import Contracts, own_contracts
from contract.declaration import major_of
from contract.errors import MeshError
from contract.transcoder import Rejected, check_json, request_from_json, response_to_json
from router.cli.exits import explained
from router.cli.session import Session
from router.cli.terminal import emit_json, read_argument
from wuu.mesh.v1.control_pb2 import DescribeServiceResponse
from wuu.mesh.v1.declaration_pb2 import MethodDescriptor
from wuu.mesh.v1.dynamic_pb2 import InvokeRequest, InvokeResponse

_DYNAMIC = "/wuu.mesh.v1.Dynamic/Invoke"


def print_result(root: Path | None, service: str, method: str, params: str, as_module: str) -> None:
    """Calls a method and prints what it returns."""
    with explained(), Session.of(root) as session:
        emit_json(invoke(session, service, method, read_argument(params), as_module))


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
        return invoke_dynamic(session, params, metadata)
    return _invoke_typed(session, described, declared, params, metadata)


def invoke_dynamic(session: Session, params: bytes, metadata: list[tuple[str, str]]) -> bytes:
    """Calls a dynamic service."""
    request = InvokeRequest()
    if params.strip():
        try:
            check_json(params)
        except Rejected as rejected:
            raise MeshError("invalid_params", f"the input is not JSON: {rejected.rule}") from None
        request.params.utf8 = params
    response = session.unary(_DYNAMIC, request.SerializeToString(), metadata)
    return InvokeResponse.FromString(response).result.utf8 or b"null"


def _invoke_typed(
    session: Session,
    described: DescribeServiceResponse,
    declared: MethodDescriptor,
    params: bytes,
    metadata: list[tuple[str, str]],
) -> bytes:
    full_name = described.descriptor.grpc_service
    contracts = Contracts(described.file_descriptor_set) if described.file_descriptor_set else own_contracts()
    try:
        proto = contracts.grpc_service(full_name).methods_by_name[declared.rpc]
    except KeyError:
        raise MeshError(
            "host_error",
            f"{full_name}/{declared.rpc} stands neither in proto/ nor in the package of {described.provider}",
            remedy="Let the package bring its descriptors.binpb.",
        ) from None
    if proto.client_streaming or proto.server_streaming:
        raise MeshError("invalid_request", f"{declared.name} streams; call it with a gRPC client")
    request = request_from_json(proto, params.strip())
    return response_to_json(proto, session.unary(f"/{full_name}/{declared.rpc}", request, metadata))
