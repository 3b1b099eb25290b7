"""Messages: they are counted and measured by their prefixes, however their bytes come."""

from __future__ import annotations

from itertools import pairwise
from struct import pack

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contract.transport import MESSAGE_LIMIT
from router.relay.message import Messages, TooLarge, prefixed


@given(st.lists(st.binary(max_size=40), max_size=10), st.lists(st.integers(0, 500), max_size=20))
def test_the_count_does_not_depend_on_how_the_bytes_come(messages: list[bytes], cuts: list[int]) -> None:
    wire = b"".join(map(prefixed, messages))
    places = sorted({0, len(wire), *(cut for cut in cuts if cut < len(wire))})
    counted = Messages()
    for begin, end in pairwise(places):
        counted.take(memoryview(wire[begin:end]))
    assert counted.count == len(messages)
    assert counted.whole


def test_a_message_that_has_begun_is_counted_and_not_whole() -> None:
    counted = Messages()
    counted.take(memoryview(prefixed(b"abc")[:6]))
    assert (counted.count, counted.whole) == (1, False)
    counted.take(memoryview(b"bc\0"))
    assert (counted.count, counted.whole) == (1, False)


@pytest.mark.parametrize("split", range(6))
def test_one_that_is_too_large_is_refused_by_its_prefix_alone(split: int) -> None:
    prefix = pack(">BL", 0, MESSAGE_LIMIT + 1)
    counted = Messages()
    with pytest.raises(TooLarge) as caught:
        for part in (prefix[:split], prefix[split:], b"x"):
            counted.take(memoryview(part))
    assert caught.value.size == MESSAGE_LIMIT + 1
    Messages().take(memoryview(pack(">BL", 0, MESSAGE_LIMIT)))
