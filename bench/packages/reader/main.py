"""The program of `bench.reader`: reads one document over and over, from inside one admitted call."""

from __future__ import annotations

import time

import msgspec

from provider_kit import Call, Dynamic, Module, requirement, serve
from wuu.mesh.v1.json_pb2 import Json
from wuu.state.documents.v1.documents_pb2 import CommitRequest, Document, ReadRequest, ReadResponse
from wuu.state.documents.v1.documents_pb2_grpc import DocumentsStub

DOCUMENTS = "state.documents@1"
READ = "/wuu.state.documents.v1.Documents/Read"
NAMESPACE, KEY = "bench.reader", "document"


class Measure(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The input of `measure`."""

    calls: int
    """Made one at a time."""


class Write(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The input of `write`."""

    size: int
    """Bytes of JSON in the document."""


class Reader(Module):
    """Provides `bench.reader@1`."""

    requires = (requirement(DOCUMENTS),)

    def __init__(self) -> None:
        self.provides = [Dynamic("bench.reader", {"write": self.write, "measure": self.measure})]

    async def write(self, params: bytes, call: Call) -> bytes:
        """Makes the document."""
        text = b'"' + b"x" * (msgspec.json.decode(params, type=Write).size - 2) + b'"'
        document = Document(namespace=NAMESPACE, key=KEY, value=Json(utf8=text))
        commit = CommitRequest(id="bench.reader/1", expected_revision="0", writes=[document])
        await call.stub(DocumentsStub, DOCUMENTS).Commit(commit)
        return b"null"

    async def measure(self, params: bytes, call: Call) -> bytes:
        """Reads it, and says how long each read took, in nanoseconds."""
        request = ReadRequest(namespace=NAMESPACE, keys=[KEY]).SerializeToString()
        latencies: list[int] = []
        answer = b""
        for _ in range(msgspec.json.decode(params, type=Measure).calls):
            sent = time.perf_counter_ns()
            answer = await call.mesh.unary(READ, request, service=DOCUMENTS)
            latencies.append(time.perf_counter_ns() - sent)
        if len(ReadResponse.FromString(answer).documents) != 1:
            raise ValueError("the document was not read")
        return msgspec.json.encode(latencies)


if __name__ == "__main__":
    serve(Reader())
