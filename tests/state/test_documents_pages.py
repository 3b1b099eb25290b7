"""Pages of an export: within their budget, bound to one state, and together the whole."""

from __future__ import annotations

from typing import Any

import pytest

from contract.errors import MeshError
from contract.transcoder.write import to_json
from tests.state.conftest import Make
from tests.state.instance import Instance, Place, refused, transaction, write
from wuu.state.documents.v1 import documents_pb2 as pb

DOCUMENTS, RECEIPTS = pb.EXPORT_SECTION_DOCUMENTS, pb.EXPORT_SECTION_RECEIPTS


async def filled(make: Make, place: Place) -> Instance:
    """A store with documents of many sizes in an order that is none of UTF-16, and a receipt for each."""
    store = await make(place).start()
    keys = ["a", 'b"\n', "\uffff", "\U00010000", *(f"k{number:02}" for number in range(30))]
    for number, key in enumerate(keys):
        value = b'"' + b"x" * (number * 7 % 200) + b'"'
        await store.commit(transaction(f"t{number}", str(number), write(f"n{number % 3}", key, value)))
    return store


async def scan(store: Instance, target: int, most: int) -> tuple[pb.ExportResponse, list[pb.ExportResponse]]:
    """Everything that the pages have, and the pages."""
    whole, pages = pb.ExportResponse(), list[pb.ExportResponse]()
    bound: dict[str, str] = {}
    for section in (DOCUMENTS, RECEIPTS):
        after, done = None, False
        while not done:
            request = pb.ExportPageRequest(
                section=section, target_bytes=target, max_items=most, after=after, **bound
            )
            page = await store.export(pb.ExportRequest(page=request))
            pages.append(page)
            bound = {"at_revision": page.revision, "generation": page.generation}
            whole.documents.extend(page.documents)
            whole.receipts.extend(page.receipts)
            done = page.done
            assert done or page.documents or page.receipts
            if page.documents:
                last = page.documents[-1]
                after = pb.ExportCursor(namespace=last.namespace, key=last.key)
            elif page.receipts:
                after = pb.ExportCursor(revision=page.receipts[-1].revision)
    whole.revision = pages[0].revision
    return whole, pages


@pytest.mark.parametrize(
    ("target", "most"), [(1 << 20, 10_000), (700, 10_000), (1 << 20, 1), (1 << 20, 7), (250, 3)]
)
async def test_the_pages_are_the_whole_and_keep_to_their_budget(
    make: Make, place: Place, target: int, most: int
) -> None:
    store = await filled(make, place)
    whole, pages = await scan(store, target, most)
    assert whole == await store.export()
    assert len({(page.revision, page.generation, page.format) for page in pages}) == 1
    for page in pages:
        items = len(page.documents) + len(page.receipts)
        assert items <= most
        assert items <= 1 or len(to_json(page)) <= target
    if most > 100 and target > 100_000:
        assert [page.done for page in pages] == [True, True]


async def test_a_single_record_may_pass_its_budget(make: Make, place: Place) -> None:
    store = await make(place).start()
    await store.put("n", a=b'"' + b"x" * 5000 + b'"', b=b"1")
    _, pages = await scan(store, 300, 100)
    assert [len(page.documents) for page in pages[:2]] == [1, 1]
    assert len(to_json(pages[0])) > 5000


async def test_a_budget_that_does_not_hold_the_outer_fields_is_none(store: Instance) -> None:
    with refused("invalid_request", "target_bytes"):
        await scan(store, 20, 10)


@pytest.mark.parametrize(
    ("field", "value"),
    [("target_bytes", 0), ("target_bytes", 33554433), ("max_items", 0), ("max_items", 10_001)],
)
async def test_a_budget_out_of_its_bounds_is_none(store: Instance, field: str, value: int) -> None:
    budget: dict[str, Any] = {"target_bytes": 1000, "max_items": 10, field: value}
    with refused("invalid_request", field):
        await store.export(pb.ExportRequest(page=pb.ExportPageRequest(section=DOCUMENTS, **budget)))


async def test_a_commit_ends_a_scan(make: Make, place: Place) -> None:
    store = await filled(make, place)
    first = await store.export(
        pb.ExportRequest(page=pb.ExportPageRequest(section=DOCUMENTS, target_bytes=1000, max_items=1))
    )
    last = first.documents[-1]
    await store.put("elsewhere", a=b"1")
    following = pb.ExportPageRequest(
        section=DOCUMENTS,
        target_bytes=1000,
        max_items=1,
        after=pb.ExportCursor(namespace=last.namespace, key=last.key),
        at_revision=first.revision,
        generation=first.generation,
    )
    with refused("state_conflict"):
        await store.export(pb.ExportRequest(page=following))
    following.at_revision = (await store.read("none")).revision
    following.generation = "another"
    with refused("state_conflict", "made anew"):
        await store.export(pb.ExportRequest(page=following))


@pytest.mark.parametrize(
    "page",
    [
        {"section": 0},
        {"section": RECEIPTS},
        {"section": DOCUMENTS, "after": pb.ExportCursor(namespace="n", key="k")},
        {"section": DOCUMENTS, "at_revision": "1"},
        {"section": DOCUMENTS, "generation": "g"},
        {"section": DOCUMENTS, "at_revision": "01", "generation": "g"},
        {"section": DOCUMENTS, "at_revision": "1", "generation": "g", "after": pb.ExportCursor(revision="1")},
        {"section": DOCUMENTS, "at_revision": "1", "generation": "g", "after": pb.ExportCursor(key="k")},
        {"section": RECEIPTS, "at_revision": "1", "generation": "g", "after": pb.ExportCursor(namespace="n")},
    ],
    ids=str,
)
async def test_a_page_that_is_not_bound_as_it_must_be_is_refused(
    store: Instance, page: dict[str, object]
) -> None:
    request = pb.ExportPageRequest(target_bytes=1000, max_items=10, **page)  # type: ignore[arg-type]
    with pytest.raises(MeshError) as caught:
        await store.export(pb.ExportRequest(page=request))
    assert caught.value.code == "invalid_params"
    assert caught.value.details["pointer"].startswith("/page")
