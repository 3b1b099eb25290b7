"""The selection of a query against brute force, over both engines."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from providers.state.documents.query import beyond, query_of
from providers.state.documents.store import Store
from providers.state.documents.transaction import Receipt, Transaction, Write
from providers.state.jsonl.store import JsonlStore
from providers.state.sqlite.store import SqliteStore
from tests.state.instance import read_from
from wuu.state.documents.v1.documents_pb2 import ReadRequest, ReadResponse

LETTERS = ("\x01", "a", "b", "\x7f", "\ud7ff", "\ue000", "\uffff", "\U00010000", "\U0010ffff")
KEYS = [*LETTERS, *("".join(pair) for pair in product(LETTERS, repeat=2))]

texts = st.text(st.sampled_from(LETTERS), max_size=3)
keys = st.text(st.sampled_from(LETTERS), min_size=1, max_size=3)


@st.composite
def requests(draw: st.DrawFn) -> ReadRequest:
    """Any query on a namespace."""
    request = ReadRequest(
        namespace=draw(st.sampled_from(["n", "other", "none"])),
        prefix=draw(st.none() | texts),
        start=draw(st.none() | texts),
        end=draw(st.none() | texts),
        cursor=draw(st.none() | texts),
        reverse=draw(st.booleans()),
        limit=draw(st.sampled_from([0, 1, 3, 10_000])),
    )
    if (named := draw(st.none() | st.lists(keys, max_size=8))) is not None:
        request.keys.keys.extend(named)
        request.keys.SetInParent()
    return request


def satisfies(request: ReadRequest, key: str) -> bool:
    """Whether a key satisfies every condition, each looked at on its own."""
    at = key.encode()
    cursor = request.cursor.encode()
    return (
        (not request.HasField("prefix") or at.startswith(request.prefix.encode()))
        and (not request.HasField("keys") or key in request.keys.keys)
        and (not request.HasField("start") or at >= request.start.encode())
        and (not request.HasField("end") or at < request.end.encode())
        and (not request.HasField("cursor") or (at < cursor if request.reverse else at > cursor))
    )


def brute_force(request: ReadRequest) -> ReadResponse:
    """The answer of a store with all KEYS in the namespace `n`, and one document in `other`."""
    there = {"n": KEYS, "other": ["a"]}.get(request.namespace, [])
    found = sorted((k for k in there if satisfies(request, k)), key=str.encode, reverse=request.reverse)
    page = found[: request.limit] if request.limit else found
    response = ReadResponse(revision="1")
    for key in page:
        response.documents.add(namespace=request.namespace, key=key).value.utf8 = b'"%s"' % key.encode()
    if len(page) < len(found):
        response.next_cursor = page[-1]
    return response


@pytest.fixture(scope="module", params=[SqliteStore, JsonlStore])
def filled(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    """A store with all KEYS."""
    engine: type[Store] = request.param
    path: Path = tmp_path_factory.mktemp(engine.__name__) / "store"
    store = engine.open(path)
    writes = [Write("n", key, b'"%s"' % key.encode()) for key in reversed(KEYS)]
    with store.ledger() as ledger:
        transaction = Transaction("t", "0", (*writes, Write("other", "a", b'"a"')), "digest")
        ledger.apply(transaction, Receipt("t", "1", "digest"))
    yield store
    store.close()


@settings(deadline=None)
@given(request=requests())
def test_a_read_answers_as_brute_force_does(filled: Store, request: ReadRequest) -> None:
    assert read_from(filled, request) == brute_force(request)


@settings(deadline=None)
@given(request=requests(), size=st.integers(1, 40))
def test_pages_together_are_the_whole(filled: Store, request: ReadRequest, size: int) -> None:
    request.limit = 0
    whole = read_from(filled, request)
    request.limit = size
    paged: list[str] = []
    while True:
        page = read_from(filled, request)
        paged += [document.key for document in page.documents]
        if not page.HasField("next_cursor"):
            break
        assert len(page.documents) == size
        request.cursor = page.next_cursor
    assert paged == [document.key for document in whole.documents]


@settings(deadline=None)
@given(prefix=st.text(), key=st.text())
def test_the_range_of_a_prefix_is_exact(prefix: str, key: str) -> None:
    high = beyond(prefix)
    assert key.startswith(prefix) == (prefix <= key and (high is None or key < high))
    assert (prefix + key).encode() >= prefix.encode()
    assert high is None or (prefix + key).encode() < high.encode()


@settings(deadline=None)
@given(request=requests())
def test_named_keys_are_the_least_that_is_looked_up(request: ReadRequest) -> None:
    query = query_of(request)
    if request.HasField("keys"):
        named = [key for key in set(request.keys.keys) if satisfies(request, key)]
        assert query.keys == tuple(sorted(named, reverse=request.reverse))
    else:
        assert query.keys is None
