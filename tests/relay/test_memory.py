"""What the router keeps of calls that are over, half of which were cancelled somewhere on their way."""

from __future__ import annotations

import os
from collections import Counter
from pathlib import Path
from random import Random

from hyperframe.frame import DataFrame

from router.relay.message import prefixed
from tests.relay.peer import Told
from tests.relay.test_sockets import STREAMS, fields, request
from tests.relay.wire import Wire
from tests.support.composition import probe
from tests.support.mesh import Mesh, running

CALLS = int(os.environ.get("WUU_TEST_CANCELLED", "2000"))
"""How many calls are made."""

AT_ONCE = 50

GROWTH = 5.0
"""MiB by which the router may grow behind the first tenth of the calls."""

POINTS = ("headers", "half a message", "request", "answer begins", "answer")
"""Where a call may be cancelled: once it has sent, or heard, so much."""


class Load:
    """One consumer that makes calls, and cancels every other one."""

    def __init__(self, wire: Wire, random: Random) -> None:
        self._wire = wire
        self._random = random
        self._plans: dict[Told, str] = {}
        self.ends: Counter[str] = Counter()
        wire.peer.on_begun, wire.peer.on_data = self._begun, self._heard

    async def calls(self, count: int) -> None:
        """Makes so many calls, and returns once they are over."""
        made = [self._call() for _ in range(count)]
        await self._wire.until(lambda: all(told.ended or told.abandoned for told in made))
        for told in made:
            end = "cancelled" if told.abandoned else told.status
            self.ends[end] += 1
        self._plans.clear()

    def _call(self) -> Told:
        peer, random = self._wire.peer, self._random
        rpc = random.choice(["", "Unary", "Both", "Watch"])
        size = random.choice([1, 100, 3000])
        told = peer.begin(
            fields(service="probe.streams@1", path=f"{STREAMS}/{rpc}") if rpc else fields("echo")
        )
        cancelled = rpc == "Watch" or random.random() < 1 / 3
        plan = random.choice(POINTS) if cancelled else ""
        self._plans[told] = plan
        message = prefixed(b"x" * size) if rpc else request(b'"' + b"x" * size + b'"')
        if self._reached(told, "headers"):
            return told
        if plan == "half a message":
            peer.send(DataFrame(told.id, message[: len(message) // 2]))
            self._reached(told, plan)
            return told
        peer.data(told, message, end=True)
        self._reached(told, "request")
        return told

    def _begun(self, told: Told) -> None:
        self._reached(told, "answer begins")

    def _heard(self, told: Told, _: bytes) -> None:
        self._reached(told, "answer")

    def _reached(self, told: Told, point: str) -> bool:
        """Cancels a call that was to come so far."""
        due = self._plans.get(told) == point and not told.ended and not told.abandoned
        if due:
            self._wire.peer.abandon(told)
        return due


def _rss(mesh: Mesh) -> float:
    rss: int = mesh.status()["router"]["rss_bytes"]
    return rss / (1 << 20)


async def test_the_router_keeps_nothing_of_calls_that_are_over() -> None:
    async with running(probe("a", provides=["probe.a@1"], streams="probe.streams@1")) as mesh:
        announced = mesh.announced
        assert announced is not None
        random, ends, sizes = Random(1), Counter[str](), []
        for _ in range(10):
            async with Wire.connected(Path(announced.control)) as wire:
                load = Load(wire, random)
                for _ in range(0, CALLS // 10, AT_ONCE):
                    await load.calls(AT_ONCE)
                ends += load.ends
            await mesh.idle()
            sizes.append(_rss(mesh))
        assert set(ends) == {"0", "cancelled"}, ends
        assert CALLS * 0.4 < ends["cancelled"] < CALLS * 0.6, ends
        grown = ", ".join(f"{size:.1f}" for size in sizes)
        assert max(sizes) - sizes[0] <= GROWTH, f"MiB after each tenth: {grown}"
