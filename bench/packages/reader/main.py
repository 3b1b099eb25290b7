"""The program of `bench.reader`: makes one call over and over, from inside one admitted call."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable

import msgspec

from contract.transport import DYNAMIC
from provider_kit import Call, Dynamic, Module, requirement, serve
from wuu.mesh.v1.dynamic_pb2 import InvokeRequest
from wuu.mesh.v1.json_pb2 import Json
from wuu.state.documents.v1.documents_pb2 import CommitRequest, KeyList, ReadRequest, ReadResponse, Write
from wuu.state.documents.v1.documents_pb2_grpc import DocumentsStub

DOCUMENTS = "state.documents@1"
ECHO = "bench.echo@1"
READ = "/wuu.state.documents.v1.Documents/Read"
NAMESPACE, KEY = "bench.reader", "document"


class Measure(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The input of `measure`."""

    calls: int
    """Made one at a time."""
    size: int = 0
    """Bytes of JSON in what is echoed."""


class Size(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The input of `write`."""

    size: int
    """Bytes of JSON in the document."""


class Reader(Module):
    """Provides `bench.reader@1`."""

    requires = (requirement(DOCUMENTS), requirement(ECHO, required=False))

    def __init__(self) -> None:
        methods = {"write": self.write, "measure": self.measure, "measure-echo": self.measure_echo}
        self.provides = [Dynamic("bench.reader", methods)]

    async def write(self, params: bytes, call: Call) -> bytes:
        """Makes the document."""
        text = _text(msgspec.json.decode(params, type=Size).size)
        written = Write(namespace=NAMESPACE, key=KEY, value=Json(utf8=text))
        commit = CommitRequest(id="bench.reader/1", expected_revision="0", writes=[written])
        await call.stub(DocumentsStub, DOCUMENTS).Commit(commit)
        return b"null"

    async def measure(self, params: bytes, call: Call) -> bytes:
        """Reads it, and says how long each read took, in nanoseconds."""
        request = ReadRequest(namespace=NAMESPACE, keys=KeyList(keys=[KEY])).SerializeToString()
        answer = ReadResponse.FromString(await call.mesh.unary(READ, request, service=DOCUMENTS))
        if len(answer.documents) != 1:
            raise ValueError("the document was not read")
        return await _timed(params, lambda: call.mesh.unary(READ, request, service=DOCUMENTS))

    async def measure_echo(self, params: bytes, call: Call) -> bytes:
        """The same of echoes of a document as large as the request asks for."""
        text = _text(msgspec.json.decode(params, type=Measure).size)
        request = InvokeRequest(params=Json(utf8=text)).SerializeToString()
        return await _timed(params, lambda: call.mesh.unary(DYNAMIC, request, service=ECHO, method="echo"))


async def _timed(params: bytes, made: Callable[[], Awaitable[bytes]]) -> bytes:
    latencies: list[int] = []
    for _ in range(msgspec.json.decode(params, type=Measure).calls):
        sent = time.perf_counter_ns()
        await made()
        latencies.append(time.perf_counter_ns() - sent)
    return msgspec.json.encode(latencies)


def _text(size: int) -> bytes:
    return b'"' + b"x" * (size - 2) + b'"'


if __name__ == "__main__":
    serve(Reader())
