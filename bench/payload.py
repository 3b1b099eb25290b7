"""What is carried, each way alike: echoes of one size, or a stream of messages."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from bench.benchmark import Say
from bench.columns import Round, Sample, sample
from bench.mesh import RunningMesh
from bench.operator import Operator, operator
from bench.ways import Way

CALLER = "bench.caller@1"


class Payload(Protocol):
    """One thing that is carried."""

    @property
    def name(self) -> str:
        """What progress calls it."""

    async def warm_up(self, by: Operator, way: Way) -> None:
        """Carries some before anything is measured."""

    async def sample(self, by: Operator, way: Way) -> Sample:
        """Carries it and measures."""


@dataclass(frozen=True, slots=True)
class Echoes:
    """Unary calls that return what they are sent."""

    name: str
    size: int
    """Bytes of JSON."""
    in_flight: int
    """How many calls the throughput is measured with."""
    warm: int
    """Calls with that many in flight, before the first round."""
    single: int
    """Calls one at a time, in each round."""
    many: int
    """Calls with many in flight, in each round."""

    async def warm_up(self, by: Operator, way: Way) -> None:
        await self._call(by, way, self.warm, self.in_flight)

    async def sample(self, by: Operator, way: Way) -> Sample:
        single = await self._call(by, way, self.single, 1)
        before = way.cpu_seconds()
        many = await self._call(by, way, self.many, self.in_flight)
        cpu = way.cpu_seconds() - before
        return sample(single["latencies_ns"], self.many, many["seconds"], cpu)

    async def _call(self, by: Operator, way: Way, calls: int, in_flight: int) -> Any:
        params = {"calls": calls, "concurrency": in_flight, "size": self.size, "direct": way.past}
        return await by.call(CALLER, "measure", params)


@dataclass(frozen=True, slots=True)
class Stream:
    """One call that is answered with many messages. A call of its sample is a message."""

    name: str
    size: int
    """Bytes of JSON in each message."""
    messages: int
    """In the stream of each round; the stream before the first is a tenth as long."""

    async def warm_up(self, by: Operator, way: Way) -> None:
        await self._receive(by, way, self.messages // 10)

    async def sample(self, by: Operator, way: Way) -> Sample:
        before = way.cpu_seconds()
        received = await self._receive(by, way, self.messages)
        cpu = way.cpu_seconds() - before
        return sample(received["latencies_ns"], self.messages, received["seconds"], cpu)

    async def _receive(self, by: Operator, way: Way, messages: int) -> Any:
        params = {"messages": messages, "size": self.size, "direct": way.past}
        return await by.call(CALLER, "measure-stream", params)


async def carried(
    running: RunningMesh, ways: Sequence[Way], payload: Payload, rounds: int, say: Say
) -> list[Round]:
    """Every way in every round, each time in another order."""
    async with operator(running) as by:
        for way in ways:
            await payload.warm_up(by, way)
        order = list(ways)
        taken: list[Round] = []
        for index in range(rounds):
            samples = {way.name: await payload.sample(by, way) for way in order}
            taken.append(samples)
            say(f"{payload.name} round {index + 1}/{rounds}: {_told(samples, ways)}")
            order.append(order.pop(0))
    return taken


def _told(samples: Round, ways: Sequence[Way]) -> str:
    return ", ".join(
        f"{way.name} {samples[way.name].p50_us:.0f} µs {samples[way.name].calls_per_s:.0f}/s" for way in ways
    )
