"""`wuu-mesh call`."""

from __future__ import annotations

from pathlib import Path

from contract.context import AS_KEY, METHOD_KEY, SERVICE_KEY
from contract.contracts import carrier
from contract.declaration import major_of
from contract.errors import MeshError
from contract.transcoder import request_from_json, response_to_json
from contract.transport import DYNAMIC
from router.cli import reply
from router.cli.answer import emit_json
from router.cli.argument import check_module, read_json
from router.cli.exits import EXIT_USAGE, explained, fail
from router.cli.session import Session
from router.composition.listed import listed
from router.composition.nearest import nearest
from wuu.mesh.v1.control_pb2 import DescribeServiceResponse
from wuu.mesh.v1.declaration_pb2 import MethodDescriptor
from wuu.mesh.v1.dynamic_pb2 import InvokeRequest, InvokeResponse

SHOWN = 12
"""Methods that are listed where one is not found."""


def print_result(
    root: Path | None, service: str, method: str, params: str, as_module: str, timeout: float | None
) -> None:
    """Calls a method and prints what it returns."""
    if not service.isascii():
        fail(EXIT_USAGE, f"'{service}' is not a service name", "Write one such as state.documents@1.")
    if as_module:
        check_module(as_module)
    with explained():
        given = read_json(params) if params else b""
        with Session.of(root, timeout) as session:
            emit_json(invoke(session, service, method, given, as_module))


def invoke(session: Session, service: str, method: str, params: bytes, as_module: str = "") -> bytes:
    """Calls a service, JSON in and out."""
    described = session.describe(service, as_module)
    descriptor = described.descriptor
    name = f"{descriptor.name}@{major_of(descriptor.version)}"
    declared = next((m for m in descriptor.methods if m.name == method), None)
    if declared is None:
        methods = [m.name for m in descriptor.methods]
        # Where all are named, the one that was meant is among them.
        hint = nearest(method, methods) if len(methods) > SHOWN else ""
        message = (
            f"{described.provider} declares no {method} in {name}; it has {listed(methods, SHOWN)}{hint}"
        )
        raise MeshError("method_not_found", message)
    metadata = [(SERVICE_KEY, name), (METHOD_KEY, method)]
    if as_module:
        metadata.append((AS_KEY, as_module))
    if not descriptor.grpc_service:
        return _invoke_dynamic(session, described.provider, params, metadata)
    return _invoke_typed(session, described, declared, params, metadata)


def _invoke_dynamic(session: Session, provider: str, params: bytes, metadata: list[tuple[str, str]]) -> bytes:
    request = InvokeRequest()
    if params:
        request.params.utf8 = params
    answer = session.unary(DYNAMIC, request.SerializeToString(), metadata)
    result = reply.read(InvokeResponse, answer, provider).result.utf8
    return reply.checked(result or b"null", provider, "a result")


def _invoke_typed(
    session: Session,
    described: DescribeServiceResponse,
    declared: MethodDescriptor,
    params: bytes,
    metadata: list[tuple[str, str]],
) -> bytes:
    descriptor, provider = described.descriptor, described.provider
    proto = carrier(descriptor.grpc_service, declared, described.file_descriptor_set, provider)
    if proto.client_streaming or proto.server_streaming:
        raise MeshError("invalid_request", f"{declared.name} streams; call it with a gRPC client")
    request = request_from_json(proto, params)
    answer = session.unary(f"/{descriptor.grpc_service}/{declared.rpc}", request, metadata)
    try:
        return response_to_json(proto, answer)
    except MeshError as violation:
        raise violation.saying(f"{provider} answered with a {violation.message}") from None
