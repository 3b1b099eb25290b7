"""Ownership: what a module has claimed nobody else reads, writes, guards or exports."""

from __future__ import annotations

import secrets

import msgspec
import pytest

from providers.state.documents.bounds import NAMESPACE_OWNERS
from tests.state.conftest import Make
from tests.state.instance import Instance, Place, keys_of, refused, stewardship, transaction, write
from wuu.mesh.v1.context_pb2 import Phase
from wuu.state.documents.v1 import documents_pb2 as pb


def named() -> str:
    """A namespace that no other test has."""
    return f"o-{secrets.token_hex(6)}"


async def claim(store: Instance, *namespaces: str, caller: str = "owner") -> pb.ClaimNamespacesResponse:
    answer: pb.ClaimNamespacesResponse = await store.ask(
        pb.ClaimNamespacesRequest(namespaces=namespaces), caller=caller
    )
    return answer


async def put(store: Instance, namespace: str, key: str, value: bytes, caller: str) -> None:
    revision = (await store.read("none", keys=[])).revision
    await store.ask(transaction(secrets.token_hex(8), revision, write(namespace, key, value)), caller=caller)


async def test_a_claim_raises_the_revision_once_and_stands_in_the_registry(make: Make, place: Place) -> None:
    store = await make(place).start()
    claimed = await claim(store, "mine", "also")
    assert (list(claimed.namespaces), claimed.revision) == (["mine", "also"], "1")
    assert (await claim(store, "also", "mine")).revision == "1"
    registry = await store.read(NAMESPACE_OWNERS)
    assert keys_of(registry) == ["also", "mine"]
    assert msgspec.json.decode(registry.documents[1].value.utf8) == {
        "version": 1,
        "namespace": "mine",
        "owner": "owner",
    }
    await store.kill()
    second = await make(place).start()
    with refused("namespace_ownership", "owner"):
        await second.read("mine")


@pytest.mark.parametrize("phase", [Phase.PHASE_ACTIVE, Phase.PHASE_PREPARATION])
async def test_nobody_else_comes_to_what_is_owned(make: Make, place: Place, phase: Phase) -> None:
    store = await make(place).start()
    await claim(store, "mine")
    await put(store, "mine", "a", b"1", "owner")
    for request in (
        pb.ReadRequest(namespace="mine"),
        transaction("t", "2", write("free", "a", b"1"), write("mine", "a", b"2")),
        pb.AcquireInspectionRequest(id="g", namespaces=["free", "mine"]),
        pb.ClaimNamespacesRequest(namespaces=["free", "mine"]),
        pb.ExportRequest(),
        pb.ExportRequest(
            page=pb.ExportPageRequest(section="EXPORT_SECTION_DOCUMENTS", target_bytes=1000, max_items=9)
        ),
    ):
        with refused("namespace_ownership", "mine", "owner"):
            await store.ask(request, phase=phase)
    mine = await store.ask(pb.ReadRequest(namespace="mine"), caller="owner")
    assert mine.documents[0].value.utf8 == b"1"
    assert len((await store.ask(pb.ExportRequest(), caller="owner")).documents) == 2
    # Nothing of what was refused was done.
    assert mine.revision == "2"
    assert not (await store.read("free")).documents


async def test_what_has_documents_and_no_owner_is_migrated_and_never_taken(store: Instance) -> None:
    namespace = named()
    await store.put(namespace, a=b"1")
    with refused("namespace_ownership", "migrated"):
        await claim(store, namespace)
    assert (await store.read(namespace)).documents


async def test_no_commit_writes_the_registry_and_nobody_claims_it(store: Instance) -> None:
    revision = (await store.read("none", keys=[])).revision
    with refused("namespace_ownership"):
        await store.commit(transaction(secrets.token_hex(8), revision, write(NAMESPACE_OWNERS, "n", b"{}")))
    with refused("invalid_params"):
        await claim(store, NAMESPACE_OWNERS)
    with refused("invalid_params"):
        await claim(store)


async def test_a_guard_holds_off_a_claim(make: Make, place: Place) -> None:
    store = await make(place).start()
    namespace, guard = named(), named()
    await store.ask(pb.AcquireInspectionRequest(id=guard, namespaces=[namespace]))
    with refused("inspection_active", guard):
        await claim(store, namespace)
    await store.ask(pb.ReleaseInspectionRequest(id=guard))
    await claim(store, namespace)


async def test_the_steward_verifies_everything_and_writes_nothing(make: Make, place: Place) -> None:
    store = await make(place).start()
    await claim(store, "mine")
    read, export = pb.ReadRequest(namespace="mine"), pb.ExportRequest()
    await store.ask(read, stewardship=stewardship(place, "verify", read))
    await store.ask(export, stewardship=stewardship(place, "verify", export))
    commit = transaction("t", "1", write("free", "a", b"1"))
    for operation in ("verify", "migration", "made-up"):
        with refused("service_not_authorized", operation):
            await store.ask(commit, stewardship=stewardship(place, operation, commit))
    for wrong in (
        stewardship(place, "verify", read, version=2),
        stewardship(place, "verify", read, provider="another"),
        stewardship(place, "verify", read, input_digest=bytes(32)),
        stewardship(place, "verify", pb.ReadRequest(namespace="other")),
    ):
        with refused("service_not_authorized"):
            await store.ask(read, stewardship=wrong)


async def test_what_is_sent_again_is_sent_for_its_consumer_alone(make: Make, place: Place) -> None:
    store = await make(place).start()
    await claim(store, "mine")
    commit = transaction("t", "1", write("mine", "a", b"1"))
    with refused("namespace_ownership"):
        await store.ask(commit, stewardship=stewardship(place, "recover", commit, consumer="another"))
    await store.ask(commit, stewardship=stewardship(place, "recover", commit, consumer="owner"))
    again = pb.ClaimNamespacesRequest(namespaces=["more"])
    await store.ask(again, stewardship=stewardship(place, "recover", again, consumer="owner"))
    with refused("namespace_ownership"):
        await store.read("more")
    read = pb.ReadRequest(namespace="mine")
    with refused("service_not_authorized"):
        await store.ask(read, stewardship=stewardship(place, "recover", read, consumer="owner"))
