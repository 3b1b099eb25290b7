"""The rude provider: what it answers is not what its contracts say.

A module `M` of it provides `M.loose@1`, which is dynamic, and `M.typed@1`, whose carrier only the package can
describe, and contributes tools.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import grpc
import msgspec
from google.protobuf.descriptor_pb2 import FileDescriptorProto, FileDescriptorSet
from google.rpc import error_details_pb2, status_pb2

from contract.errors import DETAILS_KEY
from contract.handshake import Handshake, read_handshake
from provider_kit.program import start
from tests.support.composition import Entry
from tests.support.serving import serve
from wuu.mesh.v1.contributions_pb2 import ExecuteToolRequest, ExecuteToolResponse
from wuu.mesh.v1.declaration_pb2 import Declaration, MethodDescriptor, ServiceDescriptor, Shape, Tool
from wuu.mesh.v1.dynamic_pb2 import InvokeRequest, InvokeResponse
from wuu.mesh.v1.json_pb2 import Json
from wuu.mesh.v1.lifecycle_pb2 import InitializeResponse

GARBAGE = b"\xff\xff\xff"
"""What is no message at all."""
NONSENSE = Json(utf8=b"{oops")
EXTREME = Json(utf8=b'[{"type":"data","n":1e999},{"type":"text","text":7},{"type":"text","text":"well"}]')
TOOLS = ("garbage", "nonsense", "extreme", "polite")

Context = grpc.aio.ServicerContext[bytes, bytes]


def rude(id: str) -> Entry:  # noqa: A002
    """A module of this provider."""
    return Entry(id=id, argv=("python", "-P", str(Path(__file__).absolute())))


def descriptors() -> bytes:
    """What a package of it brings to describe `M.typed@1`."""
    file = FileDescriptorProto(name="rude.proto", package="rude.v1", syntax="proto3")
    file.message_type.add(name="Text").field.add(
        name="text", number=1, type="TYPE_STRING", label="LABEL_OPTIONAL"
    )
    file.service.add(name="Typed").method.add(
        name="Say", input_type=".rude.v1.Text", output_type=".rude.v1.Text"
    )
    return FileDescriptorSet(file=[file]).SerializeToString()


async def invoke(request: bytes, context: Context) -> bytes:
    """What the params ask for."""
    asked = msgspec.json.decode(InvokeRequest.FromString(request).params.utf8)
    if asked == "late":
        info = error_details_pb2.ErrorInfo(reason="own_deadline", domain="wuu")
        status = status_pb2.Status(code=grpc.StatusCode.DEADLINE_EXCEEDED.value[0])
        status.details.add().Pack(info)
        trailers = ((DETAILS_KEY, status.SerializeToString()),)
        await context.abort(grpc.StatusCode.DEADLINE_EXCEEDED, "a deadline of its own", trailers)
    return GARBAGE if asked == "garbage" else InvokeResponse(result=NONSENSE).SerializeToString()


async def execute_tool(request: bytes, _: Context) -> bytes:
    """What the name of the tool says."""
    tool = ExecuteToolRequest.FromString(request).tool_id
    if tool == "garbage":
        return GARBAGE
    polite = Json(utf8=b'[{"type":"text","text":"well"}]')
    content = {"nonsense": NONSENSE, "extreme": EXTREME}.get(tool, polite)
    return ExecuteToolResponse(content=content).SerializeToString()


async def say(_: bytes, __: Context) -> bytes:
    """No Text."""
    return GARBAGE


def declaration(module: str) -> Declaration:
    """What it declares."""
    schemas: Any = {"input_schema": "rude.any", "output_schema": "rude.any", "shape": Shape.SHAPE_UNARY}
    loose = MethodDescriptor(name="answer", **schemas)
    typed = MethodDescriptor(name="say", rpc="Say", **schemas)
    return Declaration(
        provided_services=[
            ServiceDescriptor(name=f"{module}.loose", version="1.0.0", methods=[loose]),
            ServiceDescriptor(
                name=f"{module}.typed", version="1.0.0", grpc_service="rude.v1.Typed", methods=[typed]
            ),
        ],
        tools=[
            Tool(id=tool, description="Rude.", input_schema=Json(utf8=b'{"type":"object"}')) for tool in TOOLS
        ],
    )


async def _run(handshake: Handshake) -> None:
    async def initialize(_: bytes, __: Context) -> bytes:
        declared = declaration(handshake.module)
        return InitializeResponse(lifecycle_version=2, declaration=declared).SerializeToString()

    rpcs = (
        ("wuu.mesh.v1.Dynamic", "Invoke", invoke),
        ("wuu.mesh.v1.Contributions", "ExecuteTool", execute_tool),
        ("rude.v1.Typed", "Say", say),
    )
    await serve(
        handshake,
        initialize,
        {service: {rpc: grpc.unary_unary_rpc_method_handler(takes)} for service, rpc, takes in rpcs},
    )


if __name__ == "__main__":
    start(read_handshake, _run)
