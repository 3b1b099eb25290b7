"""Decorators of typed services: `python -P in_front.py documents | streams`."""

from __future__ import annotations

import sys

from contract.declaration import describe
from provider_kit import Call, MeshError, Module, delegate, requirement, serve
from tests.support.probe import STREAMS, Probe
from wuu.mesh.v1.declaration_pb2 import MethodDescriptor, ServiceDescriptor
from wuu.mesh.v1.json_pb2 import Json
from wuu.state.documents.v1 import documents_pb2
from wuu.state.documents.v1.documents_pb2 import Document, ReadRequest, ReadResponse
from wuu.state.documents.v1.documents_pb2_grpc import DocumentsStub

DOCUMENTS = "state.documents@1"


class Documents(Module):
    """Adds a document to whatever is read, and leaves the rest to the store."""

    requires = (requirement(DOCUMENTS),)

    def __init__(self) -> None:
        served = ("Read", "Commit", "Export", "Authority")
        contract = documents_pb2.DESCRIPTOR.services_by_name["Documents"]
        described = describe(contract, implemented=served, features=("paged_export",))
        self.provides = [delegate(described, {"read": self.read})]

    async def read(self, request: ReadRequest, call: Call) -> ReadResponse:
        """What the store has, and one more; of a namespace that is barred nothing is asked."""
        if request.namespace == "barred":
            raise MeshError("barred", "nobody reads that")
        found: ReadResponse = await call.stub(DocumentsStub, DOCUMENTS).Read(request)
        note = Json(utf8=b'"added"')
        found.documents.append(Document(namespace=request.namespace, key=f"by {call.caller}", value=note))
        return found


class Streams(Module):
    """Passes everything on."""

    requires = (requirement("probe.streams@1"),)

    def __init__(self) -> None:
        methods = [
            MethodDescriptor(
                name=rpc.lower(), rpc=rpc, input_schema="probe.any", output_schema="probe.any", shape=shape
            )
            for rpc, (shape, _) in Probe.RPCS.items()
        ]
        descriptor = ServiceDescriptor(
            name="probe.streams", version="1.0.0", grpc_service=STREAMS, methods=methods
        )
        self.provides = [delegate(descriptor, {})]


if __name__ == "__main__":
    serve({"documents": Documents, "streams": Streams}[sys.argv[1]]())
