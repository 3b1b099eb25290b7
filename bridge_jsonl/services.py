"""Services: what a plugin provides, behind typed carriers and the dynamic one.

Source: the plugin wire, `service.invoke`.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import partial

from google.protobuf.descriptor import MethodDescriptor as ProtoMethod
from msgspec import UNSET, Raw, UnsetType

from bridge_jsonl.continuations import Continuations
from bridge_jsonl.frames import spliced
from bridge_jsonl.messages import Admission, ServiceInvoke, carried, given, parsed
from contract.contracts import own_contracts
from contract.declaration import major_of
from contract.errors import CONTRACT, MeshError
from contract.transcoder import request_to_json, response_from_json
from contract.transport import DYNAMIC
from provider_kit.call import Call
from provider_kit.provided import Handler
from wuu.mesh.v1.context_pb2 import CallContext, OwnerAdmission
from wuu.mesh.v1.declaration_pb2 import Declaration, Shape
from wuu.mesh.v1.dynamic_pb2 import InvokeRequest, InvokeResponse
from wuu.mesh.v1.json_pb2 import Json

Ask = Callable[[str, object, str], Awaitable[Raw]]
"""Asks the plugin: method, params, the execution on whose behalf."""


class Services:
    """The services that one plugin provides."""

    def __init__(self, ask: Ask, continuations: Continuations) -> None:
        self._ask = ask
        self._continuations = continuations
        self._dynamic: set[tuple[str, str]] = set()
        self._typed: dict[str, Handler] = {}
        self._invoke = Handler(Shape.SHAPE_UNARY, self._serve_dynamic)

    def provide(self, declaration: Declaration) -> None:
        """Takes in what the plugin declares."""
        self._dynamic.clear()
        self._typed.clear()
        for service in declaration.provided_services:
            if not service.grpc_service:
                name = f"{service.name}@{major_of(service.version)}"
                self._dynamic.update((name, method.name) for method in service.methods)
                continue
            carrier = own_contracts().grpc_service(service.grpc_service)
            for method in service.methods:
                proto = carrier.methods_by_name[method.rpc]
                self._typed[f"/{service.grpc_service}/{method.rpc}"] = Handler(
                    Shape.SHAPE_UNARY, partial(self._serve_typed, proto)
                )

    def handler(self, path: str, context: CallContext) -> Handler | None:
        """What serves a call; None where the plugin does not declare its service or method."""
        if path == DYNAMIC:
            return self._invoke if (context.service, context.method) in self._dynamic else None
        return self._typed.get(path)

    async def _serve_dynamic(self, request: bytes, call: Call) -> bytes:
        params = carried(parsed(InvokeRequest, request).params.utf8, "params")
        with self._continuations.serving(call.context, None):
            result = await self._serve(params, call.context)
        return InvokeResponse(result=Json(utf8=bytes(result))).SerializeToString()

    async def _serve_typed(self, method: ProtoMethod, request: bytes, call: Call) -> bytes:
        params = spliced(request_to_json(method, request))
        with self._continuations.serving(call.context, method):
            result = await self._serve(params, call.context)
        try:
            return response_from_json(method, bytes(result))
        except MeshError as broken:
            # The kernel's code, in the plugin's name.
            raise MeshError(broken.code, broken.message, domain=CONTRACT, **broken.details) from None

    async def _serve(self, params: Raw, context: CallContext) -> Raw:
        invocation = ServiceInvoke(
            service=context.service.partition("@")[0],
            method=context.method,
            caller=context.caller,
            execution_id=context.execution,
            params=params,
            admission=_admission(context.admission) if context.HasField("admission") else UNSET,
            continuation_id=given(context.continuation),
        )
        return await self._ask("service.invoke", invocation, context.execution)


def _admission(admission: OwnerAdmission) -> Admission:
    lineage: tuple[str, ...] | UnsetType = tuple(admission.lineage) or UNSET
    return Admission(
        action=admission.action,
        input_json=admission.input_json.utf8.decode(),
        input_digest=admission.input_digest.hex(),
        subject=admission.subject,
        lineage=lineage,
    )
