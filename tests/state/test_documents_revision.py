"""Revisions and digests, as pure functions."""

from __future__ import annotations

import hashlib

from hypothesis import given, settings
from hypothesis import strategies as st

from providers.state.documents.revision import following, is_revision
from providers.state.documents.transaction import Write, intent_digest

numbers = st.integers(0, 10**60) | st.sampled_from([9, 99, 2**53, 2**63 - 1, 2**64 - 1, 10**30 - 1])


@settings(deadline=None)
@given(number=numbers)
def test_a_commit_raises_the_revision_by_exactly_one(number: int) -> None:
    assert following(str(number)) == str(number + 1)


@settings(deadline=None)
@given(text=st.text(st.sampled_from("0123456789+- ٣"), max_size=6))
def test_a_revision_has_one_spelling(text: str) -> None:
    number = int(text) if text.isascii() and text.isdigit() else None
    assert is_revision(text) == (number is not None and str(number) == text)


def test_the_digest_is_that_of_the_contract() -> None:
    writes = (Write("n", "é", b'{"a": 1}'), Write("m", "b", None))
    fields = [b"id", b"12", b"n", "é".encode(), b'={"a": 1}', b"m", b"b", b"-"]
    framed = b"".join(len(field).to_bytes(8, "big") + field for field in fields)
    assert intent_digest("id", "12", writes) == hashlib.sha256(framed).hexdigest()


write = st.builds(Write, st.text(), st.text(), st.none() | st.binary())
intents = st.tuples(st.text(), st.text(), st.lists(write, max_size=3).map(tuple))


@settings(deadline=None)
@given(one=intents, other=intents)
def test_different_intents_have_different_digests(
    one: tuple[str, str, tuple[Write, ...]], other: tuple[str, str, tuple[Write, ...]]
) -> None:
    assert (intent_digest(*one) == intent_digest(*other)) == (one == other)
