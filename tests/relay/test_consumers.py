"""Consumers without manners: what one does stays on its own connection."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, given, settings

from router.relay.message import prefixed
from tests.relay import step
from tests.relay.line import Loop
from tests.relay.peer import Peer, Told
from tests.relay.stage import Stage, call, play
from tests.relay.step import Step

EXAMPLES = int(os.environ.get("WUU_TEST_FUZZ", "150"))
"""How many scenes are played of each kind."""

fuzz = settings(max_examples=EXAMPLES, suppress_health_check=list(HealthCheck))


@pytest.fixture(scope="module")
def loop() -> Iterator[Loop]:
    loop = Loop()
    yield loop
    loop.close()


class Neighbour:
    """A consumer that keeps the rules, with a call to each provider; it says a little more in each turn."""

    def __init__(self, stage: Stage, name: str = "b") -> None:
        self.peer: Peer = stage.consumer(name)
        self.calls: list[tuple[Told, bytearray]] = []
        self._name = name
        self._turn = 0

    def begin(self, *providers: str) -> None:
        for provider in providers:
            self.calls.append((self.peer.begin(call(self._name, provider, "Both", provider)), bytearray()))

    def speak(self, *, end: bool = False) -> None:
        self._turn += 1
        for told, said in self.calls:
            message = prefixed(f"{told.id} says {self._turn}".encode() * (self._turn % 7 * 20))
            said += message
            self.peer.data(told, message, end=end)

    def check(self) -> None:
        """Every byte has come back, in order, and the end behind them."""
        for told, said in self.calls:
            assert told.status == "0", (told.id, told.blocks, told.reset)
            assert bytes(told.body) == bytes(said), "bytes were lost"


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
