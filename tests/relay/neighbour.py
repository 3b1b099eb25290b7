"""A neighbour: a consumer that keeps the rules, beside peers that do not."""

from __future__ import annotations

import os

from hypothesis import HealthCheck, settings

from router.relay.message import prefixed
from tests.relay.peer import Peer, Told
from tests.relay.stage import Stage, call

EXAMPLES = int(os.environ.get("WUU_TEST_FUZZ", "100"))
"""How many scenes are played of each kind."""

fuzz = settings(max_examples=EXAMPLES, suppress_health_check=list(HealthCheck))


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
            said.extend(message)
            self.peer.data(told, message, end=end)

    def check(self) -> None:
        """Every byte has come back, in order, and the end behind them."""
        for told, said in self.calls:
            assert told.status == "0", (told.id, told.blocks, told.reset)
            assert bytes(told.body) == bytes(said), "bytes were lost"
