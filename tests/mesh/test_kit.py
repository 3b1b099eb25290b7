"""The kit's own word for a module: what its author need not think of."""

from __future__ import annotations

from typing import Any

import pytest

from contract.context import CallContext
from contract.errors import MeshError
from provider_kit.module import Module, requirement
from wuu.mesh.v1.contributions_pb2 import ExecuteToolRequest, ExecuteToolResponse
from wuu.mesh.v1.declaration_pb2 import Tool
from wuu.mesh.v1.json_pb2 import Json
from wuu.mesh.v1.lifecycle_pb2 import InitializeRequest

EXECUTE = "/wuu.mesh.v1.Contributions/ExecuteTool"


class Clerk(Module):
    """A module with one tool."""

    tools = (Tool(id="count", description="Counts.", input_schema=Json(utf8=b'{"type":"object"}')),)

    async def execute_tool(self, request: ExecuteToolRequest, _: Any) -> ExecuteToolResponse:
        """Says which tool it was."""
        return ExecuteToolResponse(content=Json(utf8=request.tool_id.encode()))


async def execute(tool: str) -> ExecuteToolResponse:
    """Runs a tool of the clerk as the router would."""
    clerk = Clerk()
    await clerk.initialized(InitializeRequest())
    handler = clerk.handler(EXECUTE, CallContext(service="wuu.mesh.contributions@1"))
    assert handler is not None
    no_call: Any = None
    request = ExecuteToolRequest(tool_id=tool).SerializeToString()
    return ExecuteToolResponse.FromString(await handler.serve(request, no_call))


async def test_a_declared_tool_runs() -> None:
    assert (await execute("count")).content.utf8 == b"count"


async def test_a_tool_that_is_not_declared_does_not_run() -> None:
    with pytest.raises(MeshError, match="no tool 'coun' is declared, but count") as refused:
        await execute("coun")
    assert refused.value.code == "method_not_found"


@pytest.mark.parametrize("name", ["state.documents", "state.documents@", "state.documents@x", "@1"])
def test_a_requirement_names_service_and_major(name: str) -> None:
    with pytest.raises((ValueError, MeshError)):
        requirement(name)
