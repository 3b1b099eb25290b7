"""Consumers without manners: what one does stays on its own connection."""

from __future__ import annotations

from hypothesis import given

from tests.relay import step
from tests.relay.line import Loop
from tests.relay.neighbour import Neighbour, fuzz
from tests.relay.stage import Stage, play
from tests.relay.step import Step

async def _consumer_misbehaves(stage: Stage, steps: list[Step]) -> None:
    bad, good = stage.consumer(step.NAME), Neighbour(stage)
    good.begin("p", "q")
    for number, each in enumerate(steps):
        each.take(bad, number)
        good.speak()
        await stage.settle(bad, good.peer)
    good.speak(end=True)
    await stage.settle(bad, good.peer)
    good.check()
    # Deadlines of the scene.
    stage.loop.now += 1.0
    if not bad.line.gone:
        bad.line.vanish()
    await stage.settle(bad, good.peer)
    assert not good.peer.line.is_closing()
    assert all(len(provider.peers) <= 1 for provider in stage.providers.values()), "a provider was cut off"
    stage.check_at_rest()
    stage.check_attribution()
    good.peer.line.vanish()
    assert not stage.inbound


@fuzz
@given(steps=step.of_consumers)
def test_a_consumer_without_manners_loses_its_own_calls_alone(loop: Loop, steps: list[Step]) -> None:
    play(loop, _consumer_misbehaves(Stage(loop), steps))
