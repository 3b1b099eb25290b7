"""Providers without manners: what one does ends the calls that it serves, with a status, and no others."""

from __future__ import annotations

from hypothesis import given

from tests.relay import step
from tests.relay.line import Loop
from tests.relay.neighbour import Neighbour, fuzz
from tests.relay.peer import Peer
from tests.relay.stage import Provider, Stage, call, play
from tests.relay.step import Step


class Rude(Provider):
    """A provider that serves nothing by itself."""

    def _begun(self, told: object) -> None: ...

    def _data(self, told: object, payload: bytes) -> None: ...

    def _end(self, told: object) -> None: ...


async def _provider_misbehaves(stage: Stage, steps: list[Step]) -> None:
    rude = stage.replace("p", Rude)
    good = Neighbour(stage)
    good.begin("q")
    victims = stage.consumer("c")
    calls = [victims.begin(call("c", "p", rpc, f"{n}")) for n, rpc in enumerate(("Both", "Unary", "Hang"))]
    kept = victims.begin(call("c", "q", "Both", "kept"))
    victims.data(calls[0], b"\0\0\0\0\1x")
    victims.data(calls[1], b"\0\0\0\0\1x", end=True)
    await stage.settle(victims, good.peer)
    for number, each in enumerate(steps):
        each.take(rude.peer, number)
        good.speak()
        await stage.settle(victims, good.peer)
        if rude.peer.line.is_closing():
            break
    victims.data(kept, b"\0\0\0\0\1x", end=True)
    good.speak(end=True)
    await stage.settle(victims, good.peer)
    good.check()
    assert (kept.status, bytes(kept.body)) == ("0", b"\0\0\0\0\1x")
    for peer in rude.peers:
        if not peer.line.gone:
            peer.line.vanish()
    await stage.settle(victims, good.peer)
    for told in calls:
        assert told.status or told.reset is not None, f"nobody has ended {told.id}"
    assert not victims.line.is_closing(), "a consumer was cut off"
    stage.check_at_rest()
    stage.check_attribution()
    _leave(victims, good.peer)
    assert not stage.inbound


def _leave(*peers: Peer) -> None:
    for peer in peers:
        peer.line.vanish()


@fuzz
@given(steps=step.of_providers)
def test_a_provider_without_manners_ends_its_own_calls_alone(loop: Loop, steps: list[Step]) -> None:
    play(loop, _provider_misbehaves(Stage(loop), steps))
