"""Metadata and deadlines, from clients of every language to providers of every language."""

from __future__ import annotations

import time
from base64 import b64decode, b64encode

import msgspec

from contract.context import CONTEXT_KEY
from tests.interop.client import Client, answers
from tests.interop.python.orders import Outcome
from tests.interop.python.wire import INITIAL, TRAILING, Seen
from tests.support.caller import collected
from wuu.mesh.v1.context_pb2 import CallContext, SignedContext


def seen(outcome: Outcome) -> Seen:
    """What the provider saw of the call."""
    (answer,) = answers(outcome)
    return msgspec.json.decode(answer, type=Seen)


def deadline(call: Seen) -> int:
    """The deadline in the context of the call, in milliseconds since the Unix epoch; 0: there is none."""
    signed = SignedContext.FromString(b64decode(dict(call.metadata)[CONTEXT_KEY]))
    return CallContext.FromString(signed.context).deadline_unix_ms


async def test_metadata_reaches_the_provider_and_what_is_the_routers_own_does_not(
    client: Client, service: str
) -> None:
    binary = b64encode(b"\x00\x01\xfe").decode()
    sent = [("x-word", "word"), ("x-twice", "one"), ("x-twice", "two"), ("x-bytes-bin", binary)]
    call = seen(await client.call(service, "See", b"", metadata=[*sent, ("wuu-made-up", "no")]))
    # A library may join what was sent under one key: in HTTP the two are the same.
    received: dict[str, str] = {}
    for key, value in call.metadata:
        received[key] = f"{received[key]}, {value}" if key in received else value
    assert collected(tuple(received.items()), "x-") == {
        "x-word": "word",
        "x-twice": "one, two",
        "x-bytes-bin": binary,
    }
    assert [key for key, _ in call.metadata if key.startswith("wuu-")] == [CONTEXT_KEY]


async def test_metadata_reaches_the_client_before_and_behind_the_answer(client: Client, service: str) -> None:
    outcome = await client.call(service, "See", b"")
    initial, trailing = collected(outcome.initial, "x-"), collected(outcome.trailing, "x-")
    assert initial == {key: _carried(value) for key, value in INITIAL}
    assert trailing == {key: _carried(value) for key, value in TRAILING}


async def test_a_provider_sees_a_deadline_no_later_than_the_clients(client: Client, service: str) -> None:
    begun = time.time() * 1000
    call = seen(await client.call(service, "See", b"", timeout=25))
    ended = time.time() * 1000
    # What a client library adds to the timeout that it was given is rounding.
    assert begun < deadline(call) <= ended + 25_100
    # The signed context is what counts; the deadline that gRPC itself knows of stands beside it.
    assert call.timeout_ms is not None and 0 < call.timeout_ms <= 25_100


async def test_a_call_without_a_deadline_gets_none(client: Client, service: str) -> None:
    call = seen(await client.call(service, "See", b""))
    assert (deadline(call), call.timeout_ms) == (0, None)


def _carried(value: str | bytes) -> str:
    return b64encode(value).decode() if isinstance(value, bytes) else value
