"""What a read selects, and in which order."""

from __future__ import annotations

from tests.state.instance import Instance, keys_of, refused, transaction, values_of, write

LETTERS = ("a", "b", "ba", "bb", "c")
UNICODE = ("z", "é", "\ud7ff", "\ue000", "\uffff", "\U00010000", "\U0010ffff")


async def letters(store: Instance, namespace: str) -> str:
    """A namespace with five documents; gives the revision."""
    await store.put(namespace, **{key: b'"' + key.encode() + b'"' for key in LETTERS})
    return (await store.read(namespace, keys=[])).revision


async def test_a_read_without_conditions_selects_the_namespace_in_key_order(store: Instance) -> None:
    await letters(store, "query.all")
    page = await store.read("query.all")
    assert keys_of(page) == list(LETTERS)
    assert {document.namespace for document in page.documents} == {"query.all"}
    assert not page.HasField("next_cursor")


async def test_reverse_turns_the_order(store: Instance) -> None:
    await letters(store, "query.reverse")
    assert keys_of(await store.read("query.reverse", reverse=True)) == list(reversed(LETTERS))


async def test_an_absent_key_list_selects_all_and_an_empty_one_nothing(store: Instance) -> None:
    await letters(store, "query.keys")
    assert keys_of(await store.read("query.keys", keys=None)) == list(LETTERS)
    assert keys_of(await store.read("query.keys", keys=[])) == []


async def test_named_keys_come_in_key_order_once_each_and_only_where_they_exist(store: Instance) -> None:
    await letters(store, "query.named")
    named = ["c", "a", "nowhere", "a", "bb"]
    assert keys_of(await store.read("query.named", keys=named)) == ["a", "bb", "c"]
    assert keys_of(await store.read("query.named", keys=named, reverse=True)) == ["c", "bb", "a"]


async def test_start_is_included_and_end_is_not(store: Instance) -> None:
    await letters(store, "query.range")
    assert keys_of(await store.read("query.range", start="b", end="bb")) == ["b", "ba"]
    assert keys_of(await store.read("query.range", start="c", end="b")) == []
    assert keys_of(await store.read("query.range", end="")) == []


async def test_all_conditions_intersect(store: Instance) -> None:
    await letters(store, "query.both")
    page = await store.read(
        "query.both", keys=["a", "b", "ba", "bb"], prefix="b", start="ba", end="c", cursor="ba"
    )
    assert keys_of(page) == ["bb"]


async def test_a_cursor_is_exclusive_in_the_direction_of_the_query(store: Instance) -> None:
    await letters(store, "query.cursor")
    assert keys_of(await store.read("query.cursor", cursor="b")) == ["ba", "bb", "c"]
    assert keys_of(await store.read("query.cursor", cursor="b", reverse=True)) == ["a"]
    assert keys_of(await store.read("query.cursor", cursor="bab")) == ["bb", "c"]
    assert keys_of(await store.read("query.cursor", cursor="", reverse=True)) == []


async def test_keys_are_ordered_by_their_utf8_bytes(store: Instance) -> None:
    await store.put("query.unicode", **dict.fromkeys(UNICODE, b"1"))
    assert keys_of(await store.read("query.unicode")) == list(UNICODE)
    # UTF-16 would put the surrogates of U+10000 before U+FFFF.
    assert keys_of(await store.read("query.unicode", start="\uffff")) == list(UNICODE[4:])
    assert keys_of(await store.read("query.unicode", prefix="\ud7ff")) == ["\ud7ff"]
    assert keys_of(await store.read("query.unicode", prefix="\U0010ffff")) == ["\U0010ffff"]


async def test_namespaces_do_not_see_each_other(store: Instance) -> None:
    await store.put("query.one", a=b"1")
    await store.put("query.one.more", b=b"2")
    assert values_of(await store.read("query.one")) == {"a": b"1"}
    assert keys_of(await store.read("query.none")) == []


async def test_a_page_says_where_the_next_begins_only_when_there_is_more(store: Instance) -> None:
    await letters(store, "query.pages")
    first = await store.read("query.pages", limit=2)
    assert (keys_of(first), first.next_cursor) == (["a", "b"], "b")
    second = await store.read("query.pages", limit=2, cursor=first.next_cursor, at_revision=first.revision)
    assert (keys_of(second), second.next_cursor) == (["ba", "bb"], "bb")
    last = await store.read("query.pages", limit=2, cursor=second.next_cursor, at_revision=first.revision)
    assert keys_of(last) == ["c"] and not last.HasField("next_cursor")
    exact = await store.read("query.pages", limit=5)
    assert keys_of(exact) == list(LETTERS) and not exact.HasField("next_cursor")


async def test_pages_go_through_named_keys_and_in_reverse(store: Instance) -> None:
    await letters(store, "query.reverse-pages")
    named = ["a", "b", "x", "c"]
    first = await store.read("query.reverse-pages", keys=named, limit=2, reverse=True)
    assert (keys_of(first), first.next_cursor) == (["c", "b"], "b")
    last = await store.read("query.reverse-pages", keys=named, limit=2, reverse=True, cursor="b")
    assert keys_of(last) == ["a"] and not last.HasField("next_cursor")


async def test_a_commit_anywhere_ends_the_pages_of_the_revision_before(store: Instance) -> None:
    revision = await letters(store, "query.conflict")
    page = await store.read("query.conflict", limit=2, at_revision=revision)
    await store.put("query.elsewhere", a=b"1")
    with refused("state_conflict", revision):
        await store.read("query.conflict", limit=2, cursor=page.next_cursor, at_revision=page.revision)


async def test_a_removed_document_is_not_selected(store: Instance) -> None:
    revision = await letters(store, "query.removed")
    removal = transaction("query-removal", revision, write("query.removed", "ba", None))
    await store.commit(removal)
    assert keys_of(await store.read("query.removed")) == ["a", "b", "bb", "c"]
    await store.put("query.removed", ba=b"1")
    assert keys_of(await store.read("query.removed")) == list(LETTERS)
