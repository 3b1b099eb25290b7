"""A tool in Python, written with the kit: how many documents a namespace holds."""

import msgspec

from provider_kit import Call, MeshError, Module, requirement, serve
from wuu.mesh.v1.contributions_pb2 import ExecuteToolRequest, ExecuteToolResponse
from wuu.mesh.v1.declaration_pb2 import Tool, ToolActivity
from wuu.mesh.v1.json_pb2 import Json
from wuu.state.documents.v1.documents_pb2 import ReadRequest
from wuu.state.documents.v1.documents_pb2_grpc import DocumentsStub

SCHEMA = b'{"type":"object","properties":{"namespace":{"type":"string"}},"required":["namespace"]}'


class Arguments(msgspec.Struct):
    namespace: str


class DocumentCount(Module):
    requires = (requirement("state.documents@1"),)
    tools = (
        Tool(
            id="count",
            description="Say how many documents a namespace of the document store holds.",
            input_schema=Json(utf8=SCHEMA),
            activity=ToolActivity(read_only=True, concurrency_safe=True),
        ),
    )

    async def execute_tool(self, request: ExecuteToolRequest, call: Call) -> ExecuteToolResponse:
        try:
            arguments = msgspec.json.decode(request.arguments.utf8, type=Arguments)
        except msgspec.ValidationError as wrong:
            raise MeshError("invalid_params", str(wrong)) from None
        documents = call.stub(DocumentsStub, "state.documents@1")
        found = await documents.Read(ReadRequest(namespace=arguments.namespace))
        text = f"{arguments.namespace} holds {len(found.documents)} documents."
        content = msgspec.json.encode([{"type": "text", "text": text}])
        return ExecuteToolResponse(content=Json(utf8=content))


serve(DocumentCount())
