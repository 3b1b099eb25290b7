"""Peers without manners on the real sockets of a mesh of processes, beside a neighbour who has some."""

from __future__ import annotations

import asyncio
import signal
import ssl
from base64 import b64decode
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import pytest
from hyperframe.frame import ContinuationFrame, DataFrame, HeadersFrame, SettingsFrame

from contract.context import METHOD_KEY, SERVICE_KEY
from contract.errors import error_info_in
from router.relay.http2.frame import Code
from router.relay.message import PREFIX, prefixed
from tests.relay.peer import PREFACE, Fields, Told
from tests.relay.wire import Wire
from tests.support.composition import probe
from tests.support.mesh import Mesh, running
from tests.support.process import Process
from wuu.mesh.v1.dynamic_pb2 import InvokeRequest

DYNAMIC = "/wuu.mesh.v1.Dynamic/Invoke"
STREAMS = "/probe.v1.Streams"


@pytest.fixture(scope="module")
async def mesh() -> AsyncIterator[Mesh]:
    async with running(
        probe("a", provides=["probe.a@1"], streams="probe.streams@1"),
        probe("b", provides=["probe.b@1"]),
        probe("dies", provides=["probe.dies@1"]),
    ) as mesh:
        mesh.without_packages()
        yield mesh


@pytest.fixture
async def control(mesh: Mesh) -> AsyncIterator[Path]:
    """The control socket; whatever was done there, the mesh is idle in the end and serves everybody."""
    announced = mesh.announced
    assert announced is not None
    yield Path(announced.control)
    assert await mesh.call("probe.a@1", "echo", "still here") == "still here"
    assert await mesh.call("probe.b@1", "echo", "here, too") == "here, too"
    await mesh.idle()


def fields(method: str = "hang", service: str = "probe.a@1", path: str = DYNAMIC) -> Fields:
    """The fields of a call of the operator."""
    return [
        (":method", "POST"),
        (":scheme", "http"),
        (":path", path),
        (":authority", "localhost"),
        ("te", "trailers"),
        ("content-type", "application/grpc"),
        (SERVICE_KEY, service),
        *([(METHOD_KEY, method)] if path == DYNAMIC else []),
    ]


def request(params: bytes) -> bytes:
    """The message of a dynamic call."""
    asked = InvokeRequest()
    asked.params.utf8 = params
    return prefixed(asked.SerializeToString())


def code(told: Told) -> str:
    """The code with which a call ended."""
    said = dict(told.blocks[-1])["grpc-status-details-bin"]
    info = error_info_in(b64decode(said + "=" * (-len(said) % 4)))
    assert info is not None
    reason: str = info.reason
    return reason


# --- who does not speak HTTP/2 ---


@pytest.mark.parametrize(
    "said",
    [b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n", b"\0" * 100, bytes(range(256)) * 300, PREFACE[:-1] + b"!"],
    ids=["HTTP/1.1", "zeros", "every byte", "nearly the preface"],
)
async def test_who_does_not_speak_http2_is_told_so_and_cut_off(control: Path, said: bytes) -> None:
    wire = Wire(control)
    wire.socket.feed(said)
    await wire.closed()
    assert wire.peer.goodbye is not None
    assert wire.peer.goodbye.error_code == Code.PROTOCOL_ERROR
    assert b"HTTP/2" in wire.peer.goodbye.additional_data


async def test_who_speaks_tls_on_the_plain_socket_fails_its_handshake(control: Path) -> None:
    context = ssl.create_default_context()
    with pytest.raises(ssl.SSLError):
        await asyncio.open_unix_connection(str(control), ssl=context, server_hostname="localhost")


# --- requests that no library would send ---

WITHOUT = {name: [each for each in fields("echo") if each[0] != name] for name, _ in fields("echo")}

REFUSED: dict[str, tuple[Fields, str]] = {
    "no te": (WITHOUT["te"], "invalid_request"),
    "no content-type": (WITHOUT["content-type"], "invalid_request"),
    "no service": (WITHOUT[SERVICE_KEY], "invalid_request"),
    "a service that contradicts the path": (
        fields(service="probe.a@1", path=f"{STREAMS}/Unary"),
        "method_not_found",
    ),
    "more than 16 KiB of metadata": ([*fields("echo"), ("x-large", "x" * 17_000)], "limit_exceeded"),
}


@pytest.mark.parametrize(("said", "expected"), REFUSED.values(), ids=REFUSED)
async def test_a_request_that_cannot_pass_ends_with_its_code(
    control: Path, said: Fields, expected: str
) -> None:
    async with Wire.connected(control) as wire:
        told = wire.peer.begin(said)
        await wire.until(lambda: told.ended)
        assert code(told) == expected
        kept = wire.peer.begin(fields("echo"))
        wire.peer.data(kept, request(b"1"), end=True)
        await wire.until(lambda: kept.ended)
        assert kept.status == "0"


@pytest.mark.parametrize("name", [":path", ":method", ":scheme"])
async def test_a_request_without_a_pseudo_header_loses_its_stream_alone(control: Path, name: str) -> None:
    async with Wire.connected(control) as wire:
        told, kept = wire.peer.begin(WITHOUT[name]), wire.peer.begin(fields("echo"))
        wire.peer.data(kept, request(b"1"), end=True)
        await wire.until(lambda: kept.ended)
        assert (told.reset, kept.status) == (Code.PROTOCOL_ERROR, "0")


async def test_a_header_block_that_never_ends_is_cut_off(control: Path) -> None:
    wire = Wire(control)
    wire.peer.greet()
    wire.peer.send(HeadersFrame(1, b"\0"))
    for _ in range(100):
        wire.peer.send(ContinuationFrame(1, b"x" * 1000))
    await wire.closed()
    assert wire.peer.goodbye is not None
    assert wire.peer.goodbye.error_code == Code.ENHANCE_YOUR_CALM


async def test_a_message_past_the_limit_is_refused_by_its_prefix_alone(control: Path) -> None:
    async with Wire.connected(control) as wire:
        told = wire.peer.begin(fields("echo"))
        wire.peer.send(DataFrame(told.id, PREFIX.pack(0, (64 << 20) + 1)))
        await wire.until(lambda: told.ended)
        assert code(told) == "limit_exceeded"


# --- who vanishes ---

Reach = Callable[[Wire, Mesh], Awaitable[None]]


async def _preface(wire: Wire, _: Mesh) -> None:
    wire.socket.feed(PREFACE)


async def _settings(wire: Wire, _: Mesh) -> None:
    wire.peer.greet()


async def _half_a_head(wire: Wire, _: Mesh) -> None:
    wire.peer.greet()
    whole = HeadersFrame(1, wire.peer.encoder.encode(fields()), flags=["END_HEADERS"]).serialize()
    wire.socket.feed(whole[: len(whole) // 2])


async def _a_head(wire: Wire, _: Mesh) -> None:
    wire.peer.greet()
    wire.peer.begin(fields())


async def _half_a_message(wire: Wire, _: Mesh) -> None:
    wire.peer.greet()
    wire.peer.data(wire.peer.begin(fields()), request(b'{"key":"half"}')[:-3])


async def _before_the_answer(wire: Wire, mesh: Mesh) -> None:
    wire.peer.greet()
    wire.peer.data(wire.peer.begin(fields()), request(b'{"key":"vanishes"}'), end=True)
    await wire.sent()
    await mesh.call("probe.a@1", "hanging", {"key": "vanishes"})


async def _after_the_answer_began(wire: Wire, _: Mesh) -> None:
    wire.peer.greet()
    told = wire.peer.begin(fields(service="probe.streams@1", path=f"{STREAMS}/Watch"))
    wire.peer.data(told, prefixed(b"watched"), end=True)
    await wire.until(lambda: bool(told.body))


async def _before_it_read_the_answer(wire: Wire, mesh: Mesh) -> None:
    wire.peer.greet()
    wire.peer.data(wire.peer.begin(fields("echo")), request(b"1"), end=True)
    await wire.sent()
    await mesh.idle()


STATES: dict[str, Reach] = {
    "the preface": _preface,
    "SETTINGS": _settings,
    "half a HEADERS frame": _half_a_head,
    "HEADERS": _a_head,
    "half a message": _half_a_message,
    "a request whose answer has not begun": _before_the_answer,
    "an answer that has begun": _after_the_answer_began,
    "an answer that it has not read": _before_it_read_the_answer,
}


@pytest.mark.parametrize("reach", STATES.values(), ids=STATES)
async def test_a_consumer_that_vanishes_leaves_nothing(control: Path, mesh: Mesh, reach: Reach) -> None:
    wire = Wire(control)
    await reach(wire, mesh)
    wire.close()
    await mesh.idle()


# --- who does not read ---


def _rss(mesh: Mesh) -> float:
    """The resident set of the router in MiB."""
    rss: int = mesh.status()["router"]["rss_bytes"]
    return rss / (1 << 20)


async def test_a_consumer_that_does_not_read_holds_up_no_neighbour_and_little_memory(
    control: Path, mesh: Mesh
) -> None:
    before = _rss(mesh)
    wire = Wire(control)
    wire.peer.reading = False
    wire.peer.greet({SettingsFrame.INITIAL_WINDOW_SIZE: 2**31 - 1})
    wire.peer.grant(None, 2**31 - 1 - 65535)
    for number in range(20):
        told = wire.peer.begin(fields("echo"))
        wire.peer.data(told, request(b'"' + b"x" * 60_000 + b'"'), end=True)
        assert await mesh.call("probe.a@1", "echo", number) == number
    assert _rss(mesh) < before + 40
    wire.close()


async def test_windows_of_zero_for_ever_hold_up_no_neighbour(control: Path, mesh: Mesh) -> None:
    async with Wire.connected(control) as wire:
        wire.peer.settings({SettingsFrame.INITIAL_WINDOW_SIZE: 0})
        stuck = [wire.peer.begin(fields("echo")) for _ in range(100)]
        for told in stuck:
            wire.peer.data(told, request(b'"stuck"'), end=True)
        await wire.until(lambda: all(told.blocks for told in stuck))
        # Their executions are over, though nobody has read what came of them.
        await mesh.idle()
        free = wire.peer.begin(fields("echo"))
        wire.peer.data(free, request(b'"free"'), end=True)
        await wire.until(lambda: bool(free.blocks))
        for told in (free, *stuck):
            wire.peer.grant(told, 1000)
        await wire.until(lambda: all(told.ended for told in (free, *stuck)))


async def test_a_provider_that_does_not_read_holds_up_no_other_and_little_memory(
    control: Path, mesh: Mesh
) -> None:
    before = _rss(mesh)
    stopped = Process(mesh.module("a")["pid"])
    stopped.signal(signal.SIGSTOP)
    try:
        async with Wire.connected(control) as wire:
            calls = [wire.peer.begin(fields("echo")) for _ in range(30)]
            for told in calls:
                wire.peer.data(told, request(b'"' + b"x" * 200_000 + b'"'), end=True)
            for number in range(20):
                assert await mesh.call("probe.b@1", "echo", number) == number
                kept = wire.peer.begin(fields("echo", "probe.b@1"))
                wire.peer.data(kept, request(b"1"), end=True)
                await wire.until(lambda kept=kept: kept.ended)  # type: ignore[misc]
            assert _rss(mesh) < before + 40
            stopped.signal(signal.SIGCONT)
            await wire.until(lambda: all(told.ended for told in calls))
            assert {told.status for told in calls} == {"0"}
    finally:
        stopped.signal(signal.SIGCONT)


# --- who dies ---


async def test_two_hundred_calls_end_with_the_end_of_their_provider_in_their_status(
    control: Path, mesh: Mesh
) -> None:
    async with Wire.connected(control) as wire:
        calls = [wire.peer.begin(fields(service="probe.dies@1")) for _ in range(200)]
        for told in calls:
            wire.peer.data(told, request(b'{"key":"dies"}'), end=True)
        await wire.sent()
        await mesh.call("probe.dies@1", "hanging", {"key": "dies", "count": 200})
        process = Process(mesh.module("dies")["pid"])
        process.signal(signal.SIGKILL)
        assert process.ends()
        await wire.until(lambda: all(told.ended for told in calls))
        assert {code(told) for told in calls} == {"service_unavailable"}
        assert all("SIGKILL" in dict(told.blocks[-1])["grpc-message"] for told in calls)
