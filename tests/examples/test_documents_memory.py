"""The documents-memory example: a provider without our kit, beside one with it, behind the same contract."""

from __future__ import annotations

import hashlib
import json
import secrets
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import grpc
import pytest

from contract.context import CONTEXT_KEY, MODULE_KEY, OPERATOR, ROUTER, SERVICE_KEY, CallContext, sign
from contract.errors import MeshError, from_rpc_error
from contract.handshake import Handshake
from contract.transport import CHANNEL_OPTIONS, MESSAGE_LIMIT
from tests.examples.mesh import EXAMPLES, Mesh, RefusedError
from wuu.mesh.v1.json_pb2 import Json
from wuu.mesh.v1.lifecycle_pb2 import InitializeRequest
from wuu.mesh.v1.lifecycle_pb2_grpc import LifecycleStub
from wuu.state.documents.v1 import documents_pb2 as pb
from wuu.state.documents.v1.documents_pb2_grpc import DocumentsStub

MEMORY = "example.documents-memory"
SQLITE = "wuu.state.sqlite"
DOCUMENTS = "state.documents@1"

Metadata = tuple[tuple[str, str | bytes], ...]


@pytest.fixture(scope="module")
def mesh() -> Iterator[Mesh]:
    """The example composition with the store in memory, which no plugin in it notices."""
    with Mesh() as mesh:
        mesh.edit('"wuu.state.jsonl": true', '"example.documents-memory": true')
        mesh.edit('"provider": "wuu.state.sqlite"', '"provider": "example.documents-memory"')
        mesh.up()
        yield mesh


@contextmanager
def stub_on(path: Path, stub: Callable[[grpc.Channel], Any]) -> Iterator[Any]:
    with grpc.insecure_channel(f"unix:{path}", options=CHANNEL_OPTIONS) as channel:
        yield stub(channel)


@pytest.fixture(scope="module")
def control(mesh: Mesh) -> Iterator[Any]:
    """Typed calls as the operator, who alone may name the module."""
    with stub_on(mesh.control, DocumentsStub) as stub:
        yield stub


def call(rpc: Any, request: Any, metadata: Metadata) -> Any:
    """One call. Failures are `MeshError`."""
    try:
        return rpc(request, metadata=metadata, timeout=30)
    except grpc.RpcError as error:
        assert isinstance(error, grpc.Call)
        raise from_rpc_error(error) from None


def to(module: str) -> Metadata:
    return (SERVICE_KEY, DOCUMENTS), (MODULE_KEY, module)


# --- through the product ---


def test_it_takes_the_place_of_the_sqlite_store(mesh: Mesh) -> None:
    assert mesh.provider("state.documents") == MEMORY
    said = mesh.tool("example.writing-report/report", {"text": "a b"})
    assert said["structured_content"]["totals"] == {"reports": 1, "words": 2}


def test_an_error_of_it_reaches_the_operator_with_its_code(mesh: Mesh) -> None:
    writes = [{"namespace": "n", "key": "k", "delete": True}]
    with pytest.raises(RefusedError, match="the store is at revision") as refused:
        mesh.call(DOCUMENTS, "commit", {"id": "stale", "expected_revision": "999", "writes": writes})
    assert refused.value.code == "state_conflict"


def test_a_method_that_it_does_not_declare_is_refused_by_the_router(mesh: Mesh) -> None:
    with pytest.raises(RefusedError, match=r"method_not_found: .* it has read, commit and export"):
        mesh.call(DOCUMENTS, "compact")


# --- the same answers as the store in SQLite ---

KEYS = ("a", "a/1", "a/2", "b", "é", "｟", "🦁")
"""In the order of their UTF-8 bytes. In UTF-16 the last two stand the other way around."""


@pytest.fixture(scope="module")
def filled(control: Any) -> str:
    """A namespace with the same documents in both stores."""
    for module in (MEMORY, SQLITE):
        revision = call(control.Read, pb.ReadRequest(namespace="same"), to(module)).revision
        writes = [
            pb.Write(namespace="same", key=key, value=Json(utf8=f'{{ "key": "{key}"}}'.encode()))
            for key in reversed(KEYS)
        ]
        request = pb.CommitRequest(id="same/1", expected_revision=revision, writes=writes)
        call(control.Commit, request, to(module))
    return "same"


QUERIES: Mapping[str, Mapping[str, Any]] = {
    "everything": {},
    "in reverse": {"reverse": True},
    "a prefix": {"prefix": "a/"},
    "an empty prefix": {"prefix": ""},
    "keys": {"keys": pb.KeyList(keys=["🦁", "b", "b", "none"])},
    "no keys": {"keys": pb.KeyList()},
    "a range": {"start": "a/1", "end": "é"},
    "a range beyond the last": {"start": "｟"},
    "an empty range": {"start": "b", "end": "a"},
    "a page": {"limit": 2},
    "the next page": {"limit": 2, "cursor": "a/1"},
    "the last page": {"limit": 2, "cursor": "é"},
    "a page in reverse": {"limit": 2, "cursor": "🦁", "reverse": True},
    "all conditions": {"prefix": "a", "start": "a/1", "end": "b", "limit": 1},
    "a page of exactly everything": {"limit": len(KEYS)},
}


@pytest.mark.parametrize("query", QUERIES.values(), ids=QUERIES)
def test_it_answers_a_query_as_the_sqlite_store_does(
    control: Any, filled: str, query: Mapping[str, Any]
) -> None:
    request = pb.ReadRequest(namespace=filled, **query)
    memory, sqlite = (call(control.Read, request, to(module)) for module in (MEMORY, SQLITE))
    assert list(memory.documents) == list(sqlite.documents)
    assert memory.HasField("next_cursor") == sqlite.HasField("next_cursor")
    assert memory.next_cursor == sqlite.next_cursor


def write(**fields: Any) -> pb.Write:
    given: dict[str, Any] = {"namespace": "n", "key": "k", "delete": True}
    return pb.Write(**(given | fields))


def commit(**fields: Any) -> pb.CommitRequest:
    given: dict[str, Any] = {"id": "refused", "expected_revision": "0", "writes": [write()]}
    return pb.CommitRequest(**(given | fields))


REFUSED: Mapping[str, tuple[str, Any]] = {
    "a read without a namespace": ("Read", pb.ReadRequest()),
    "a read of too much": ("Read", pb.ReadRequest(namespace="n", limit=10_001)),
    "a read of an empty key": ("Read", pb.ReadRequest(namespace="n", keys=pb.KeyList(keys=["k", ""]))),
    "a read at no revision": ("Read", pb.ReadRequest(namespace="n", at_revision="01")),
    "a read at another revision": ("Read", pb.ReadRequest(namespace="n", at_revision="999")),
    "a commit without an id": ("Commit", commit(id="")),
    "a commit with too long an id": ("Commit", commit(id="é" * 129)),
    "a commit without a revision": ("Commit", commit(expected_revision="")),
    "a commit of nothing": ("Commit", commit(writes=[])),
    "a commit of a document twice": ("Commit", commit(writes=[write(), write()])),
    "a commit of no change": ("Commit", commit(writes=[pb.Write(namespace="n", key="k")])),
    "a commit of a deletion that is none": ("Commit", commit(writes=[write(delete=False)])),
    "a commit of what is not JSON": ("Commit", commit(writes=[write(value=Json(utf8=b"{"))])),
    "a commit of an empty value": ("Commit", commit(writes=[write(value=Json())])),
    "a commit to a key with NUL": ("Commit", commit(writes=[write(key="a\0b")])),
    "a commit to the owners of namespaces": (
        "Commit",
        commit(writes=[write(namespace="wuu.state.namespace_owners.v1")]),
    ),
    "a commit on another revision": ("Commit", commit(expected_revision="999")),
}


@pytest.mark.parametrize(("rpc", "request_"), REFUSED.values(), ids=REFUSED)
def test_it_refuses_what_the_sqlite_store_refuses_with_the_same_code(
    control: Any, rpc: str, request_: Any
) -> None:
    failures = []
    for module in (MEMORY, SQLITE):
        with pytest.raises(MeshError) as failed:
            call(getattr(control, rpc), request_, to(module))
        failures.append(failed.value)
    memory, sqlite = failures
    assert (memory.code, memory.domain) == (sqlite.code, sqlite.domain)
    assert memory.details.get("pointer") == sqlite.details.get("pointer")


def test_it_exports_no_page_for_it_does_not_declare_any(control: Any) -> None:
    page = pb.ExportPageRequest(section=pb.EXPORT_SECTION_DOCUMENTS, target_bytes=1000, max_items=10)
    with pytest.raises(MeshError) as failed:
        call(control.Export, pb.ExportRequest(page=page), to(MEMORY))
    assert failed.value.code == "invalid_request"


# --- the contract, on a store of its own ---


class Bare:
    """The provider without a router: a test has its key."""

    def __init__(self, directory: Path) -> None:
        self.handshake = Handshake(
            module=MEMORY,
            instance=f"{MEMORY}@test",
            listen=str(directory / secrets.token_hex(4)),
            router=f"unix:{directory}/router",
            token="token",
            key=secrets.token_hex(32),
        )

    def context(self, method: str, /, **fields: Any) -> Metadata:
        """Metadata with a good context, save for the fields that are given."""
        good: dict[str, Any] = {
            "audience": self.handshake.instance,
            "caller": OPERATOR,
            "service": DOCUMENTS,
            "method": method,
            "expires_unix_ms": int(time.time() * 1000) + 60_000,
        }
        context = CallContext(**(good | fields)).SerializeToString()
        return ((CONTEXT_KEY, sign(context, bytes.fromhex(self.handshake.key))),)


@pytest.fixture
def bare(mesh: Mesh) -> Iterator[Bare]:
    """A provider on its own, which ends well with its standard input."""
    bare = Bare(mesh.directory)
    handshake = {name: getattr(bare.handshake, name) for name in bare.handshake.__struct_fields__}
    with subprocess.Popen(
        ["node", "main.js"], cwd=EXAMPLES / "documents-memory", stdin=subprocess.PIPE, text=True
    ) as process:
        assert process.stdin is not None
        process.stdin.write(json.dumps(handshake) + "\n")
        process.stdin.flush()
        with grpc.insecure_channel(f"unix:{bare.handshake.listen}", options=CHANNEL_OPTIONS) as channel:
            grpc.channel_ready_future(channel).result(timeout=30)
        yield bare
        process.stdin.close()
        assert process.wait(timeout=30) == 0


@pytest.fixture
def store(bare: Bare) -> Iterator[Any]:
    with stub_on(Path(bare.handshake.listen), DocumentsStub) as stub:
        yield stub


def test_a_transaction_has_one_receipt_for_ever(bare: Bare, store: Any) -> None:
    put = commit(id="t1", writes=[write(value=Json(utf8=b'{"a": 1}'))])
    receipt = call(store.Commit, put, bare.context("commit"))
    fields = [b"t1", b"0", b"n", b"k", b'={"a": 1}']
    intent = b"".join(len(field).to_bytes(8, "big") + field for field in fields)
    assert receipt == pb.CommitResponse(id="t1", revision="1", digest=hashlib.sha256(intent).hexdigest())

    removal = call(store.Commit, commit(id="t2", expected_revision="1"), bare.context("commit"))
    assert call(store.Commit, put, bare.context("commit")) == receipt
    exported = call(store.Export, pb.ExportRequest(), bare.context("export"))
    assert exported.revision == "2"
    assert not exported.documents
    assert [(row.id, row.digest) for row in exported.receipts] == [
        ("t1", receipt.digest),
        ("t2", removal.digest),
    ]
    with pytest.raises(MeshError) as conflict:
        call(store.Commit, commit(id="t1", expected_revision="1"), bare.context("commit"))
    assert conflict.value.code == "state_operation_conflict"


def test_an_answer_past_64_mib_is_refused(bare: Bare, store: Any) -> None:
    value = b'"' + b"x" * (MESSAGE_LIMIT // 2) + b'"'
    for number in range(2):
        put = commit(id=str(number), expected_revision=str(number))
        put.writes[0].key = str(number)
        put.writes[0].value.utf8 = value
        call(store.Commit, put, bare.context("commit"))
    with pytest.raises(MeshError) as refused:
        call(store.Read, pb.ReadRequest(namespace="n"), bare.context("read"))
    assert refused.value.code == "limit_exceeded"
    page = call(store.Read, pb.ReadRequest(namespace="n", limit=1), bare.context("read"))
    assert page.next_cursor == "0"


# --- the signed context ---


def test_a_call_that_does_not_come_from_the_router_is_refused(mesh: Mesh) -> None:
    forged = sign(b"", secrets.token_bytes(32))
    with stub_on(mesh.socket(MEMORY), DocumentsStub) as stub:
        for metadata in ((), ((CONTEXT_KEY, b"\xff"),), ((CONTEXT_KEY, b""),), ((CONTEXT_KEY, forged),)):
            with pytest.raises(MeshError) as refused:
                call(stub.Read, pb.ReadRequest(namespace="n"), metadata)
            assert refused.value.code == "unauthenticated"


FORGED: Mapping[str, Mapping[str, Any]] = {
    "for another instance": {"audience": f"{MEMORY}@other"},
    "that has expired": {"expires_unix_ms": 1},
    "for another service": {"service": "state.documents@2"},
    "for another method": {"method": "export"},
}


def test_a_context_that_is_not_for_this_call_is_refused(bare: Bare, store: Any) -> None:
    call(store.Read, pb.ReadRequest(namespace="n"), bare.context("read"))
    for fields in FORGED.values():
        with pytest.raises(MeshError) as refused:
            call(store.Read, pb.ReadRequest(namespace="n"), bare.context("read", **fields))
        assert refused.value.code == "unauthenticated"


def test_nobody_but_the_router_calls_the_lifecycle(bare: Bare) -> None:
    lifecycle = {"service": "wuu.mesh.lifecycle@2"}
    with stub_on(Path(bare.handshake.listen), LifecycleStub) as stub:
        with pytest.raises(MeshError) as refused:
            call(stub.Initialize, InitializeRequest(), bare.context("initialize", **lifecycle))
        assert refused.value.code == "unauthenticated"
        router = bare.context("initialize", caller=ROUTER, **lifecycle)
        assert call(stub.Initialize, InitializeRequest(), router).lifecycle_version == 2


def test_a_field_that_it_does_not_configure_is_named(bare: Bare) -> None:
    context = bare.context("initialize", service="wuu.mesh.lifecycle@2", caller=ROUTER)
    request = InitializeRequest(module=MEMORY, config=Json(utf8=b'{"path": "/x"}'))
    with stub_on(Path(bare.handshake.listen), LifecycleStub) as stub:
        with pytest.raises(MeshError, match=f"config of {MEMORY}: there is no field 'path'") as refused:
            call(stub.Initialize, request, context)
        assert refused.value.code == "invalid_request"
