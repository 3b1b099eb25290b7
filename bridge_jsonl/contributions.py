"""Contributions: the tools and capability handlers of a plugin.

Source: the plugin wire, `tool.execute`, `capability.invoke` and *Timing*;
`proto/wuu/mesh/v1/contributions.proto`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import msgspec
from msgspec import UNSET, Raw, UnsetType

from bridge_jsonl.messages import (
    CapabilityInvoke,
    CapabilityResult,
    ToolExecute,
    ToolResult,
    carried,
    given,
    parsed,
)
from bridge_jsonl.services import Ask
from contract.errors import CONTRACT, MeshError
from provider_kit.call import Call
from provider_kit.provided import Handler
from wuu.mesh.v1.contributions_pb2 import (
    ExecuteToolRequest,
    ExecuteToolResponse,
    InvokeCapabilityRequest,
    InvokeCapabilityResponse,
)
from wuu.mesh.v1.declaration_pb2 import Declaration, Shape
from wuu.mesh.v1.json_pb2 import Json

METRICS = "model.request.metrics"
"""The capability whose timeout suspends the registration alone, which its registry does."""

_SERVICE = "/wuu.mesh.v1.Contributions/"


class Contributions:
    """What one plugin contributes."""

    def __init__(self, ask: Ask, fail: Callable[[str, str], MeshError], timeout: float) -> None:
        """`fail` ends the plugin with a code and a message; `timeout` (seconds) bounds capabilities."""
        self._ask = ask
        self._fail = fail
        self._timeout = timeout
        self._tools: set[str] = set()
        self._capabilities: set[str] = set()
        self._handlers = {
            f"{_SERVICE}ExecuteTool": Handler(Shape.SHAPE_UNARY, self._execute_tool),
            f"{_SERVICE}InvokeCapability": Handler(Shape.SHAPE_UNARY, self._invoke_capability),
        }

    def contribute(self, declaration: Declaration) -> None:
        """Takes in what the plugin declares."""
        self._tools = {tool.id for tool in declaration.tools}
        self._capabilities = {capability.id for capability in declaration.capabilities}

    def handler(self, path: str) -> Handler | None:
        """What serves a call; None where it is no call of a contribution."""
        return self._handlers.get(path)

    async def _execute_tool(self, request: bytes, call: Call) -> bytes:
        asked = parsed(ExecuteToolRequest, request)
        if asked.tool_id not in self._tools:
            raise MeshError("method_not_found", f"the plugin has no tool '{asked.tool_id}'", domain=CONTRACT)
        execution = call.context.execution
        answer = await self._ask(
            "tool.execute",
            ToolExecute(
                tool_id=asked.tool_id,
                tool=asked.tool,
                arguments=carried(asked.arguments.utf8, "arguments", absent=b"{}"),
                call_id=asked.call_id,
                cwd=asked.cwd,
                execution_id=execution,
                session_id=given(asked.session_id),
                thread_id=given(asked.thread_id),
                turn_id=given(asked.turn_id),
                actor_id=given(asked.actor_id),
                step_index=asked.step_index if asked.HasField("step_index") else UNSET,
            ),
            execution,
        )
        try:
            output = msgspec.json.decode(answer, type=ToolResult).result
        except msgspec.ValidationError as wrong:
            raise _broken(asked.tool_id, str(wrong)) from None
        return ExecuteToolResponse(
            content=_part(asked.tool_id, "content", output.content, "an array"),
            structured_content=_part(asked.tool_id, "structured_content", output.structured_content),
            meta=_part(asked.tool_id, "meta", output.meta, "an object"),
            is_error=output.is_error or False,
            activity=_part(asked.tool_id, "activity", output.activity, "an object"),
        ).SerializeToString()

    async def _invoke_capability(self, request: bytes, call: Call) -> bytes:
        asked = parsed(InvokeCapabilityRequest, request)
        id_, execution = asked.capability, call.context.execution
        if id_ not in self._capabilities:
            raise MeshError("method_not_found", f"the plugin has no capability '{id_}'", domain=CONTRACT)
        invocation = CapabilityInvoke(
            capability=id_,
            execution_id=execution,
            input=carried(asked.input.utf8, "input"),
            output=carried(asked.output.utf8, "output"),
        )
        try:
            async with asyncio.timeout(self._timeout):
                answer = await self._ask("capability.invoke", invocation, execution)
        except TimeoutError:
            late = f"{id_} took longer than {self._timeout:g} s"
            if id_ == METRICS:
                raise MeshError("deadline_exceeded", late, domain=CONTRACT) from None
            raise self._fail("deadline_exceeded", late) from None
        try:
            output = msgspec.json.decode(answer, type=CapabilityResult).output
        except msgspec.ValidationError as wrong:
            raise self._fail("protocol_violation", f"the result of {id_}: {wrong}") from None
        return InvokeCapabilityResponse(output=Json(utf8=bytes(output))).SerializeToString()


_OPENINGS = {"an array": b"[", "an object": b"{"}


def _part(tool: str, field: str, value: Raw | UnsetType, shape: str = "") -> Json | None:
    """One part of a tool's output; None where it is absent, or null where null says nothing."""
    if value is UNSET:
        return None
    text = bytes(value)
    if shape and text == b"null":
        return None
    if shape and text[:1] != _OPENINGS[shape]:
        raise _broken(tool, f"`{field}` must be {shape}")
    return Json(utf8=text)


def _broken(tool: str, rule: str) -> MeshError:
    return MeshError("protocol_violation", f"the result of the tool {tool}: {rule}", domain=CONTRACT)
