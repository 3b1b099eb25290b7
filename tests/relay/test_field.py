"""Fields: a header block is split where its fields end, and each means the same in every other block."""

from __future__ import annotations

import pytest
from hpack import Decoder, Encoder
from hypothesis import given
from hypothesis import strategies as st

from router.relay.http2.field import KEPT, Fields, literal
from router.relay.http2.frame import Code, Violation

Read = tuple[bytes, bytes, bytes]

NAMES = st.sampled_from(
    [b":path", b":method", b"content-type", b"grpc-timeout", b"x-bin", b"via"]
) | st.binary(min_size=1, max_size=300)


def reader() -> Fields[Read]:
    return Fields(lambda name, value, raw: (name, value, raw))


def stateless(headers: list[tuple[bytes, bytes]], *, huffman: bool) -> bytes:
    """What an encoder sends to a peer that has no table."""
    encoder = Encoder()
    encoder.header_table_size = 0
    block: bytes = encoder.encode(headers, huffman=huffman)
    return block


@given(st.lists(st.tuples(NAMES, st.binary(max_size=300)), max_size=20), st.booleans())
def test_a_block_is_read_field_by_field(headers: list[tuple[bytes, bytes]], huffman: bool) -> None:
    read = reader().read(stateless(headers, huffman=huffman))
    assert [(name, value) for name, value, _ in read] == headers


@given(st.lists(st.tuples(NAMES, st.binary(max_size=300)), max_size=20), st.booleans())
def test_a_field_passes_on_in_its_own_bytes_and_leaves_nothing_in_a_table(
    headers: list[tuple[bytes, bytes]], huffman: bool
) -> None:
    read = reader().read(stateless(headers, huffman=huffman))
    decoder = Decoder(max_header_list_size=1 << 24)
    # Twice and backwards: no field refers to another.
    block = b"".join(raw for *_, raw in reversed(read))
    for _ in range(2):
        decoded = [(bytes(name), bytes(value)) for name, value in decoder.decode(block, raw=True)]
        assert decoded == headers[::-1]
    assert not decoder.header_table.dynamic_entries


@given(NAMES, st.binary(max_size=300))
def test_a_literal_of_our_own_is_read_by_every_decoder(name: bytes, value: bytes) -> None:
    [(got, said)] = Decoder().decode(literal(name, value), raw=True)
    assert (bytes(got), bytes(said)) == (name, value)


@given(st.binary(max_size=100))
def test_no_block_breaks_the_reader_but_with_a_violation(block: bytes) -> None:
    try:
        reader().read(block)
    except Violation as violation:
        assert violation.code == Code.COMPRESSION_ERROR


@pytest.mark.parametrize(
    "block",
    [
        b"\xbe",  # index 62: the first of a table that has no room
        b"\x80",  # index 0
        b"\x82\x20",  # an update that is not at the beginning
        b"\x3f\xe1\x1f",  # an update to 4096
        b"\x00\x05ab",
        b"\x00\x01a\x7f\xff\xff\xff\xff\xff\x01",
    ],
    ids=["table", "nothing", "late update", "update", "cut", "endless integer"],
)
def test_what_a_peer_without_our_table_may_not_send_is_a_violation(block: bytes) -> None:
    with pytest.raises(Violation) as caught:
        reader().read(block)
    assert caught.value.code == Code.COMPRESSION_ERROR


def test_a_size_update_to_nothing_may_begin_a_block() -> None:
    assert reader().read(b"\x20\x82")[0][:2] == (b":method", b"GET")


def test_what_is_kept_of_fields_is_bounded_and_made_once() -> None:
    made: list[bytes] = []

    def make(_: bytes, value: bytes, __: bytes) -> bytes:
        made.append(value)
        return value

    fields = Fields(make)
    once = literal(b"x", b"once")
    assert fields.read(once + once) == [b"once", b"once"]
    assert made == [b"once"]
    for number in range(KEPT):
        fields.read(literal(b"x", b"%d" % number))
    fields.read(once)
    assert made.count(b"once") == 2
