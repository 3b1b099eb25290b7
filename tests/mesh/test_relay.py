"""The relay: bytes in the four shapes, metadata, and statuses, as they pass through the router."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from typing import Any

import grpc
import pytest
from grpc_status import rpc_status

from contract.errors import DETAILS_KEY, MeshError, error_info
from contract.handshake import Handshake
from provider_kit import Mesh as Kit
from tests.support.bare import WIRE
from tests.support.caller import Caller, collected, failure
from tests.support.composition import bare, probe
from tests.support.mesh import Mesh, running
from tests.support.probe import STREAMS

MIB = 1024 * 1024

NO_PROTOBUF = b"\xff\xff\xff\xff no protobuf \x00"
"""Bytes that no message can be parsed from."""


@pytest.fixture(scope="module")
async def mesh() -> AsyncIterator[Mesh]:
    async with running(
        probe(
            "caller",
            provides=["probe.caller@1"],
            requires=["probe.streams@1", "bare.wire@1"],
            methods=["shake"],
        ),
        probe("streams", provides=["probe.waiter@1"], streams="probe.streams@1"),
        bare("bare"),
    ) as mesh:
        yield mesh


@pytest.fixture(scope="module", params=["operator", "instance"])
async def caller(mesh: Mesh, request: pytest.FixtureRequest) -> Caller:
    """A caller on each of the two sockets."""
    if request.param == "operator":
        return mesh.operator
    return await mesh.instance("caller", "probe.caller@1")


@pytest.fixture(scope="module")
def wire(caller: Caller) -> Callable[..., Any]:
    """Calls an rpc of the bare provider."""

    async def call(rpc: str, request: Any = b"") -> Any:
        sent = request if isinstance(request, bytes) else json.dumps(request).encode()
        return await caller.unary(f"/{WIRE}/{rpc}", sent, caller.metadata("bare.wire@1"))

    return call


async def streamed(caller: Caller, rpc: str, requests: bytes | Sequence[bytes]) -> list[bytes]:
    """Everything that an rpc of the probe's streams answers."""
    sent = requests if isinstance(requests, bytes) else one_by_one(requests)
    metadata = caller.metadata("probe.streams@1")
    return [answer async for answer in caller.stream(f"/{STREAMS}/{rpc}", sent, metadata)]


async def one_by_one(requests: Iterable[bytes]) -> AsyncIterator[bytes]:
    """A stream of requests."""
    for request in requests:
        yield request


# --- shapes ---


async def test_a_unary_call_passes_byte_for_byte(caller: Caller) -> None:
    answer = await caller.unary(f"/{STREAMS}/Unary", NO_PROTOBUF, caller.metadata("probe.streams@1"))
    assert answer.message == NO_PROTOBUF


async def test_an_empty_message_is_a_message(caller: Caller) -> None:
    assert await streamed(caller, "Unary", b"") == [b""]


async def test_a_stream_of_requests_passes_in_order(caller: Caller) -> None:
    requests = [NO_PROTOBUF, b"", *(f"{n} ".encode() for n in range(200))]
    assert await streamed(caller, "Gather", requests) == [b"".join(requests)]
    assert await streamed(caller, "Gather", []) == [b""]


async def test_a_stream_of_responses_passes_in_order(caller: Caller) -> None:
    asked = NO_PROTOBUF + bytes(range(256))
    assert await streamed(caller, "Scatter", asked) == [bytes([byte]) for byte in asked]
    assert await streamed(caller, "Scatter", b"") == []


async def test_a_stream_each_way_passes_message_by_message(caller: Caller) -> None:
    answered: list[bytes] = []

    async def ask() -> AsyncIterator[bytes]:
        # Each request is made of the answer before, so neither direction can wait for the other to end.
        yield b"0"
        for count in range(1, 50):
            while len(answered) < count:
                await arrived.wait()
                arrived.clear()
            yield answered[-1] + b"."

    arrived = asyncio.Event()
    metadata = caller.metadata("probe.streams@1")
    async for answer in caller.stream(f"/{STREAMS}/Both", ask(), metadata):
        answered.append(answer)
        arrived.set()
    assert answered == [b"0" + b"." * n for n in range(50)]


async def test_a_module_reaches_the_four_shapes_through_the_kit(mesh: Mesh) -> None:
    """What `provider_kit.Mesh` offers to providers."""
    handshake = Handshake(**await mesh.call("probe.caller@1", "shake"))
    kit = Kit.connect(handshake)

    async def some() -> AsyncIterator[bytes]:
        for request in (b"a", b"b"):
            yield request

    async def all_of(rpc: str, requests: AsyncIterator[bytes] | bytes) -> list[bytes]:
        answers = kit.stream(f"/{STREAMS}/{rpc}", requests, service="probe.streams@1")
        return [answer async for answer in answers]

    assert await kit.unary(f"/{STREAMS}/Unary", b"x", service="probe.streams@1") == b"x"
    assert await all_of("Gather", some()) == [b"ab"]
    assert await all_of("Scatter", b"xyz") == [b"x", b"y", b"z"]
    assert await all_of("Both", some()) == [b"a", b"b"]
    error = await failure(all_of("Nowhere", b""))
    assert error.code == "method_not_found"
    await kit.close()


async def test_a_module_whose_requests_break_hears_of_it_and_the_call_is_cancelled(mesh: Mesh) -> None:
    kit = Kit.connect(Handshake(**await mesh.call("probe.caller@1", "shake")))

    async def broken() -> AsyncIterator[bytes]:
        yield b"one"
        raise LookupError("there is no second")

    with pytest.raises(LookupError, match="there is no second"):
        async for answer in kit.stream(f"/{STREAMS}/Both", broken(), service="probe.streams@1"):
            assert answer == b"one"
    await mesh.idle()
    await kit.close()


async def test_a_stream_is_refused_with_the_code_that_a_unary_call_gets(mesh: Mesh) -> None:
    stranger = mesh.stranger("forged")
    error = await failure(streamed(stranger, "Scatter", b"x"))
    assert (error.code, error.outcome) == ("unauthenticated", "not_dispatched")


async def test_calls_at_once_never_get_the_answers_of_others(caller: Caller) -> None:
    asked = [[f"{number}".encode() * 50] * (number % 3 + 1) for number in range(200)]
    answers = await asyncio.gather(*(streamed(caller, "Gather", requests) for requests in asked))
    assert answers == [[b"".join(requests)] for requests in asked]
    ones = await asyncio.gather(*(streamed(caller, "Unary", requests[0]) for requests in asked))
    assert ones == [[requests[0]] for requests in asked]


# --- metadata ---


async def test_metadata_reaches_the_provider_and_what_is_the_routers_own_does_not(caller: Caller) -> None:
    sent = [
        *caller.metadata("bare.wire@1", method="metadata"),
        ("x-word", "word"),
        ("x-bytes-bin", b"\x00\x01\xfe"),
        ("wuu-made-up", "no"),
        ("wuu-context-bin", b"forged"),
    ]
    answer = await caller.unary(f"/{WIRE}/Metadata", b"", sent)
    received = [tuple(pair) for pair in json.loads(answer.message)]
    assert ("x-word", "word") in received
    assert ("x-bytes-bin", "0001fe") in received
    assert [key for key, _ in received if key.startswith("wuu-")] == ["wuu-context-bin"]
    assert b"forged".hex() not in dict(received).values()


async def test_metadata_reaches_the_caller_before_and_behind_the_answer(
    wire: Callable[..., Any],
) -> None:
    answer = await wire("Metadata")
    initial, trailing = collected(answer.initial, "x-"), collected(answer.trailing, "x-")
    assert initial == {"x-initial": "before", "x-initial-bin": b"\x00\xff"}
    assert trailing == {"x-trailing": "behind", "x-trailing-bin": b"\xff\x00"}


async def test_metadata_of_the_router_is_not_for_providers_to_send(wire: Callable[..., Any]) -> None:
    answer = await wire("Metadata")
    assert collected((*answer.initial, *answer.trailing), "wuu-") == {}


# --- statuses ---


async def test_an_error_of_the_provider_passes_as_it_is(caller: Caller) -> None:
    request = {
        "status": "ABORTED",
        "message": "revision 7 – not 6",
        "reason": "state_conflict",
        "domain": "wuu",
        "metadata": {"revision": "7"},
    }
    status = await caller.status(
        f"/{WIRE}/Fail", json.dumps(request).encode(), caller.metadata("bare.wire@1")
    )
    assert (status.code(), status.details()) == (grpc.StatusCode.ABORTED, "revision 7 – not 6")
    trailers: Any = status.trailing_metadata()
    info = error_info(tuple(trailers))
    assert info is not None
    assert (info.reason, info.domain, dict(info.metadata)) == ("state_conflict", "wuu", {"revision": "7"})


async def test_a_code_of_the_providers_own_passes(wire: Callable[..., Any]) -> None:
    error = await failure(wire("Fail", {"status": "DATA_LOSS", "reason": "disk_on_fire", "domain": "acme"}))
    assert (error.code, error.domain, error.outcome) == ("disk_on_fire", "acme", "")


async def test_a_long_error_of_the_provider_is_cut_to_what_metadata_takes(caller: Caller) -> None:
    request = {"status": "ABORTED", "message": "e" * 1800, "reason": "state_conflict", "domain": "wuu"}
    status = await caller.status(
        f"/{WIRE}/Fail", json.dumps(request).encode(), caller.metadata("bare.wire@1")
    )
    trailers: Any = status.trailing_metadata()
    info = error_info(tuple(trailers))
    assert info is not None
    assert (status.code(), info.reason, info.domain) == (grpc.StatusCode.ABORTED, "state_conflict", "wuu")
    assert (status.details() or "").startswith("eee")
    assert sum(len(key) + len(value) for key, value in trailers) < 3 * 1024


async def test_a_provider_that_claims_the_kernels_domain_is_rewritten(wire: Callable[..., Any]) -> None:
    claim = {
        "status": "NOT_FOUND",
        "reason": "service_not_found",
        "domain": "wuu.mesh",
        "metadata": {"outcome": "not_dispatched"},
    }
    error = await failure(wire("Fail", claim))
    assert (error.code, error.domain) == ("host_error", "wuu.mesh")
    assert error.message == "bare claimed the kernel's service_not_found: as asked"
    assert error.outcome != "not_dispatched"


@pytest.mark.parametrize(
    ("status", "code"),
    [
        ("INTERNAL", "host_error"),
        ("UNKNOWN", "host_error"),
        ("FAILED_PRECONDITION", "host_error"),
        ("UNIMPLEMENTED", "method_not_found"),
        ("CANCELLED", "execution_cancelled"),
        ("DEADLINE_EXCEEDED", "deadline_exceeded"),
        ("UNAVAILABLE", "service_unavailable"),
    ],
)
async def test_a_status_without_an_error_info_gets_one(caller: Caller, status: str, code: str) -> None:
    request = json.dumps({"status": status, "message": "as it is"}).encode()
    answer = await caller.status(f"/{WIRE}/Fail", request, caller.metadata("bare.wire@1"))
    trailers: Any = answer.trailing_metadata()
    info = error_info(tuple(trailers))
    assert info is not None
    assert (info.reason, info.domain, info.metadata["outcome"]) == (code, "wuu.mesh", "unknown")
    assert answer.code().name == status
    assert "bare" in (answer.details() or "")
    stated: Any = answer
    assert rpc_status.from_call(stated).message == answer.details()


async def test_details_that_cannot_be_read_are_no_error_info(wire: Callable[..., Any]) -> None:
    error = await failure(wire("Fail", {"status": "INTERNAL", "details": "rubbish"}))
    assert (error.code, error.domain) == ("host_error", "wuu.mesh")


async def test_metadata_behind_an_error_reaches_the_caller_too(caller: Caller) -> None:
    status = await caller.status(
        f"/{WIRE}/Fail", b'{"reason":"mine","domain":"acme"}', caller.metadata("bare.wire@1")
    )
    trailers: Any = status.trailing_metadata()
    assert collected(tuple(trailers), "x-") == {"x-trailing": "behind"}
    assert collected(tuple(trailers), "wuu-") == {}
    assert [key for key, _ in trailers].count(DETAILS_KEY) == 1


async def test_a_stream_that_breaks_keeps_its_messages_and_ends_with_the_status(caller: Caller) -> None:
    asked = b'{"status":"ABORTED","reason":"mine","domain":"acme"}'
    answers = caller.stream(f"/{WIRE}/Stutter", asked, caller.metadata("bare.wire@1"))
    assert await anext(answers) == asked
    with pytest.raises(MeshError) as caught:
        await anext(answers)
    assert (caught.value.code, caught.value.domain) == ("mine", "acme")


async def test_a_stream_that_is_refused_while_its_requests_come_ends_with_the_providers_status(
    caller: Caller,
) -> None:
    """Many times, since it depends on whether a request or the status is on its way first."""
    asked = b'{"status":"ABORTED","reason":"mine","domain":"acme"}'

    async def refused() -> list[bytes]:
        requests = one_by_one([asked] * 5)
        stream = caller.stream(f"/{WIRE}/Stutter", requests, caller.metadata("bare.wire@1"))
        return [answer async for answer in stream]

    errors = [await failure(refused()) for _ in range(100)]
    assert {(error.code, error.domain, error.message) for error in errors} == {("mine", "acme", "as asked")}


async def test_a_unary_answer_without_a_message_is_a_protocol_violation(wire: Callable[..., Any]) -> None:
    error = await failure(wire("Nothing"))
    assert (error.code, error.domain) == ("protocol_violation", "wuu.mesh")


async def test_an_exception_in_a_handler_is_a_host_error_that_names_the_method(mesh: Mesh) -> None:
    error = await failure(mesh.call("probe.waiter@1", "blunder", "oh no"))
    assert (error.code, error.domain) == ("host_error", "wuu")
    assert error.message == 'probe.waiter@1 blunder: LookupError: "oh no"'


async def test_a_kernel_code_of_a_nested_call_is_not_passed_off_as_the_routers_word(mesh: Mesh) -> None:
    asked = {"code": "service_not_found", "domain": "wuu.mesh"}
    error = await failure(mesh.call("probe.waiter@1", "error", asked))
    assert (error.code, error.domain) == ("host_error", "wuu")
    assert error.message == "service_not_found: as asked"


async def test_a_provider_may_say_in_its_own_name_what_only_it_can_know(mesh: Mesh) -> None:
    error = await failure(mesh.call("probe.waiter@1", "error", {"code": "invalid_params"}))
    assert (error.code, error.domain) == ("invalid_params", "wuu")


# --- sizes ---


async def test_a_message_of_60_mib_passes_both_ways(wire: Callable[..., Any]) -> None:
    request = bytes(60 * MIB)
    assert (await wire("Echo", request)).message == request


async def test_a_request_past_64_mib_is_refused_and_nothing_else_breaks(
    wire: Callable[..., Any], caller: Caller
) -> None:
    error = await failure(wire("Echo", bytes(64 * MIB + 1)))
    assert (error.code, error.domain) == ("limit_exceeded", "wuu.mesh")
    assert (await wire("Echo", b"still there")).message == b"still there"
    error = await failure(wire("Echo", bytes(129 * MIB)))
    assert error.code == "limit_exceeded"
    error = await failure(streamed(caller, "Both", [b"small", bytes(64 * MIB + 1)]))
    assert error.code == "limit_exceeded"


async def test_a_response_past_64_mib_is_refused_and_nothing_else_breaks(wire: Callable[..., Any]) -> None:
    error = await failure(wire("Large", str(64 * MIB + 1).encode()))
    assert (error.code, error.domain) == ("limit_exceeded", "wuu.mesh")
    assert (await wire("Echo", b"still there")).message == b"still there"


async def test_no_execution_is_left_behind(mesh: Mesh) -> None:
    await mesh.idle()
