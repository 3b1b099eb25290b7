"""What peers do to the relay that takes many frames, or a moment that nobody hits by chance."""

from __future__ import annotations

import asyncio
import sys
import time

import pytest
from hyperframe.frame import (
    ContinuationFrame,
    DataFrame,
    Frame,
    GoAwayFrame,
    HeadersFrame,
    PingFrame,
    PriorityFrame,
    RstStreamFrame,
    SettingsFrame,
    WindowUpdateFrame,
)

from contract.transport import MESSAGE_LIMIT
from router.relay.collector import Collector
from router.relay.http2 import connection
from router.relay.http2.frame import Code
from router.relay.message import PREFIX, prefixed
from router.relay.status import SUCCEEDED
from tests.relay.line import turns
from tests.relay.neighbour import Neighbour
from tests.relay.peer import Fields, Peer, Told
from tests.relay.stage import ANSWER, OK, Stage, call

INITIAL_WINDOW_SIZE, MAX_CONCURRENT_STREAMS = (
    SettingsFrame.INITIAL_WINDOW_SIZE,
    SettingsFrame.MAX_CONCURRENT_STREAMS,
)


async def _leave(stage: Stage, *peers: Peer) -> None:
    """The consumers vanish, and nothing is left of them."""
    for peer in peers:
        peer.line.vanish()
    await stage.settle()
    stage.check_at_rest()
    assert not stage.inbound


# --- windows ---


def test_a_request_ends_though_its_window_has_become_negative(stage: Stage) -> None:
    async def scene() -> None:
        b, provider = stage.consumer("b"), stage.providers["p"]
        told = b.begin(call("b", "p", "Hang"))
        await stage.settle(b)
        provider.peer.generous = False
        b.data(told, prefixed(b"x" * 60_000))
        await stage.settle(b)
        provider.peer.settings({INITIAL_WINDOW_SIZE: 0})
        await stage.settle(b)
        b.data(told, b"", end=True)
        await stage.settle(b)
        assert provider.peer.streams[1].ended
        await _leave(stage, b)

    stage.play(scene())


@pytest.mark.parametrize("size", [0, 1, 7])
def test_a_window_that_opens_byte_by_byte_loses_none(stage: Stage, size: int) -> None:
    async def scene() -> None:
        b = stage.consumer("b", {INITIAL_WINDOW_SIZE: size})
        b.generous = False
        told = b.begin(call("b", "p", "Both"))
        await stage.settle(b)
        b.data(told, prefixed(b"abcdefghij" * 20), end=True)
        while not told.ended:
            assert told.reset is None
            b.grant(told, 1)
            await stage.settle(b)
        assert bytes(told.body) == prefixed(b"abcdefghij" * 20)
        await _leave(stage, b)

    stage.play(scene())


def test_the_window_of_a_connection_bounds_all_of_its_streams(stage: Stage) -> None:
    async def scene() -> None:
        provider = stage.providers["p"]
        provider.settings = {INITIAL_WINDOW_SIZE: 1 << 20}
        b = stage.consumer("b")
        calls = [b.begin(call("b", "p", "Both", str(number))) for number in range(3)]
        await stage.settle(b)
        provider.peer.generous = False
        for told in calls:
            b.data(told, prefixed(b"x" * 40_000), end=True)
        await stage.settle(b)
        assert sum(len(told.body) for told in provider.peer.streams.values()) == 65_535
        provider.peer.repay()
        await stage.settle(b)
        assert {told.status for told in calls} == {"0"}
        await _leave(stage, b)

    stage.play(scene())


def test_a_consumer_with_windows_of_zero_for_ever_holds_up_nobody(stage: Stage) -> None:
    async def scene() -> None:
        bad, good = stage.consumer("a", {INITIAL_WINDOW_SIZE: 0}), Neighbour(stage)
        good.begin("p", "q")
        for number in range(100):
            bad.data(bad.begin(call("a", "p", "Unary", str(number))), prefixed(b"x" * 100), end=True)
        await stage.settle(bad, good.peer)
        for _ in range(5):
            good.speak()
            await stage.settle(bad, good.peer)
        good.speak(end=True)
        await stage.settle(bad, good.peer)
        good.check()
        assert not len(stage.admission.executions)
        await _leave(stage, bad, good.peer)

    stage.play(scene())


def test_updates_of_a_window_cost_little_however_many_streams_wait(stage: Stage) -> None:
    async def scene(waiting: int) -> float:
        bad = stage.consumer("a", {INITIAL_WINDOW_SIZE: 0})
        for number in range(waiting):
            told = bad.begin(call("a", "p", "Unary", f"{waiting}-{number}"))
            bad.data(told, prefixed(b"x"), end=True)
        await stage.settle(bad)
        flood = WindowUpdateFrame(0, window_increment=1).serialize() * 1000
        began = time.process_time()
        bad.line.feed(flood)
        took = time.process_time() - began
        await _leave(stage, bad)
        return took

    async def scenes() -> None:
        few, many = await scene(1), await scene(1000)
        assert many < 100 * max(few, 0.001), f"{few * 1000:.1f} ms became {many * 1000:.1f} ms"

    stage.play(scenes())


def _queued(stage: Stage, name: str = "p") -> int:
    """Bytes of memory that what waits for a provider takes."""
    connection = stage.instances[name].calls._connection
    assert connection is not None
    return sum(sys.getsizeof(stream.waiting or b"") for stream in connection.streams.values())


@pytest.mark.parametrize(
    "frame",
    [DataFrame(1, b""), DataFrame(1, b"", flags=["PADDED"], pad_length=200), DataFrame(1, b"\0")],
    ids=["empty", "padding alone", "one byte"],
)
def test_what_waits_takes_no_more_memory_than_the_window_has_bytes(stage: Stage, frame: Frame) -> None:
    async def scene() -> None:
        stage.providers["p"].settings = {INITIAL_WINDOW_SIZE: 10}
        bad = stage.consumer("a")
        bad.begin(call("a", "p", "Hang"))
        await stage.settle(bad)
        stage.providers["p"].peer.generous = False
        bad.send(DataFrame(1, prefixed(b"x" * 100)))
        for _ in range(3000):
            bad.send(frame)
        await stage.settle(bad)
        assert _queued(stage) < 20_000
        await _leave(stage, bad)

    stage.play(scene())


# --- what crosses on the way ---


def test_what_was_on_its_way_when_a_call_was_cancelled_costs_its_provider_nothing(stage: Stage) -> None:
    async def scene() -> None:
        good, b, provider = Neighbour(stage), stage.consumer("c"), stage.providers["p"]
        good.begin("p")
        told = b.begin(call("c", "p", "Hang"))
        await stage.settle(b, good.peer)
        served = provider.peer.streams[3]
        provider.peer.headers(served, ANSWER)
        b.abandon(told)
        for _ in range(9000):
            provider.peer.data(served, prefixed(b"x"))
        good.speak(end=True)
        await stage.settle(b, good.peer)
        good.check()
        assert provider.peer.goodbye is None
        await _leave(stage, b, good.peer)

    stage.play(scene())


def test_what_was_on_its_way_when_a_call_was_answered_costs_its_consumer_nothing(stage: Stage) -> None:
    async def scene() -> None:
        b, provider = stage.consumer("b"), stage.providers["p"]
        kept, told = b.begin(call("b", "p", "Both", "1")), b.begin(call("b", "p", "Hang", "2"))
        await stage.settle(b)
        provider.peer.finish(provider.peer.streams[3], [*ANSWER, ("grpc-status", "5")])
        for _ in range(9000):
            b.data(told, prefixed(b"x"))
        b.data(kept, prefixed(b"y"), end=True)
        await stage.settle(b)
        assert (kept.status, told.status) == ("0", "5")
        await _leave(stage, b)

    stage.play(scene())


def test_an_answer_that_comes_as_its_reader_is_cancelled_harms_nobody(stage: Stage) -> None:
    async def scene() -> None:
        collector = Collector()
        reading = asyncio.ensure_future(collector.answer())
        await asyncio.sleep(0)
        reading.cancel()
        collector.data(prefixed(b"x"), end=False)
        collector.headers(SUCCEEDED, end=True)
        with pytest.raises(asyncio.CancelledError):
            await reading

    stage.play(scene())


def test_an_instance_that_ends_before_it_was_reached_ends_the_calls_that_wait(stage: Stage) -> None:
    async def scene() -> None:
        b = stage.consumer("b")
        told = b.begin(call("b", "p"))
        stage.instances["p"].calls.close()
        await stage.settle(b)
        assert told.status == "14"
        await _leave(stage, b)

    stage.play(scene())


def test_a_provider_that_says_goodbye_serves_what_it_took_up_and_is_told_once(stage: Stage) -> None:
    async def scene() -> None:
        b, provider = stage.consumer("b"), stage.providers["p"]
        taken, refused = b.begin(call("b", "p", "Both", "1")), b.begin(call("b", "p", "Both", "2"))
        await stage.settle(b)
        first = provider.peer
        first.send(GoAwayFrame(0, 1, 0, b"enough"))
        later = b.begin(call("b", "p", "Unary", "3"))
        b.data(later, prefixed(b"z"), end=True)
        await stage.settle(b)
        assert refused.status == "14"
        assert later.status == "0", "the next call has no connection of its own"
        assert len(provider.peers) == 2
        # The harness answers on the newest connection, so the first is answered by hand.
        first.finish(first.streams[1], OK)
        await stage.settle(b)
        assert taken.status == "0"
        assert first.line.gone
        await _leave(stage, b)

    stage.play(scene())


# --- floods ---

FLOODS = {
    "SETTINGS": SettingsFrame(0, settings={INITIAL_WINDOW_SIZE: 100}),
    "acknowledged SETTINGS": SettingsFrame(0, flags=["ACK"]),
    "PING": PingFrame(0, b"12345678"),
    "PRIORITY": PriorityFrame(1, depends_on=0, stream_weight=1),
    "empty DATA": DataFrame(1, b""),
    "RST_STREAM of a stream that is over": RstStreamFrame(1, error_code=8),
    "WINDOW_UPDATE": WindowUpdateFrame(0, window_increment=1),
}


@pytest.mark.parametrize("frame", FLOODS.values(), ids=FLOODS)
def test_who_floods_is_asked_to_calm_down_and_loses_its_connection_alone(stage: Stage, frame: Frame) -> None:
    async def scene() -> None:
        bad, good = stage.consumer("a"), Neighbour(stage)
        good.begin("p", "q")
        bad.begin(call("a", "p", "Hang"))
        await stage.settle(bad, good.peer)
        bad.lawless = True
        sent, flood = 0, frame.serialize() * 500
        while not bad.line.is_closing():
            bad.line.feed(flood)
            bad.read()
            sent += 500
            assert sent < 50_000, "nobody minds"
        await stage.settle(bad, good.peer)
        assert bad.goodbye is not None and bad.goodbye.error_code == Code.ENHANCE_YOUR_CALM
        good.speak(end=True)
        await stage.settle(good.peer)
        good.check()
        await _leave(stage, bad, good.peer)

    stage.play(scene())


def test_calls_that_are_reset_at_once_leave_nothing(stage: Stage) -> None:
    async def scene() -> None:
        bad, good = stage.consumer("a"), Neighbour(stage)
        good.begin("p", "q")
        for number in range(600):
            bad.abandon(bad.begin(call("a", "p", "Both", str(number))))
            if number % 100 == 0:
                good.speak()
                await stage.settle(bad, good.peer)
        good.speak(end=True)
        await stage.settle(bad, good.peer)
        good.check()
        stage.check_attribution()
        await _leave(stage, bad, good.peer)

    stage.play(scene())


def test_a_consumer_that_asks_and_does_not_read_is_cut_off_before_its_answers_pile_up(stage: Stage) -> None:
    async def scene() -> None:
        bad = stage.consumer("a")
        bad.reading = False
        # Each is refused, with a status that says much.
        fields = call("a", "p", "None" * 300)
        while not bad.line.is_closing():
            bad.begin(fields)
            assert bad.line.get_write_buffer_size() < 6 << 20
        stage.loop.now += 2
        await stage.settle()
        assert bad.line.gone
        stage.check_at_rest()
        assert not stage.inbound

    stage.play(scene())


# --- header blocks ---


def test_a_header_block_that_never_ends_ends_its_connection(stage: Stage) -> None:
    async def scene() -> None:
        bad, good = stage.consumer("a"), Neighbour(stage)
        good.begin("p")
        bad.lawless = True
        bad.send(HeadersFrame(1, b"\x00"))
        sent = 0
        while not bad.line.is_closing():
            bad.send(ContinuationFrame(1, b"x" * 1000))
            sent += 1000
            assert sent < 1 << 20
        good.speak(end=True)
        await stage.settle(bad, good.peer)
        assert bad.goodbye is not None and bad.goodbye.error_code == Code.ENHANCE_YOUR_CALM
        good.check()
        await _leave(stage, good.peer)

    stage.play(scene())


def test_a_peer_may_refer_to_its_table_until_it_knows_that_there_is_none(stage: Stage) -> None:
    async def scene() -> None:
        b = stage.consumer("b")
        # Nothing of the router was read, so the second block refers to the first.
        told = [b.begin(call("b", "p", "Unary", mark)) for mark in "12"]
        for each in told:
            b.data(each, prefixed(b"x"), end=True)
        await stage.settle(b)
        told.append(b.begin(call("b", "p", "Unary", "3")))
        b.data(told[-1], prefixed(b"x"), end=True)
        await stage.settle(b)
        assert [each.status for each in told] == ["0"] * 3
        stage.check_attribution()
        await _leave(stage, b)

    stage.play(scene())


REFUSED: dict[str, tuple[Fields, str]] = {
    "no te": ([each for each in call("b", "p") if each[0] != "te"], "3"),
    "no token": ([each for each in call("b", "p") if each[0] != "wuu-token"], "16"),
    "no service": ([each for each in call("b", "p") if each[0] != "wuu-service"], "3"),
    "a service that contradicts the path": (
        [(name, "fuzz.q@1" if name == "wuu-service" else value) for name, value in call("b", "p")],
        "12",
    ),
    "more than 16 KiB of metadata": ([*call("b", "p"), ("x-large", "x" * 17_000)], "8"),
    "a content-type that is not gRPC's": (
        [(name, "text/plain" if name == "content-type" else value) for name, value in call("b", "p")],
        "3",
    ),
}


@pytest.mark.parametrize(("fields", "status"), REFUSED.values(), ids=REFUSED)
def test_a_request_that_cannot_pass_is_refused_with_a_status(
    stage: Stage, fields: Fields, status: str
) -> None:
    async def scene() -> None:
        b = stage.consumer("b")
        refused, kept = b.begin(fields), b.begin(call("b", "p", "Unary"))
        b.data(kept, prefixed(b"x"), end=True)
        await stage.settle(b)
        assert (refused.status, kept.status) == (status, "0")
        await _leave(stage, b)

    stage.play(scene())


MALFORMED: dict[str, Fields] = {
    "no path": [each for each in call("b", "p") if each[0] != ":path"],
    "no method": [each for each in call("b", "p") if each[0] != ":method"],
    "a second path": [(":path", "/other"), *call("b", "p")],
    "a name in upper case": [*call("b", "p"), ("X-Upper", "1")],
    "a field of connections": [*call("b", "p"), ("connection", "close")],
    "a line break": [*call("b", "p"), ("x-break", "a\r\nb")],
    "a content-length that no number holds": [*call("b", "p"), ("content-length", "9" * 400)],
}


@pytest.mark.parametrize("fields", MALFORMED.values(), ids=MALFORMED)
def test_a_malformed_request_loses_its_stream_alone(stage: Stage, fields: Fields) -> None:
    async def scene() -> None:
        b = stage.consumer("b")
        refused, kept = b.begin(fields), b.begin(call("b", "p", "Unary"))
        b.data(kept, prefixed(b"x"), end=True)
        await stage.settle(b)
        assert (refused.reset, kept.status) == (Code.PROTOCOL_ERROR, "0")
        await _leave(stage, b)

    stage.play(scene())


# --- messages ---


@pytest.mark.parametrize("pieces", [1, 5, 1 << 18])
def test_a_message_past_the_limit_is_refused_by_its_prefix_alone(stage: Stage, pieces: int) -> None:
    async def scene() -> None:
        b = stage.consumer("b")
        told = b.begin(call("b", "p", "Hang"))
        await stage.settle(b)
        b.send(DataFrame(1, PREFIX.pack(0, MESSAGE_LIMIT + 1)), pieces)
        await stage.settle(b)
        assert told.status == "8"
        await _leave(stage, b)

    stage.play(scene())


def test_an_answer_past_the_limit_is_refused_by_its_prefix_alone(stage: Stage) -> None:
    async def scene() -> None:
        b, provider = stage.consumer("b"), stage.providers["p"]
        told = b.begin(call("b", "p", "Hang"))
        await stage.settle(b)
        provider.peer.headers(provider.peer.streams[1], ANSWER)
        provider.peer.data(provider.peer.streams[1], PREFIX.pack(0, MESSAGE_LIMIT + 1))
        await stage.settle(b)
        assert told.status == "8"
        assert provider.peer.streams[1].reset is not None
        await _leave(stage, b)

    stage.play(scene())


def test_an_answer_that_is_cut_short_does_not_pass_for_a_whole_one(stage: Stage) -> None:
    async def scene() -> None:
        b, provider = stage.consumer("b"), stage.providers["p"]
        told = b.begin(call("b", "p", "Hang"))
        await stage.settle(b)
        provider.peer.headers(provider.peer.streams[1], ANSWER)
        provider.peer.data(provider.peer.streams[1], prefixed(b"whole")[:-1])
        provider.peer.finish(provider.peer.streams[1], OK)
        await stage.settle(b)
        assert told.status not in ("", "0")
        await _leave(stage, b)

    stage.play(scene())


# --- where a peer vanishes ---


async def _nothing(_: Stage, __: Peer) -> None: ...


async def _half_a_head(_: Stage, peer: Peer) -> None:
    block = peer.encoder.encode(call("a", "p"))
    peer.line.feed(HeadersFrame(1, block, flags=["END_HEADERS"]).serialize()[:-10])


async def _half_a_block(_: Stage, peer: Peer) -> None:
    peer.line.feed(HeadersFrame(1, peer.encoder.encode(call("a", "p"))[:20]).serialize())


def _begun(peer: Peer, rpc: str = "Hang") -> Told:
    return peer.begin(call("a", "p", rpc))


async def _a_call(stage: Stage, peer: Peer) -> None:
    _begun(peer)


async def _a_call_that_arrived(stage: Stage, peer: Peer) -> None:
    _begun(peer)
    await stage.settle(peer)


async def _half_a_message(stage: Stage, peer: Peer) -> None:
    peer.data(_begun(peer), prefixed(b"x" * 100)[:50])
    await stage.settle(peer)


async def _half_a_request_that_must_be_whole(stage: Stage, peer: Peer) -> None:
    peer.data(_begun(peer, "Journaled"), prefixed(b"x" * 100)[:50])
    await stage.settle(peer)


async def _an_answer_that_has_begun(stage: Stage, peer: Peer) -> None:
    peer.data(_begun(peer, "Both"), prefixed(b"x" * 100))
    await stage.settle(peer)


async def _an_answer_that_it_did_not_read(stage: Stage, peer: Peer) -> None:
    peer.reading = False
    peer.data(_begun(peer, "Unary"), prefixed(b"x" * 60_000), end=True)
    await stage.settle()


STATES = {
    "the preface": _nothing,
    "half a HEADERS frame": _half_a_head,
    "half a header block": _half_a_block,
    "a call": _a_call,
    "a call that has arrived": _a_call_that_arrived,
    "half a message": _half_a_message,
    "half a request that must be whole": _half_a_request_that_must_be_whole,
    "an answer that has begun": _an_answer_that_has_begun,
    "an answer that it did not read": _an_answer_that_it_did_not_read,
}


@pytest.mark.parametrize("reach", STATES.values(), ids=STATES)
def test_a_consumer_that_vanishes_leaves_nothing(stage: Stage, reach: object) -> None:
    async def scene() -> None:
        bad, good = stage.consumer("a"), Neighbour(stage)
        good.begin("p", "q")
        await reach(stage, bad)  # type: ignore[operator]
        bad.line.vanish()
        good.speak(end=True)
        await stage.settle(good.peer)
        good.check()
        await _leave(stage, good.peer)

    stage.play(scene())


@pytest.mark.parametrize("rpc", ["Unary", "Both", "Hang", "Journaled"])
def test_a_provider_that_vanishes_ends_its_calls_with_a_status(stage: Stage, rpc: str) -> None:
    async def scene() -> None:
        b, good = stage.consumer("c"), Neighbour(stage)
        good.begin("q")
        calls = [b.begin(call("c", "p", rpc, str(number))) for number in range(50)]
        for told in calls:
            b.data(told, prefixed(b"half" * 10)[:20])
        await stage.settle(b, good.peer)
        for peer in stage.providers["p"].peers:
            peer.line.vanish()
        await stage.settle(b, good.peer)
        if rpc == "Journaled":
            # Nothing of them was sent; what follows finds that there is somebody again.
            for told in calls:
                b.data(told, prefixed(b"half" * 10)[20:], end=True)
            await stage.settle(b, good.peer)
        assert {told.status for told in calls} == {"0" if rpc == "Journaled" else "14"}
        good.speak(end=True)
        await stage.settle(good.peer)
        good.check()
        await _leave(stage, b, good.peer)

    stage.play(scene())


@pytest.mark.parametrize("room", [0, 1, 3])
def test_calls_past_what_a_provider_takes_at_once_wait_and_come_in_order(stage: Stage, room: int) -> None:
    async def scene() -> None:
        provider = stage.providers["p"]
        provider.settings = {MAX_CONCURRENT_STREAMS: room}
        b = stage.consumer("b")
        await stage.settle(b)
        calls = [b.begin(call("b", "p", "Both", f"{number:02}")) for number in range(20)]
        for told in calls:
            b.data(told, prefixed(b"x"), end=True)
        gone = b.begin(call("b", "p", "Both", "gone"))
        b.abandon(gone)
        await stage.settle(b)
        if not room:
            provider.peer.settings({MAX_CONCURRENT_STREAMS: 100})
            await stage.settle(b)
        assert {told.status for told in calls} == {"0"}
        assert [mark for mark, _ in provider.marks] == sorted(mark for mark, _ in provider.marks)
        await _leave(stage, b)

    stage.play(scene())


def test_many_large_messages_at_once_cost_nobody_a_connection(stage: Stage) -> None:
    async def scene() -> None:
        b = stage.consumer("b")
        message = prefixed(b"x" * 200_000)
        calls = [b.begin(call("b", "p", "Both", str(number))) for number in range(60)]
        for told in calls:
            b.data(told, message, end=True)
        await stage.settle(b)
        assert len(stage.providers["p"].peers) == 1
        assert {told.status for told in calls} == {"0"}
        assert all(bytes(told.body) == message for told in calls)
        await _leave(stage, b)

    stage.play(scene())


@pytest.mark.parametrize("whose", ["consumer", "provider"])
def test_a_peer_that_reads_late_gets_everything_and_little_waits_for_it(stage: Stage, whose: str) -> None:
    async def scene() -> None:
        b = stage.consumer("b", {INITIAL_WINDOW_SIZE: 1 << 24})
        stage.providers["p"].settings = {INITIAL_WINDOW_SIZE: 1 << 24}
        b.grant(None, 1 << 28)
        message = prefixed(b"x" * 100_000)
        calls = [b.begin(call("b", "p", "Both", str(number))) for number in range(120)]
        await stage.settle(b)
        late = b if whose == "consumer" else stage.providers["p"].peer
        late.reading = False
        stage.providers["p"].peer.grant(None, 1 << 28)
        for told in calls:
            b.data(told, message, end=True)
        await stage.settle(b)
        # What the transport holds is little; what the streams hold is within their windows.
        assert late.line.get_write_buffer_size() < 2 << 20
        late.reading = True
        while any(not told.ended for told in calls):
            late.read()
            await turns()
            assert late.line.get_write_buffer_size() < 2 << 20
            # It asks before it reads the rest.
            late.send(PingFrame(0, b"are you "))
            await turns()
            assert not late.line.is_closing(), "a peer that reads was cut off"
            for peer in (b, stage.providers["p"].peer):
                if peer is not late:
                    peer.read()
        await stage.settle(b)
        assert {told.status for told in calls} == {"0"}
        assert all(bytes(told.body) == message for told in calls)
        await _leave(stage, b)

    stage.play(scene())


def test_a_deadline_ends_a_call_whoever_is_silent(stage: Stage) -> None:
    async def scene() -> None:
        b = stage.consumer("b")
        told = b.begin([*call("b", "p", "Hang"), ("grpc-timeout", "10S")])
        await stage.settle(b)
        assert not told.blocks
        stage.loop.now += 11
        await stage.settle(b)
        assert told.status == "4"
        assert stage.providers["p"].peer.streams[1].reset is not None
        await _leave(stage, b)

    stage.play(scene())


@pytest.mark.parametrize("rpc", ["Unary", "Now"])
def test_answers_that_nobody_takes_are_bounded(
    stage: Stage, rpc: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    # A twentieth of it, which is sooner reached.
    monkeypatch.setattr(connection, "WAITING_LIMIT", connection.WAITING_LIMIT // 20)

    async def scene() -> None:
        bad, good = stage.consumer("a", {INITIAL_WINDOW_SIZE: 0}), Neighbour(stage)
        good.begin("p", "q")
        [inbound] = [each for each in stage.inbound if each.transport is bad.line]
        message, made = prefixed(b"x" * 60_000), 0
        while not bad.line.is_closing():
            bad.data(bad.begin(call("a", "p", rpc, str(made))), message, end=True)
            made += 1
            if made % 20 == 0:
                await stage.settle(bad, good.peer)
                assert inbound.waiting <= connection.WAITING_LIMIT
        good.speak(end=True)
        await stage.settle(bad, good.peer)
        assert bad.goodbye is not None and bad.goodbye.error_code == Code.ENHANCE_YOUR_CALM
        good.check()
        await _leave(stage, bad, good.peer)

    stage.play(scene())
