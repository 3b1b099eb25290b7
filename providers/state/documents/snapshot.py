"""A snapshot: everything that a store holds, as an export gave it, and whether it may be taken in.

Source: 有界文档查询与持久化结果, 消费者拥有的权威命名空间.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import chain, zip_longest
from typing import TYPE_CHECKING

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
from providers.state.documents.ownership import read_owner
from providers.state.documents.revision import EMPTY, is_before
from providers.state.documents.store import Stored, View
from providers.state.documents.transaction import Receipt
from wuu.state.documents.v1.documents_pb2 import ImportRequest

if TYPE_CHECKING:
    from providers.state.documents.caller import Caller

_DIGEST = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True, slots=True)
class Snapshot:
    """What is to be taken in."""

    revision: str
    documents: tuple[Stored, ...]
    """By namespace and key."""
    receipts: tuple[Receipt, ...]
    """By revision."""


def snapshot_of(request: ImportRequest, caller: Caller) -> Snapshot:
    """The snapshot that a request brings.

    Raises `invalid_params` for one that is damaged, and `namespace_ownership` for one that says that a
    namespace is another's, where no migration was admitted.
    """
    check_revision(request.revision, "/revision")
    documents: list[Stored] = []
    for index, document in enumerate(request.documents):
        at = f"/documents/{index}"
        check_namespace(document.namespace, f"{at}/namespace")
        check_key(document.key, f"{at}/key")
        check_value(document.value.utf8, f"{at}/value")
        if documents and (documents[-1].namespace, documents[-1].key) >= (document.namespace, document.key):
            raise invalid(at, "documents stand by namespace and key, each once")
        if document.namespace == NAMESPACE_OWNERS:
            _check_owner(document.key, document.value.utf8, f"{at}/value", caller)
        documents.append(Stored(document.namespace, document.key, document.value.utf8))
    receipts: list[Receipt] = []
    ids: set[str] = set()
    for index, said in enumerate(request.receipts):
        at = f"/receipts/{index}"
        check_id(said.id, f"{at}/id")
        check_revision(said.revision, f"{at}/revision")
        if not _DIGEST.fullmatch(said.digest):
            raise invalid(f"{at}/digest", "must be SHA-256 in lower-case hex")
        before = receipts[-1].revision if receipts else EMPTY
        if not is_before(before, said.revision) or is_before(request.revision, said.revision):
            raise invalid(f"{at}/revision", "receipts stand by revision, up to that of the snapshot")
        if said.id in ids:
            raise invalid(f"{at}/id", f"'{said.id}' stands twice")
        ids.add(said.id)
        receipts.append(Receipt(said.id, said.revision, said.digest))
    if request.revision == EMPTY and documents:
        raise invalid("/revision", "an empty store has no documents")
    return Snapshot(request.revision, tuple(documents), tuple(receipts))


def is_empty(view: View) -> bool:
    """Whether nothing was ever done to a store."""
    return view.revision() == EMPTY and next(view.documents(), None) is None and not view.held()


def check_same(view: View, snapshot: Snapshot) -> None:
    """Raises `state_conflict` unless the store holds the snapshot and nothing else."""
    mine = chain(view.documents(), view.receipts())
    its = chain(snapshot.documents, snapshot.receipts)
    if view.revision() != snapshot.revision or any(one != other for one, other in zip_longest(mine, its)):
        raise MeshError(
            "state_conflict",
            f"the store is at revision {view.revision()} and holds something else",
            remedy="Import into a store that nothing was ever committed to.",
        )


def _check_owner(key: str, value: bytes, at: str, caller: Caller) -> None:
    try:
        owner = read_owner(key, value)
    except ValueError as damaged:
        raise invalid(at, f"not the owner of a namespace: {damaged}") from None
    if owner != caller.module and not caller.migrates:
        raise MeshError(
            "namespace_ownership",
            f"{at}: '{key}' belongs to {owner}, and no migration was admitted",
            namespace=key,
            owner=owner,
        )
