"""Messages in the four shapes, from clients of every language to providers of every language."""

from __future__ import annotations

import asyncio
import itertools

import msgspec

from tests.interop.client import Client, answers
from tests.interop.python.orders import reported
from tests.interop.python.wire import Meeting

MIB = 1024 * 1024

NO_PROTOBUF = b"\xff\xff\xff\xff no protobuf \x00"
"""Bytes that no message can be parsed from."""

_meetings = itertools.count()


async def test_a_unary_call_passes_byte_for_byte(client: Client, service: str) -> None:
    assert answers(await client.call(service, "Unary", NO_PROTOBUF)) == [NO_PROTOBUF]


async def test_an_empty_message_is_a_message(client: Client, service: str) -> None:
    assert answers(await client.call(service, "Unary", b"")) == [b""]
    assert answers(await client.call(service, "Both", b"", b"", b"")) == [b"", b"", b""]


async def test_a_stream_of_requests_passes_in_order(client: Client, service: str) -> None:
    requests = [NO_PROTOBUF, b"", *(f"{n} ".encode() for n in range(200))]
    assert answers(await client.call(service, "Gather", *requests)) == [b"".join(requests)]
    assert answers(await client.call(service, "Gather")) == [b""]


async def test_a_stream_of_responses_passes_in_order(client: Client, service: str) -> None:
    asked = NO_PROTOBUF + bytes(range(256))
    assert answers(await client.call(service, "Scatter", asked)) == [bytes((byte,)) for byte in asked]
    assert answers(await client.call(service, "Scatter", b"")) == []


async def test_a_stream_each_way_passes_message_by_message(client: Client, service: str) -> None:
    """A client sends its next request once it has the answer to the one before."""
    requests = [b"." * n for n in range(50)]
    assert answers(await client.call(service, "Both", *requests)) == requests
    assert answers(await client.call(service, "Both")) == []


async def test_an_answer_may_come_before_the_request_has_ended(client: Client, service: str) -> None:
    """What is still on its way goes nowhere, and neither end waits for it."""
    outcome = await client.call(
        service, "First", *(f"{n} mesh ".encode() for n in range(16)), repeat=MIB // 8
    )
    assert answers(outcome) == [b"%d" % (7 * MIB // 8)]
    assert answers(await client.call(service, "Unary", b"still there")) == [b"still there"]


async def test_messages_of_8_mib_pass_both_ways(client: Client, service: str) -> None:
    large = reported(b"wuu mesh" * MIB)
    unary = await client.call(service, "Unary", b"wuu mesh", repeat=MIB)
    assert (unary.code, unary.answers) == (0, [large]), unary.message
    both = await client.call(service, "Both", b"wuu mesh", b"wuu mesh", repeat=MIB)
    assert (both.code, both.answers) == (0, [large, large]), both.message


async def test_200_calls_are_in_flight_on_one_connection_at_once(client: Client, service: str) -> None:
    """None of them is answered before the last one has arrived."""
    key = f"{service} {next(_meetings)}"
    # White space tells them apart, so that an answer can only be that of its own call.
    requests = [msgspec.json.encode(Meeting(key, 200)) + b" " * n for n in range(200)]
    calls = [client.begin(service, "Meet", request) for request in requests]
    outcomes = await asyncio.gather(*(call.outcome() for call in calls))
    assert [answers(outcome) for outcome in outcomes] == [[request] for request in requests]


async def test_large_messages_at_once_wait_for_each_other(client: Client, service: str) -> None:
    """Together they are more than any buffer on their way has room for."""
    calls = [client.begin(service, "Unary", b"%08d" % n, repeat=MIB // 32) for n in range(100)]
    outcomes = await asyncio.gather(*(call.outcome() for call in calls))
    for n, outcome in enumerate(outcomes):
        assert outcome.code == 0, outcome
        assert outcome.answers == [reported(b"%08d" % n * (MIB // 32))]


async def test_streams_at_once_never_get_the_messages_of_others(client: Client, service: str) -> None:
    asked = [[f"{number} ".encode() * 500] * (number % 5) for number in range(50)]
    outcomes = await asyncio.gather(*(client.call(service, "Both", *requests) for requests in asked))
    assert [answers(outcome) for outcome in outcomes] == asked


async def test_a_compressed_request_arrives_as_it_was(client: Client, service: str) -> None:
    request = b"again and again, " * 1000
    assert answers(await client.call(service, "Unary", request, gzip=True)) == [request]
    assert answers(await client.call(service, "Gather", request, b"", request, gzip=True)) == [request * 2]


async def test_a_compressed_answer_arrives_as_it_was(client: Client, service: str) -> None:
    request = b"again and again, " * 1000
    assert answers(await client.call(service, "Press", request)) == [request]
    assert answers(await client.call(service, "Press", request, gzip=True)) == [request]
