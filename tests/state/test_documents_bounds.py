"""Requests that break a rule: each has its code, and the message says where and what."""

from __future__ import annotations

from typing import Any

import pytest

from contract.context import CONTEXT_KEY
from contract.errors import MeshError
from tests.state.instance import Instance, keys_of, refused, transaction, write
from wuu.mesh.v1.json_pb2 import Json
from wuu.state.documents.v1 import documents_pb2 as pb

LONGEST_NAMESPACE = "é" * 512
LONGEST_KEY = "é" * 2048
LONGEST_ID = "é" * 128

BAD_READS: dict[str, dict[str, Any]] = {
    "/namespace: must not be empty": {"namespace": ""},
    "/namespace: must not contain NUL": {"namespace": "a\0b"},
    "/namespace: at most 1024": {"namespace": LONGEST_NAMESPACE + "x"},
    "/keys/1: must not be empty": {"keys": ["a", ""]},
    "/keys/0: at most 4096": {"keys": [LONGEST_KEY + "x"]},
    "/limit: must be from 0 to 10000, not -1": {"limit": -1},
    "/limit: must be from 0 to 10000, not 10001": {"limit": 10_001},
    "/at_revision: must be a decimal string": {"at_revision": "01"},
}

GOOD = write("bounds", "a", b"1")

BAD_COMMITS: dict[str, pb.CommitRequest] = {
    "/id: must not be empty": transaction("", "0", GOOD),
    "/id: must not contain NUL": transaction("a\0", "0", GOOD),
    "/id: at most 256": transaction(LONGEST_ID + "x", "0", GOOD),
    "/expected_revision: must be a decimal string": transaction("bounds", "", GOOD),
    "/writes: at least one": transaction("bounds", "0"),
    "/writes/0/namespace: must not be empty": transaction("bounds", "0", write("", "a", b"1")),
    "/writes/1/namespace: at most 1024": transaction(
        "bounds", "0", GOOD, write(LONGEST_NAMESPACE + "x", "a", b"1")
    ),
    "/writes/0/key: must not be empty": transaction("bounds", "0", write("bounds", "", b"1")),
    "/writes/0/key: must not contain NUL": transaction("bounds", "0", write("bounds", "\0", None)),
    "/writes/0/key: at most 4096": transaction("bounds", "0", write("bounds", LONGEST_KEY + "x", None)),
    "/writes/2: writes the same document as /writes/0": transaction(
        "bounds", "0", GOOD, write("bounds", "b", b"1"), write("bounds", "a", None)
    ),
    "/writes/0: must have a value": transaction("bounds", "0", pb.Write(namespace="bounds", key="a")),
    "/writes/0: must have a value, or": transaction(
        "bounds", "0", pb.Write(namespace="bounds", key="a", delete=False)
    ),
    "/writes/0/value: must be a JSON value": transaction("bounds", "0", write("bounds", "a", b"")),
}

BAD_REVISIONS = ("", " 1", "1 ", "+1", "-1", "01", "00", "1.0", "1e3", "0x1", "١", "one")

BAD_VALUES = (
    b" ",
    b"{",
    b"{} {}",
    b"[1,]",
    b"01",
    b"NaN",
    b"nul",
    b"'a'",
    b'"a\nb"',
    b'"\xff"',
    b"\xef\xbb\xbf1",
    b"1\0",
    b"[" * 100_000 + b"]" * 100_000,
)


@pytest.mark.parametrize("rule", BAD_READS)
async def test_a_read_out_of_bounds_is_refused(store: Instance, rule: str) -> None:
    with refused("invalid_params", rule):
        await store.read(**({"namespace": "bounds"} | BAD_READS[rule]))


@pytest.mark.parametrize("rule", BAD_COMMITS)
async def test_a_commit_out_of_bounds_is_refused(store: Instance, rule: str) -> None:
    with refused("invalid_params", rule):
        await store.commit(BAD_COMMITS[rule])


async def test_an_error_points_to_the_field(store: Instance) -> None:
    with pytest.raises(MeshError) as refusal:
        await store.commit(transaction("bounds", "0", GOOD, write("bounds", "", b"1")))
    assert refusal.value.details["pointer"] == "/writes/1/key"


async def test_a_revision_has_one_spelling(store: Instance) -> None:
    for revision in BAD_REVISIONS:
        with refused("invalid_params", "/at_revision"):
            await store.read("bounds", at_revision=revision)
        with refused("invalid_params", "/expected_revision"):
            await store.commit(transaction("bounds", revision, GOOD))


async def test_a_revision_has_no_bound(store: Instance) -> None:
    # More digits than Python would turn into an integer.
    with refused("state_conflict"):
        await store.read("bounds", at_revision="9" * 10_000)
    with refused("state_conflict"):
        await store.commit(transaction("bounds", "9" * 10_000, GOOD))


async def test_a_value_is_one_json_text(store: Instance) -> None:
    for value in BAD_VALUES:
        with refused("invalid_params", "/writes/0/value"):
            await store.commit(transaction("bounds", "0", write("bounds", "a", value)))


async def test_the_longest_names_are_taken(store: Instance) -> None:
    revision = (await store.read(LONGEST_NAMESPACE, keys=[])).revision
    await store.commit(transaction(LONGEST_ID, revision, write(LONGEST_NAMESPACE, LONGEST_KEY, b"1")))
    assert keys_of(await store.read(LONGEST_NAMESPACE, prefix=LONGEST_KEY)) == [LONGEST_KEY]


async def test_the_registry_of_owners_is_written_by_no_commit(store: Instance) -> None:
    owners = "wuu.state.namespace_owners.v1"
    with refused("namespace_ownership", "/writes/1/namespace", owners):
        await store.commit(transaction("bounds", "0", GOOD, write(owners, "a", b"1")))
    assert keys_of(await store.read(owners)) == []


async def test_nothing_of_a_refused_commit_is_kept(store: Instance) -> None:
    before = await store.export()
    bad = pb.Write(namespace="bounds", key="b", value=Json(utf8=b"{"))
    with refused("invalid_params"):
        await store.commit(transaction("bounds", before.revision, GOOD, bad))
    assert await store.export() == before


async def test_a_call_without_a_good_context_is_refused(store: Instance) -> None:
    for metadata in (
        (),
        ((CONTEXT_KEY, b"nonsense"),),
        store.signed(store.context(method="read"), key=bytes(32)),
        store.signed(store.context(method="read", audience="another")),
        store.signed(store.context(method="read", expires_unix_ms=1)),
    ):
        with refused("unauthenticated"):
            await store.call(store.stub.Read, pb.ReadRequest(namespace="bounds"), "read", metadata)
