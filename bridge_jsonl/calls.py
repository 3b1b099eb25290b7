"""Calls: what a plugin asks of the host.

Source: the plugin wire, *Plugin → host*.
"""

from __future__ import annotations

import asyncio
import re
from collections import defaultdict
from collections.abc import Collection, Iterable
from typing import TypeVar

import msgspec
from google.protobuf.descriptor import MethodDescriptor as ProtoMethod
from msgspec import UNSET

from bridge_jsonl.continuations import Continuations
from bridge_jsonl.declaration import CALL, CONTINUE, hyphened
from bridge_jsonl.frames import Request
from bridge_jsonl.messages import ServiceCall, ServiceContinue
from contract.contracts import carrier
from contract.declaration import METHOD_NAME, parse_service
from contract.errors import MeshError
from contract.transcoder import Rejected, check_json, request_from_json, response_to_json
from provider_kit.mesh import Mesh, parsed
from wuu.mesh.v1.declaration_pb2 import Declaration
from wuu.mesh.v1.dynamic_pb2 import InvokeResponse
from wuu.mesh.v1.lifecycle_pb2 import Binding

Params = TypeVar("Params", ServiceCall, ServiceContinue)

_EXECUTION = re.compile(r"[!-~]{0,128}")


class _Bound:
    """Where the calls to one required service go, and how they are carried."""

    def __init__(self, binding: Binding) -> None:
        self.carrier = binding.descriptor.grpc_service
        """The full name of the gRPC service; empty for a dynamic service."""
        self._binding = binding
        self._methods: dict[str, ProtoMethod] = {}

    def method(self, name: str) -> ProtoMethod:
        """The rpc of a method in the contract's spelling.

        Raises `method_not_found`, and what `contract.contracts.carrier` raises.
        """
        found = self._methods.get(name)
        if found is None:
            found = self._methods[name] = self._find(name)
        return found

    def _find(self, name: str) -> ProtoMethod:
        binding = self._binding
        for method in binding.descriptor.methods:
            if method.name == name:
                return carrier(self.carrier, method, binding.file_descriptor_set, binding.provider)
        methods = ", ".join(method.name for method in binding.descriptor.methods)
        raise MeshError(
            "method_not_found",
            f"{binding.provider} declares no {name} in {binding.service}; it has {methods}",
        )


class HostCalls:
    """The calls that one plugin makes to the services that it requires, and those that it continues."""

    def __init__(self, mesh: Mesh, continuations: Continuations) -> None:
        self._mesh = mesh
        self._continuations = continuations
        self._offered: Collection[str] = (CALL,)
        self._majors: dict[str, list[int]] = {}
        self._bound: dict[tuple[str, int], _Bound] = {}
        self._open: defaultdict[str, set[asyncio.Task[None]]] = defaultdict(set)

    def require(self, declaration: Declaration, offered: Collection[str]) -> None:
        """Takes in what the plugin requires: a plugin names a service without its major.

        `offered` are the methods of the host that it was told of.
        """
        self._offered = offered
        self._majors = {}
        for requirement in declaration.required_services:
            self._majors.setdefault(requirement.name, []).append(requirement.major)

    def bind(self, bindings: Iterable[Binding]) -> None:
        """Takes in where the requirements lead."""
        self._bound = {(binding.service, binding.major): _Bound(binding) for binding in bindings}

    async def serve(self, request: Request) -> bytes:
        """Answers one request of the plugin with JSON. Raises MeshError with the code for the plugin."""
        if request.method not in self._offered:
            raise MeshError("method_not_found", f"the host has no method '{request.method}'")
        call = _read_continue(request) if request.method == CONTINUE else _read_call(request)
        execution = call.execution_id or ""
        task = asyncio.current_task()
        assert task is not None
        self._open[execution].add(task)
        try:
            mesh = self._mesh.within(execution)
            if isinstance(call, ServiceContinue):
                return await self._continue(call, mesh)
            return await self._call(call, mesh)
        finally:
            self._open[execution].discard(task)
            if not self._open[execution]:
                del self._open[execution]

    def cancel(self, execution: str) -> None:
        """Cancels the calls that the plugin has open on behalf of an execution."""
        for task in self._open.get(execution, ()):
            task.cancel()

    async def _call(self, call: ServiceCall, mesh: Mesh) -> bytes:
        name, major = parse_service(hyphened(call.service))
        majors = self._majors.get(name, [])
        if major is None and len(majors) == 1:
            [major] = majors
        service = name if major is None else f"{name}@{major}"
        params = b"" if call.params is UNSET else bytes(call.params)
        bound = self._bound.get((name, major or 0))
        if bound is None or not bound.carrier:
            # What is not declared or not bound goes to the router all the same: its admission has the order
            # in which such a call fails.
            result = await mesh.invoke(service, call.method, params)
            return _checked(result or b"null", service)
        method = bound.method(call.method)
        response = await mesh.unary(
            f"/{bound.carrier}/{method.name}", request_from_json(method, params), service=service
        )
        return response_to_json(method, response)

    async def _continue(self, call: ServiceContinue, mesh: Mesh) -> bytes:
        carrier = self._continuations.carrier(call.execution_id)
        response = await mesh.proceed(call.continuation_id)
        if carrier is not None:
            return response_to_json(carrier, response)
        result = parsed(InvokeResponse.FromString, response, "the delegate").result.utf8
        return _checked(result or b"null", "the delegate")


def _read_continue(request: Request) -> ServiceContinue:
    call = _decoded(request, ServiceContinue)
    if not _EXECUTION.fullmatch(call.execution_id):
        raise MeshError("invalid_request", "`execution_id` is not the id of an execution")
    return call


def _read_call(request: Request) -> ServiceCall:
    call = _decoded(request, ServiceCall)
    # Both become metadata, which takes neither line ends nor other scripts.
    if not METHOD_NAME.fullmatch(call.method):
        raise MeshError("invalid_request", f"'{call.method}' is not a method name")
    if not _EXECUTION.fullmatch(call.execution_id or ""):
        raise MeshError("invalid_request", "`execution_id` is not the id of an execution")
    return call


def _decoded(request: Request, shape: type[Params]) -> Params:
    try:
        return msgspec.json.decode(request.params or b"null", type=shape)
    except msgspec.ValidationError as wrong:
        raise MeshError("invalid_request", f"the params of {request.method}: {wrong}") from None


def _checked(result: bytes, service: str) -> bytes:
    try:
        check_json(result)
    except Rejected as rejected:
        raise MeshError(
            "protocol_violation", f"{service} answered what is not JSON: {rejected.rule}"
        ) from None
    return result
