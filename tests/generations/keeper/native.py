"""The keeper as a native provider, written with the kit."""

from __future__ import annotations

import asyncio
import json
import sys

from contract.errors import MeshError
from provider_kit import Call, Module, serve
from provider_kit.provided import Handler
from tests.generations.keeper.store import METHODS, Keeper
from wuu.mesh.v1.context_pb2 import CallContext
from wuu.mesh.v1.declaration_pb2 import Declaration, MethodDescriptor, ServiceDescriptor, Shape
from wuu.mesh.v1.dynamic_pb2 import InvokeRequest, InvokeResponse
from wuu.mesh.v1.json_pb2 import Json
from wuu.mesh.v1.lifecycle_pb2 import InitializeRequest, InitializeResponse


class Native(Module):
    """The keeper behind gRPC."""

    def __init__(self) -> None:
        self._keeper = Keeper(*sys.argv[1:])

    async def initialized(self, request: InitializeRequest) -> InitializeResponse:
        methods = [
            MethodDescriptor(
                name=name, input_schema=each["input_schema"], output_schema=each["output_schema"]
            )
            for name, each in METHODS.items()
        ]
        service = ServiceDescriptor(name="keeper.words", version="1.0.0", methods=methods)
        return InitializeResponse(lifecycle_version=2, declaration=Declaration(provided_services=[service]))

    async def prepare(self) -> None:
        try:
            self._keeper.prepare()
        except ValueError as unreadable:
            raise MeshError("host_error", f"the words cannot be read: {unreadable}") from None

    async def activate(self) -> None:
        self._keeper.activate()

    async def shutdown(self) -> None:
        self._keeper.release()

    def handler(self, path: str, context: CallContext) -> Handler | None:
        return Handler(Shape.SHAPE_UNARY, self._answer)

    async def _answer(self, request: bytes, call: Call) -> bytes:
        if call.context.method == "wait":
            await self._wait()
        params = json.loads(InvokeRequest.FromString(request).params.utf8 or b"{}") or {}
        answer = self._keeper.answer(call.context.method, params, call.context.caller)
        return InvokeResponse(result=Json(utf8=json.dumps(answer).encode())).SerializeToString()

    async def _wait(self) -> None:
        self._keeper.tell("waits")
        try:
            await asyncio.Event().wait()
        finally:
            self._keeper.tell("cancelled")


serve(Native())
