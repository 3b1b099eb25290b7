"""Operations: what each rpc does to a store, as a function that blocks.

In this order: the caller, the request, whose the namespaces are, the revision, the guards.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable
from contextlib import closing
from dataclasses import asdict
from itertools import islice
from typing import Any

from contract.context import CallContext
from contract.errors import MeshError
from contract.transport import MESSAGE_LIMIT
from providers.state.documents.bounds import NAMESPACE_OWNERS, check_id, invalid
from providers.state.documents.caller import admitted_by, caller_of
from providers.state.documents.inspection import (
    acquired,
    check_resolution,
    check_unguarded,
    namespaces_of,
    receipt_of,
    released,
    resolved,
)
from providers.state.documents.ownership import check_all_owned, check_owned, claimed
from providers.state.documents.page import page_of
from providers.state.documents.query import Query, query_of
from providers.state.documents.revision import following
from providers.state.documents.snapshot import check_same, is_empty, snapshot_of
from providers.state.documents.store import Store, Stored, View
from providers.state.documents.transaction import expect, transaction_of
from wuu.state.documents.v1.documents_pb2 import (
    AcquireInspectionRequest,
    AcquireInspectionResponse,
    ClaimNamespacesRequest,
    ClaimNamespacesResponse,
    CommitRequest,
    CommitResponse,
    CompactRequest,
    CompactResponse,
    Document,
    ExportRequest,
    ExportResponse,
    ImportRequest,
    ImportResponse,
    Inspection,
    ListInspectionsRequest,
    ListInspectionsResponse,
    ReadRequest,
    ReadResponse,
    Receipt,
    ReconcileInspectionRequest,
    ReconcileInspectionResponse,
    ReleaseInspectionRequest,
    ReleaseInspectionResponse,
)

Operation = Callable[[Store, Any, CallContext, str], Any]
"""Does what an rpc asks of a store. The last is the provider's own module."""

LIST, RECONCILE = "state/inspections/list", "state/inspections/reconcile"
"""What the owner admits."""


def read(store: Store, request: ReadRequest, context: CallContext, provider: str) -> ReadResponse:
    """The documents that satisfy the query."""
    caller, query = caller_of(context, request, provider), query_of(request)
    with store.view() as view:
        check_owned(view, (query.namespace,), caller)
        with closing(selected(view, query)) as documents:
            response = ReadResponse(revision=view.revision())
            if query.at_revision is not None:
                expect(query.at_revision, response.revision)
            page = islice(documents, query.limit or None)
            _fill(response, (_add(response, stored) for stored in page), "read it in smaller pages")
            if query.limit and next(documents, None) is not None:
                response.next_cursor = response.documents[-1].key
    return response


def selected(view: View, query: Query) -> Generator[Stored, None, None]:
    """The documents of a state that satisfy the query, its limit aside."""
    if query.keys is None:
        yield from view.scan(query.namespace, query.low, query.high, reverse=query.reverse)
        return
    for key in query.keys:
        value = view.get(query.namespace, key)
        if value is not None:
            yield Stored(query.namespace, key, value)


def commit(store: Store, request: CommitRequest, context: CallContext, provider: str) -> CommitResponse:
    """The receipt of the transaction, now or earlier."""
    caller, transaction = caller_of(context, request, provider), transaction_of(request)
    written = [write.namespace for write in transaction.writes]
    with store.ledger() as ledger:
        check_owned(ledger, written, caller)
        recorded = ledger.receipt(transaction.id)
        if recorded is not None:
            receipt = transaction.confirm(recorded)
        else:
            receipt = transaction.settle(ledger.revision())
            check_unguarded(ledger.held(), written)
            ledger.apply(transaction, receipt)
    return CommitResponse(**asdict(receipt))


def export(store: Store, request: ExportRequest, context: CallContext, provider: str) -> ExportResponse:
    """The whole store, or a page of it."""
    caller = caller_of(context, request, provider)
    with store.view() as view:
        if request.HasField("page"):
            return page_of(view, request.page, caller)
        check_all_owned(view, caller)
        remedy = "export it in pages"
        with closing(view.documents()) as documents, closing(view.receipts()) as receipts:
            response = ExportResponse(revision=view.revision())
            _fill(response, (_add(response, stored) for stored in documents), remedy)
            _fill(response, (response.receipts.add(**asdict(receipt)) for receipt in receipts), remedy)
    return response


def compact(store: Store, request: CompactRequest, context: CallContext, provider: str) -> CompactResponse:
    """Gives space back."""
    caller_of(context, request, provider)
    done = store.compact()
    with store.view() as view:
        return CompactResponse(revision=view.revision(), **done._asdict())


def import_(store: Store, request: ImportRequest, context: CallContext, provider: str) -> ImportResponse:
    """Takes in a whole snapshot."""
    snapshot = snapshot_of(request, caller_of(context, request, provider))
    with store.ledger() as ledger:
        if is_empty(ledger):
            ledger.fill(snapshot)
        else:
            check_same(ledger, snapshot)
    return ImportResponse(
        revision=snapshot.revision, documents=len(snapshot.documents), receipts=len(snapshot.receipts)
    )


def claim_namespaces(
    store: Store, request: ClaimNamespacesRequest, context: CallContext, provider: str
) -> ClaimNamespacesResponse:
    """Makes namespaces the caller's."""
    caller, namespaces = caller_of(context, request, provider), namespaces_of(request.namespaces)
    if NAMESPACE_OWNERS in namespaces:
        raise invalid("/namespaces", f"'{NAMESPACE_OWNERS}' belongs to the store")
    with store.ledger() as ledger:
        revision = ledger.revision()
        writes = claimed(ledger, namespaces, caller)
        if writes:
            check_unguarded(ledger.held(), [NAMESPACE_OWNERS, *(write.key for write in writes)])
            revision = following(revision)
            ledger.claim(writes, revision)
    return ClaimNamespacesResponse(namespaces=namespaces, revision=revision)


def acquire_inspection(
    store: Store, request: AcquireInspectionRequest, context: CallContext, provider: str
) -> AcquireInspectionResponse:
    """Sets a guard."""
    caller = caller_of(context, request, provider)
    check_id(request.id, "/id")
    namespaces = namespaces_of(request.namespaces)
    with store.ledger() as ledger:
        check_owned(ledger, namespaces, caller)
        recorded = ledger.inspection(request.id)
        guard = acquired(recorded, request, caller.module, ledger.revision())
        if guard != recorded:
            ledger.keep(guard)
    return AcquireInspectionResponse(id=guard.id, namespaces=guard.namespaces, revision=guard.revision)


def release_inspection(
    store: Store, request: ReleaseInspectionRequest, context: CallContext, provider: str
) -> ReleaseInspectionResponse:
    """Lets go of a guard, and seals its id."""
    caller = caller_of(context, request, provider)
    check_id(request.id, "/id")
    with store.ledger() as ledger:
        recorded = ledger.inspection(request.id)
        guard = released(recorded, request.id, caller.module, ledger.revision())
        if guard != recorded:
            ledger.keep(guard)
    return ReleaseInspectionResponse()


def list_inspections(
    store: Store, request: ListInspectionsRequest, context: CallContext, provider: str
) -> ListInspectionsResponse:
    """The guards that are held."""
    admitted_by(context, request, LIST)
    with store.view() as view:
        held = view.held()
    listed = (Inspection(id=guard.id, owner=guard.owner, namespaces=guard.namespaces) for guard in held)
    return ListInspectionsResponse(provider=provider, inspections=listed)


def reconcile_inspection(
    store: Store, request: ReconcileInspectionRequest, context: CallContext, provider: str
) -> ReconcileInspectionResponse:
    """Ends the guard of a holder that is gone, with evidence."""
    reconciler = admitted_by(context, request, RECONCILE)
    check_resolution(request)
    with store.ledger() as ledger:
        recorded = ledger.inspection(request.id)
        guard = resolved(recorded, request, reconciler)
        if guard != recorded:
            ledger.keep(guard)
    return receipt_of(guard)


def _add(response: ReadResponse | ExportResponse, stored: Stored) -> Document:
    document = response.documents.add(namespace=stored.namespace, key=stored.key)
    document.value.utf8 = stored.value
    return document


def _fill(response: ReadResponse | ExportResponse, added: Iterable[Document | Receipt], remedy: str) -> None:
    """Adds until nothing is left, or until the response cannot be sent: memory stays bounded by a frame."""
    size = response.ByteSize()
    for entry in added:
        size += entry.ByteSize()
        _check_size(size, remedy)
    _check_size(response.ByteSize(), remedy)


def _check_size(size: int, remedy: str) -> None:
    if size > MESSAGE_LIMIT:
        raise MeshError(
            "limit_exceeded", f"the answer is larger than {MESSAGE_LIMIT} bytes: {remedy}", remedy=remedy
        )
