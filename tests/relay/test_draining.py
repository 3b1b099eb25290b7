"""Draining: what is open goes on to its end, and the last of it closes the connection."""

from __future__ import annotations

from router.relay.message import prefixed
from tests.relay.stage import OK, Stage, call


def test_a_mesh_that_stops_says_so_and_serves_what_it_took_up(stage: Stage) -> None:
    async def scene() -> None:
        consumer, provider = stage.consumer("c"), stage.providers["p"]
        open_call = consumer.begin(call("c", "p", "Both", "open"))
        consumer.data(open_call, prefixed(b"one"))
        await stage.settle(consumer)
        [inbound] = stage.inbound
        inbound.end()
        await stage.settle(consumer)
        assert consumer.goodbye is not None
        assert (consumer.goodbye.last_stream_id, consumer.goodbye.error_code) == (1, 0)
        late = consumer.begin(call("c", "p", "Both", "late"))
        consumer.data(open_call, prefixed(b"two"), end=True)
        await stage.settle(consumer)
        assert open_call.status == "0"
        assert bytes(open_call.body) == prefixed(b"one") + prefixed(b"two")
        assert late.reset == 7, "it is not refused"
        assert len(provider.marks) == 1
        assert consumer.line.gone
        stage.check_at_rest()

    stage.play(scene())


def test_the_last_call_of_a_retired_instance_closes_its_connection(stage: Stage) -> None:
    async def scene() -> None:
        consumer, provider = stage.consumer("c"), stage.providers["p"]
        calls = [consumer.begin(call("c", "p", "Hang", str(number))) for number in range(2)]
        await stage.settle(consumer)
        provider.instance.calls.retire()
        await stage.settle(consumer)
        for told, served in zip(calls, tuple(provider.peer.streams.values()), strict=True):
            assert not provider.peer.line.gone
            provider.peer.headers(served, [(":status", "200"), ("content-type", "application/grpc")])
            provider.peer.finish(served, OK)
            await stage.settle(consumer)
            assert told.status == "0"
        assert provider.peer.goodbye is not None
        assert provider.peer.goodbye.error_code == 0
        assert provider.peer.line.gone
        # Who is served elsewhere keeps the connection.
        assert not consumer.line.gone
        other = consumer.begin(call("c", "q", "Both", "other"))
        consumer.data(other, prefixed(b"x"), end=True)
        await stage.settle(consumer)
        assert other.status == "0"
        stage.check_at_rest()

    stage.play(scene())


def test_a_journaled_request_is_sent_whole_or_not_at_all(stage: Stage) -> None:
    async def scene() -> None:
        consumer, vanishing, provider = stage.consumer("c"), stage.consumer("v"), stage.providers["p"]
        message = prefixed(b"x" * 100_000)
        whole = consumer.begin(call("c", "p", "Journaled", "whole"))
        half = vanishing.begin(call("v", "p", "Journaled", "half"))
        consumer.data(whole, message[:-1])
        vanishing.data(half, message[:-1])
        await stage.settle(consumer, vanishing)
        assert not provider.marks
        vanishing.line.vanish()
        consumer.data(whole, message[-1:], end=True)
        await stage.settle(consumer)
        assert whole.status == "0"
        assert [mark for mark, _ in provider.marks] == ["c-whole"]
        stage.check_at_rest()

    stage.play(scene())
