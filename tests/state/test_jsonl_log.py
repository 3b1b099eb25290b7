"""The lines of a log, and what an index makes of them."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from providers.state.documents.revision import following
from providers.state.documents.transaction import Receipt, Transaction, Write
from providers.state.jsonl.index import Index, Place
from providers.state.jsonl.record import (
    Damaged,
    LaterVersion,
    announced,
    commit_line,
    first_line,
    is_torn,
    read_line,
    value_of,
)
from tests.state.instance import DATA_SET

names = st.text(st.sampled_from('ab\n"\\é\uffff\U00010000'), min_size=1, max_size=2)
values = st.none() | st.sampled_from([b"1", b'{"a": 1.0,\n "a":2}', b'"\\u2028"', '"\u2028\x7f😀"'.encode()])
writes = st.dictionaries(st.tuples(names, names), values, min_size=1, max_size=4)
few = st.tuples(st.sampled_from(["m", "n"]), st.sampled_from(["a", "\uffff", "\U00010000"]))
histories = st.lists(st.dictionaries(few, values, min_size=1, max_size=4), max_size=8)


def line(changes: dict[tuple[str, str], bytes | None], revision: str) -> bytes:
    """The line of a transaction that makes a revision."""
    rows = tuple(Write(namespace, key, value) for (namespace, key), value in changes.items())
    return commit_line(Transaction(f"t{revision}", "?", rows, "d"), Receipt(f"t{revision}", revision, "d"))


def log_of(history: list[dict[tuple[str, str], bytes | None]], revision: str = "0") -> list[bytes]:
    """The lines of a log."""
    lines = [first_line(revision, DATA_SET)]
    for changes in history:
        revision = following(revision)
        lines.append(line(changes, revision))
    return lines


@settings(deadline=None)
@given(changes=writes)
def test_a_line_is_one_line_of_json_that_keeps_every_byte(
    changes: dict[tuple[str, str], bytes | None],
) -> None:
    whole = line(changes, "7")
    assert whole.count(b"\n") == 1 and whole.endswith(b"\n")
    assert announced(whole) == len(whole)
    assert json.loads(whole)["record"]["revision"] == "7"
    record = read_line(whole)
    assert record.receipt == Receipt("t7", "7", "d")
    read = {
        (namespace, key): None if span is None else value_of(whole[span.offset : span.offset + span.length])
        for namespace, key, span in record.changes(len(whole))
    }
    assert read == changes


@settings(deadline=None)
@given(history=histories)
def test_an_index_says_what_the_history_says(history: list[dict[tuple[str, str], bytes | None]]) -> None:
    lines = log_of(history, "9007199254740993")
    content = b"".join(lines)
    index = Index()
    expected: dict[tuple[str, str], bytes] = {}
    for number, one in enumerate(lines):
        index.take_in(one)
        for place, value in (history[number - 1] if number else {}).items():
            expected.pop(place, None)
            if value is not None:
                expected[place] = value
        # A scan in between makes the index keep its order from then on.
        found = {
            (namespace, key): value_of(content[span.offset : span.offset + span.length])
            for namespace, documents in index.namespaces.items()
            for key, span in documents.scan("", None, reverse=False)
        }
        assert found == expected
        for documents in index.namespaces.values():
            keys = [key for key, _ in documents.scan("", None, reverse=False)]
            assert keys == sorted(keys, key=str.encode)
    assert index.end == len(content)
    assert index.revision == str(9007199254740993 + len(history))
    places = [Place(len(b"".join(lines[:number])), -1) for number in range(1, len(lines))]
    assert list(index.receipts.values()) == places


@settings(deadline=None)
@given(changes=writes, data=st.data())
def test_every_beginning_of_a_line_is_a_tear(
    changes: dict[tuple[str, str], bytes | None], data: st.DataObject
) -> None:
    whole = line(changes, "1")
    cut = data.draw(st.integers(1, len(whole) - 1))
    assert is_torn(whole[:cut], first=False)
    assert is_torn(whole[:cut] + bytes(len(whole) - cut), first=False)
    head = first_line("0", DATA_SET)
    assert is_torn(head[: min(cut, len(head) - 1)], first=True)


@settings(deadline=None)
@given(changes=writes, data=st.data())
def test_every_changed_byte_is_found(
    changes: dict[tuple[str, str], bytes | None], data: st.DataObject
) -> None:
    whole = bytearray(line(changes, "1"))
    place = data.draw(st.integers(0, len(whole) - 1))
    whole[place] ^= data.draw(st.integers(1, 255))
    with pytest.raises(Damaged):
        read_line(bytes(whole))


def test_a_line_that_was_written_whole_is_no_tear() -> None:
    whole = line({("n", "a"): b"1"}, "1")
    assert not is_torn(whole[:-1] + b" ", first=False)
    assert not is_torn(b"a note of somebody that is as long as the head of a line", first=False)
    for other in (b"milk, eggs", b"milk\0eggs", bytes(200), first_line("7", DATA_SET)[:-1]):
        assert not is_torn(other, first=True)


def test_revisions_that_do_not_follow_each_other_are_damage() -> None:
    index = Index()
    index.take_in(first_line("4", DATA_SET))
    with pytest.raises(Damaged, match="revision 6 stands behind revision 4"):
        index.take_in(line({("n", "a"): b"1"}, "6"))


def test_the_first_line_tells_what_the_log_is() -> None:
    with pytest.raises(LaterVersion, match="version 3"):
        Index().take_in(first_line("0", DATA_SET).replace(b'"version":2', b'"version":3'))
    for other in (
        b"{}\n",
        b"hello\n",
        first_line("0", DATA_SET).replace(b"jsonl", b"other"),
        first_line("00", DATA_SET),
    ):
        with pytest.raises(Damaged):
            Index().take_in(other)
