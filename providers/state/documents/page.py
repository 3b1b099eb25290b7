"""A page of an export: as many items as its budget has room for, and at least one.

The budget counts the UTF-8 JSON of the page as it stands at the edge. A single item may exceed it; the
largest message is the only hard bound. Source: 权威存储与部署拓扑.
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import closing
from dataclasses import asdict
from itertools import islice
from typing import TYPE_CHECKING

from contract.errors import MeshError
from contract.transcoder.write import to_json
from contract.transport import MESSAGE_LIMIT
from providers.state.documents.bounds import check_key, check_namespace, check_revision, invalid
from providers.state.documents.ownership import check_all_owned
from providers.state.documents.transaction import expect
from wuu.state.documents.v1.documents_pb2 import (
    Document,
    ExportPageRequest,
    ExportResponse,
    ExportSection,
)
from wuu.state.documents.v1.documents_pb2 import Receipt as ReceiptMessage

if TYPE_CHECKING:
    from providers.state.documents.caller import Caller
    from providers.state.documents.store import View

FORMAT = "page.v1"

LARGEST_TARGET = 32 << 20
"""Bytes that a page may be asked to have."""

MOST_ITEMS = 10_000

_DOCUMENTS = ExportSection.EXPORT_SECTION_DOCUMENTS
_RECEIPTS = ExportSection.EXPORT_SECTION_RECEIPTS


def page_of(view: View, request: ExportPageRequest, caller: Caller) -> ExportResponse:
    """The page that a request asks for.

    Raises `invalid_params`, `invalid_request` for a budget that is none, `state_conflict`, `limit_exceeded`,
    `namespace_ownership`.
    """
    _check(request)
    check_all_owned(view, caller)
    identity, revision = view.identity(), view.revision()
    if request.HasField("at_revision"):
        expect(request.at_revision, revision)
        if request.generation != identity.generation:
            raise MeshError(
                "state_conflict", "the store was made anew since the first page", revision=revision
            )
    response = ExportResponse(
        format=FORMAT,
        revision=revision,
        generation=identity.generation,
        section=request.section,
        done=False,
    )
    room = request.target_bytes - len(to_json(response))
    if room < 0:
        raise MeshError(
            "invalid_request",
            f"/page/target_bytes: the outer fields alone take {request.target_bytes - room} bytes",
        )
    items = _items(view, request)
    added = response.documents if request.section == _DOCUMENTS else response.receipts
    with closing(items):
        for item in islice(items, request.max_items):
            size = len(to_json(item)) + bool(added)
            if added and size > room:
                break
            added.append(item)  # type: ignore[arg-type]
            room -= size
            if len(added) == request.max_items:
                response.done = next(items, None) is None
                break
        else:
            response.done = True
    if response.ByteSize() > MESSAGE_LIMIT:
        raise MeshError("limit_exceeded", f"a single record is larger than {MESSAGE_LIMIT} bytes")
    return response


def _items(view: View, request: ExportPageRequest) -> Generator[Document | ReceiptMessage, None, None]:
    after = request.after if request.HasField("after") else None
    if request.section == _DOCUMENTS:
        with closing(view.documents((after.namespace, after.key) if after else None)) as documents:
            for stored in documents:
                document = Document(namespace=stored.namespace, key=stored.key)
                document.value.utf8 = stored.value
                yield document
    else:
        with closing(view.receipts(after.revision if after else None)) as receipts:
            for receipt in receipts:
                yield ReceiptMessage(**asdict(receipt))


def _check(request: ExportPageRequest) -> None:
    if request.section not in (_DOCUMENTS, _RECEIPTS):
        raise invalid("/page/section", "must be documents or receipts")
    for field, value, most in (
        ("target_bytes", request.target_bytes, LARGEST_TARGET),
        ("max_items", request.max_items, MOST_ITEMS),
    ):
        if not 1 <= value <= most:
            raise MeshError("invalid_request", f"/page/{field}: must be from 1 to {most}, not {value}")
    bound = (request.HasField("at_revision"), request.HasField("generation"))
    if bound[0]:
        check_revision(request.at_revision, "/page/at_revision")
    if bound[0] != bound[1]:
        raise invalid("/page", "at_revision and generation stand together")
    if not bound[0] and (request.HasField("after") or request.section == _RECEIPTS):
        raise invalid("/page", "every page but the first of documents names at_revision and generation")
    if request.HasField("after"):
        _check_cursor(request)


def _check_cursor(request: ExportPageRequest) -> None:
    after = request.after
    if request.section == _DOCUMENTS:
        if after.HasField("revision"):
            raise invalid("/page/after/revision", "the cursor of documents is a namespace and a key")
        check_namespace(after.namespace, "/page/after/namespace")
        check_key(after.key, "/page/after/key")
    else:
        if after.HasField("namespace") or after.HasField("key"):
            raise invalid("/page/after", "the cursor of receipts is a revision")
        check_revision(after.revision, "/page/after/revision")
