"""How calls end that do not end well, from clients of every language to providers of every language."""

from __future__ import annotations

import asyncio
import itertools
from base64 import b64decode

import grpc
import msgspec
import pytest
from google.rpc import error_details_pb2, status_pb2

from contract.errors import error_info
from tests.interop.client import Client
from tests.interop.python.orders import Outcome, unlisted
from tests.interop.python.wire import WIRE, Failing
from tests.support.caller import collected
from tests.support.mesh import Mesh

ABORTED: int = grpc.StatusCode.ABORTED.value[0]
CANCELLED: int = grpc.StatusCode.CANCELLED.value[0]
DEADLINE_EXCEEDED: int = grpc.StatusCode.DEADLINE_EXCEEDED.value[0]

MESSAGE = "Fassung 7 – nicht 6 · 版本 ✓ 100 %"

_keys = itertools.count()


@pytest.fixture
def key(client: Client, service: str) -> bytes:
    """Of a call of this test alone."""
    return f"{service} {next(_keys)}".encode()


def said(outcome: Outcome, detail: str) -> tuple[str, str, str]:
    """Reason, domain and one of the details in the `ErrorInfo` that came with a status."""
    info = error_info(tuple(unlisted(outcome.trailing)))
    assert info is not None, outcome
    return info.reason, info.domain, info.metadata[detail]


def conflict() -> bytes:
    """A status with an `ErrorInfo`."""
    info = error_details_pb2.ErrorInfo(reason="state_conflict", domain="wuu", metadata={"revision": "7"})
    status = status_pb2.Status(code=ABORTED, message=MESSAGE)
    status.details.add().Pack(info)
    return msgspec.json.encode(Failing(ABORTED, MESSAGE, status.SerializeToString()))


async def happened(mesh: Mesh, service: str, event: str, key: bytes) -> None:
    """Returns once the provider has seen it."""
    metadata = mesh.operator.metadata(service)
    await mesh.operator.unary(f"/{WIRE}/Watch", f"{event} ".encode() + key, metadata)


# --- errors ---


async def test_an_error_of_the_provider_passes_as_it_is(client: Client, service: str) -> None:
    outcome = await client.call(service, "Fail", conflict())
    assert (outcome.code, outcome.message) == (ABORTED, MESSAGE)
    assert said(outcome, "revision") == ("state_conflict", "wuu", "7")
    assert collected(outcome.trailing, "x-") == {"x-trailing": "behind"}
    assert outcome.answers == []


async def test_an_error_behind_a_message_keeps_the_message(client: Client, service: str) -> None:
    outcome = await client.call(service, "Break", conflict())
    assert (outcome.code, outcome.message) == (ABORTED, MESSAGE)
    assert said(outcome, "revision") == ("state_conflict", "wuu", "7")
    assert [b64decode(answer) for answer in outcome.answers] == [conflict()]


async def test_an_error_that_says_no_code_gets_one_of_the_router(client: Client, service: str) -> None:
    outcome = await client.call(service, "Fail", msgspec.json.encode(Failing(ABORTED, MESSAGE)))
    assert outcome.code == ABORTED
    assert MESSAGE in outcome.message
    assert said(outcome, "outcome") == ("host_error", "wuu.mesh", "unknown")


async def test_a_refusal_of_the_router_carries_its_code(client: Client) -> None:
    outcome = await client.call("interop.nobody@1", "Unary", b"")
    assert said(outcome, "outcome") == ("service_not_authorized", "wuu.mesh", "not_dispatched")
    assert outcome.answers == []


# --- cancellation ---


async def test_a_call_that_the_client_cancels_ends_at_the_provider(
    client: Client, service: str, mesh: Mesh, key: bytes
) -> None:
    call = client.begin(service, "Hang", key)
    await happened(mesh, service, "started", key)
    call.cancel()
    assert (await call.outcome()).code == CANCELLED
    await happened(mesh, service, "ended", key)


async def test_a_stream_that_the_client_cancels_ends_at_the_provider(
    client: Client, service: str, mesh: Mesh, key: bytes
) -> None:
    call = client.begin(service, "Linger", key)
    await happened(mesh, service, "started", key)
    call.cancel()
    assert (await call.outcome()).code == CANCELLED
    await happened(mesh, service, "ended", key)


# --- deadlines ---


@pytest.mark.parametrize("rpc", ["Hang", "Linger"])
async def test_a_call_past_its_deadline_ends_at_both_ends(
    client: Client, service: str, mesh: Mesh, rpc: str
) -> None:
    for timeout in (0.5, 2, 8):
        key = f"{service} {next(_keys)}".encode()
        call = client.begin(service, rpc, key, timeout=timeout)
        started = asyncio.create_task(happened(mesh, service, "started", key))
        ended = asyncio.create_task(call.outcome())
        await asyncio.wait((started, ended), return_when=asyncio.FIRST_COMPLETED)
        assert (await ended).code == DEADLINE_EXCEEDED
        if started.done():
            await happened(mesh, service, "ended", key)
            return
        # It has expired before it got there: a busy machine needs a longer one.
        started.cancel()
        await asyncio.wait((started,))
    raise AssertionError("no call reached the provider in time")


async def test_no_execution_is_left_behind(mesh: Mesh) -> None:
    await mesh.idle()
