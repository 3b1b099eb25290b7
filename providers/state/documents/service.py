"""The service: what each rpc does to a store, and the thread that it is done in."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Generator, Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from contextvars import copy_context
from dataclasses import asdict
from itertools import islice
from pathlib import Path
from typing import ParamSpec, TypeVar

from contract.errors import MeshError
from contract.transport import MESSAGE_LIMIT
from provider_kit import Call
from providers.state.documents.query import Query, query_of
from providers.state.documents.store import Store, Stored, View, refused
from providers.state.documents.transaction import expect, transaction_of
from wuu.state.documents.v1.documents_pb2 import (
    CommitRequest,
    CommitResponse,
    Document,
    ExportRequest,
    ExportResponse,
    ReadRequest,
    ReadResponse,
    Receipt,
)

log = logging.getLogger(__name__)

P = ParamSpec("P")
T = TypeVar("T")


class Documents:
    """Serves `state.documents@1` from one store.

    All that blocks runs in one thread, in the order of arrival. A call that is cancelled while it waits is
    never begun; one that has begun is finished, whoever still listens.
    """

    def __init__(self, engine: type[Store], path: Path) -> None:
        self.path = path
        self._engine = engine
        self._store: Store | None = None
        self._thread = ThreadPoolExecutor(1, "store")

    async def check(self) -> None:
        """See `Store.check`."""
        await self._run(check, self._engine, self.path)

    async def open(self) -> None:
        """Opens the store; until then every rpc is `host_error`."""
        self._store = await self._run(self._engine.open, self.path)
        log.info("store opened", extra={"path": str(self.path)})

    async def close(self) -> None:
        """Closes the store after everything that was begun."""
        store, self._store = self._store, None
        if store is not None:
            await self._run(store.close)

    async def read(self, request: ReadRequest, call: Call) -> ReadResponse:
        """See the proto."""
        return await self._run(read, self._opened(), request)

    async def commit(self, request: CommitRequest, call: Call) -> CommitResponse:
        """See the proto."""
        return await self._run(commit, self._opened(), request)

    async def export(self, request: ExportRequest, call: Call) -> ExportResponse:
        """See the proto."""
        return await self._run(export, self._opened(), request)

    def _opened(self) -> Store:
        if self._store is None:
            raise MeshError("host_error", f"the store at {self.path} is not open: the instance is not active")
        return self._store

    async def _run(self, work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        loop = asyncio.get_running_loop()
        context = copy_context()
        return await loop.run_in_executor(self._thread, lambda: context.run(work, *args, **kwargs))


def check(engine: type[Store], path: Path) -> None:
    """Refuses a path that no store could be opened at. Writes nothing."""
    if not path.parent.is_dir():
        remedy = f"Make the directory {path.parent}, or correct `path` in the config of the module."
        raise refused(path, "its directory does not exist", remedy)
    engine.check(path)


def read(store: Store, request: ReadRequest) -> ReadResponse:
    """The documents that satisfy the query."""
    query = query_of(request)
    with store.view() as view, closing(selected(view, query)) as documents:
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


def commit(store: Store, request: CommitRequest) -> CommitResponse:
    """The receipt of the transaction, now or earlier."""
    transaction = transaction_of(request)
    with store.ledger() as ledger:
        recorded = ledger.receipt(transaction.id)
        if recorded is not None:
            receipt = transaction.confirm(recorded)
        else:
            receipt = transaction.settle(ledger.revision())
            ledger.apply(transaction, receipt)
    return CommitResponse(**asdict(receipt))


def export(store: Store, request: ExportRequest) -> ExportResponse:
    """The whole store."""
    if request.HasField("page"):
        raise MeshError("invalid_request", "/page: this provider does not declare paged_export")
    remedy = "select a provider that declares paged_export"
    with store.view() as view, closing(view.documents()) as documents, closing(view.receipts()) as receipts:
        response = ExportResponse(revision=view.revision())
        _fill(response, (_add(response, stored) for stored in documents), remedy)
        _fill(response, (response.receipts.add(**asdict(receipt)) for receipt in receipts), remedy)
    return response


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
