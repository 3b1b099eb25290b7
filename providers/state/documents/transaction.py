"""A transaction, the digest of its intent, and the receipt that it leaves."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass

from contract.errors import MeshError
from providers.state.documents.bounds import (
    NAMESPACE_OWNERS,
    check_id,
    check_key,
    check_namespace,
    check_revision,
    check_value,
    invalid,
)
from providers.state.documents.revision import following
from wuu.state.documents.v1.documents_pb2 import CommitRequest
from wuu.state.documents.v1.documents_pb2 import Write as RequestedWrite


@dataclass(frozen=True, slots=True)
class Write:
    """One write of a transaction."""

    namespace: str
    """The namespace of the document."""
    key: str
    """The key of the document."""
    value: bytes | None
    """The new value, as it was written; None removes the document."""


@dataclass(frozen=True, slots=True)
class Receipt:
    """What a commit leaves behind for ever."""

    id: str
    """The transaction."""
    revision: str
    """The revision that it made."""
    digest: str
    """The digest of its intent, in lower-case hex."""


@dataclass(frozen=True, slots=True)
class Transaction:
    """All writes or none, on one revision of the store."""

    id: str
    """Stable and unique for ever."""
    expected_revision: str
    """The revision that it was built on."""
    writes: tuple[Write, ...]
    """At least one; no document twice."""
    digest: str
    """The digest of the intent: see `Receipt` in the proto."""

    def confirm(self, recorded: Receipt) -> Receipt:
        """The receipt under this id, if it is for the same intent; else `state_operation_conflict`."""
        if recorded.digest != self.digest:
            raise MeshError(
                "state_operation_conflict",
                f"transaction '{self.id}' made revision {recorded.revision} with another intent",
                digest=recorded.digest,
            )
        return recorded

    def settle(self, revision: str) -> Receipt:
        """The receipt of this transaction on a store with that revision; else `state_conflict`."""
        expect(self.expected_revision, revision)
        return Receipt(self.id, following(revision), self.digest)


def expect(expected: str, revision: str) -> None:
    """Raises `state_conflict` unless the store has the expected revision."""
    if expected != revision:
        raise MeshError(
            "state_conflict", f"the store is at revision {revision}, not at {expected}", revision=revision
        )


def transaction_of(request: CommitRequest) -> Transaction:
    """The transaction that a request asks for.

    Raises `invalid_params`, or `namespace_ownership` for a write to the reserved namespace.
    """
    check_id(request.id, "/id")
    check_revision(request.expected_revision, "/expected_revision")
    writes = tuple(_write(write, f"/writes/{index}") for index, write in enumerate(request.writes))
    if not writes:
        raise invalid("/writes", "at least one write")
    first: dict[tuple[str, str], int] = {}
    for index, write in enumerate(writes):
        same = first.setdefault((write.namespace, write.key), index)
        if same != index:
            raise invalid(f"/writes/{index}", f"writes the same document as /writes/{same}")
    digest = intent_digest(request.id, request.expected_revision, writes)
    return Transaction(request.id, request.expected_revision, writes, digest)


def intent_digest(transaction: str, expected_revision: str, writes: tuple[Write, ...]) -> str:
    """SHA-256 over the intent, each field preceded by its length in bytes as 8 bytes big-endian."""
    digest = hashlib.sha256()
    for field in _fields(transaction, expected_revision, writes):
        digest.update(len(field).to_bytes(8, "big"))
        digest.update(field)
    return digest.hexdigest()


def _fields(transaction: str, expected_revision: str, writes: tuple[Write, ...]) -> Iterator[bytes]:
    yield transaction.encode()
    yield expected_revision.encode()
    for write in writes:
        yield write.namespace.encode()
        yield write.key.encode()
        yield b"-" if write.value is None else b"=" + write.value


def _write(write: RequestedWrite, pointer: str) -> Write:
    check_namespace(write.namespace, f"{pointer}/namespace")
    check_key(write.key, f"{pointer}/key")
    if write.namespace == NAMESPACE_OWNERS:
        raise MeshError(
            "namespace_ownership",
            f"{pointer}/namespace: '{NAMESPACE_OWNERS}' is reserved; no commit writes it",
            pointer=f"{pointer}/namespace",
        )
    change = write.WhichOneof("change")
    if change == "value":
        check_value(write.value.utf8, f"{pointer}/value")
        return Write(write.namespace, write.key, write.value.utf8)
    if change == "delete" and write.delete:
        return Write(write.namespace, write.key, None)
    raise invalid(pointer, "must have a value, or delete: true")
