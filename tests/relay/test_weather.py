"""Peers that keep the rules in bad weather: their windows, frames and limits change in mid-flight, and they
stop reading as they like. No byte is lost, none comes out of order, and the router keeps the rules, too.
"""

from __future__ import annotations

from dataclasses import dataclass

from hyperframe.frame import SettingsFrame
from hypothesis import given
from hypothesis import strategies as st

from router.relay.message import prefixed
from tests.relay.line import Loop, turns
from tests.relay.neighbour import fuzz
from tests.relay.peer import Peer, Told
from tests.relay.stage import Stage, call, play

WINDOW, FRAME, STREAMS = (
    SettingsFrame.INITIAL_WINDOW_SIZE,
    SettingsFrame.MAX_FRAME_SIZE,
    SettingsFrame.MAX_CONCURRENT_STREAMS,
)

settings = st.fixed_dictionaries(
    {},
    optional={
        WINDOW: st.sampled_from([0, 1, 10, 1000, 65_535, 1 << 20]),
        FRAME: st.sampled_from([16_384, 16_385, 1 << 20]),
        STREAMS: st.sampled_from([0, 1, 2, 100]),
    },
)


@dataclass(frozen=True)
class Change:
    """What one end does: says something else of itself, stops or begins to read and to give back windows."""

    of_provider: bool
    settings: dict[int, int]
    reading: bool
    generous: bool

    def take(self, peer: Peer) -> None:
        """The peer changes."""
        if self.settings:
            peer.settings(self.settings)
        peer.reading, peer.generous = self.reading, self.generous
        if self.generous:
            peer.repay()


@dataclass(frozen=True)
class Message:
    """A message of a call; calls begin with their first."""

    call: int
    size: int


@dataclass(frozen=True)
class Cancelled:
    """A call is cancelled."""

    call: int


changes = st.builds(Change, st.booleans(), settings, st.booleans(), st.booleans())
messages = st.builds(
    Message, st.integers(0, 5), st.sampled_from([0, 1, 100, 5000, 16_379, 16_380, 40_000, 70_000])
)
cancels = st.builds(Cancelled, st.integers(4, 5))


async def _weather(stage: Stage, first: dict[int, int], happens: list[Change | Message | Cancelled]) -> None:
    stage.providers["p"].settings = first
    b = stage.consumer("b")
    calls: dict[int, tuple[Told, bytearray]] = {}
    for each in happens:
        served = stage.providers["p"].peers
        if isinstance(each, Message):
            if each.call not in calls:
                calls[each.call] = b.begin(call("b", "p", "Both", str(each.call))), bytearray()
            told, said = calls[each.call]
            message = prefixed(bytes((each.call + len(said)) % 251 for _ in range(each.size)))
            said.extend(message)
            b.data(told, message)
        elif isinstance(each, Cancelled):
            if each.call in calls and not calls[each.call][0].abandoned:
                b.abandon(calls[each.call][0])
        elif not each.of_provider or served:
            each.take(served[0] if each.of_provider else b)
        await turns()
        for peer in (b, *served):
            peer.read()
    for told, _ in calls.values():
        b.data(told, b"", end=True)
    fair = Change(of_provider=False, settings={WINDOW: 1 << 20, STREAMS: 100}, reading=True, generous=True)
    for peer in (b, *stage.providers["p"].peers):
        fair.take(peer)
    await stage.settle(b)
    for told, said in calls.values():
        if not told.abandoned:
            assert told.status == "0", (told.blocks, told.reset)
            assert bytes(told.body) == bytes(said), "bytes were lost"
    stage.check_attribution()
    for peer in (b, *stage.providers["p"].peers):
        assert peer.goodbye is None
    b.line.vanish()
    await stage.settle()
    stage.check_at_rest()


@fuzz
@given(first=settings, happens=st.lists(st.one_of(changes, messages, messages, cancels), max_size=40))
def test_every_byte_arrives_whatever_the_weather(
    loop: Loop, first: dict[int, int], happens: list[Change | Message | Cancelled]
) -> None:
    play(loop, _weather(Stage(loop), first, happens))
