"""A provider that comes and goes: whatever happens to its connections, every call ends, and only once."""

from __future__ import annotations

from hyperframe.frame import GoAwayFrame, SettingsFrame
from hypothesis import given
from hypothesis import strategies as st

from router.relay.message import prefixed
from tests.relay.line import Loop, turns
from tests.relay.neighbour import Neighbour, fuzz
from tests.relay.peer import Told
from tests.relay.stage import Stage, call, play

happenings = st.lists(
    st.tuples(
        st.sampled_from(
            [
                "a call",
                "a call",
                "a call",
                "a cancel",
                "a goodbye",
                "a late goodbye",
                "a loss",
                "deaf",
                "heard",
                "room",
                "retired",
                "ended",
                "a turn",
            ]
        ),
        st.integers(0, 9),
    ),
    max_size=30,
)


async def _comes_and_goes(stage: Stage, happens: list[tuple[str, int]]) -> None:
    good, b = Neighbour(stage), stage.consumer("c")
    good.begin("q")
    provider, channel = stage.providers["p"], stage.instances["p"].calls
    socket = str(stage.instances["p"].socket)
    provider.settings = {SettingsFrame.MAX_CONCURRENT_STREAMS: 3}
    calls: list[Told] = []
    for happening, number in happens:
        live = [peer for peer in provider.peers if not peer.line.is_closing()]
        match happening:
            case "a call":
                told = b.begin(call("c", "p", ("Both", "Unary", "Hang")[number % 3], str(len(calls))))
                b.data(told, prefixed(b"x" * number), end=number % 2 == 0)
                calls.append(told)
            case "a cancel" if number < len(calls) and not calls[number].ended:
                b.abandon(calls[number])
            case "a goodbye" | "a late goodbye" if live:
                last = 2**31 - 1 if happening == "a late goodbye" else number
                live[-1].send(GoAwayFrame(0, last, 0))
            case "a loss" if live:
                live[number % len(live)].line.vanish()
            case "deaf":
                stage.loop.listening.pop(socket, None)
            case "heard":
                stage.loop.listening[socket] = provider.connected
            case "room" if live:
                live[-1].settings({SettingsFrame.MAX_CONCURRENT_STREAMS: number})
            case "retired":
                channel.retire()
            case "ended":
                channel.close()
            case "a turn":
                await turns(number)
        if number % 3 == 0:
            good.speak()
            await stage.settle(b, good.peer)
    await stage.settle(b, good.peer)
    channel.close()
    for peer in provider.peers:
        if not peer.line.gone:
            peer.line.vanish()
    good.speak(end=True)
    await stage.settle(b, good.peer)
    good.check()
    for told in calls:
        assert told.ended or told.abandoned, f"nobody has ended {told.id}"
    stage.check_attribution()
    stage.check_at_rest()
    for peer in (b, good.peer):
        peer.line.vanish()


@fuzz
@given(happens=happenings)
def test_every_call_ends_whatever_happens_to_its_provider(loop: Loop, happens: list[tuple[str, int]]) -> None:
    play(loop, _comes_and_goes(Stage(loop), happens))
