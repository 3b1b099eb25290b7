"""The load: callers that call without pause, each the next time as soon as it has its answer."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from bench.calls import Call, Served
from contract.errors import MeshError

ANSWER_WITHIN = 30.0
"""Seconds after which a call is lost."""

_POLL = 0.01

Ask = Callable[[tuple[int, ...]], Awaitable[tuple[int, list[Served]]]]
"""Makes one call with these requests; returns the generation of its execution and who served each."""


@dataclass(slots=True)
class Load:
    """Callers at work."""

    ask: Ask
    requests: int
    """How many each call makes."""
    newest: int
    """The newest generation that is known to be published; whoever swaps says so here."""
    calls: list[Call] = field(default_factory=list)
    """Every call that has ended."""
    errors: Counter[str] = field(default_factory=Counter)
    """What the failed ones were answered with."""
    stopping: bool = False
    _next: int = 0
    _in_flight: set[int] = field(default_factory=set)
    """The first request of each call that has no answer yet."""

    async def call_without_pause(self) -> None:
        """One caller."""
        while not self.stopping:
            first, self._next = self._next, self._next + self.requests
            self._in_flight.add(first)
            self.calls.append(await self._call(tuple(range(first, self._next))))
            self._in_flight.remove(first)

    async def caught_up(self) -> None:
        """Returns once every call that has begun by now has ended."""
        begun = set(self._in_flight)
        while begun & self._in_flight:  # noqa: ASYNC110 (no call is to wake anybody while it is measured)
            await asyncio.sleep(_POLL)

    async def _call(self, requests: tuple[int, ...]) -> Call:
        newest, begun = self.newest, time.perf_counter_ns()
        try:
            async with asyncio.timeout(ANSWER_WITHIN):
                generation, served = await self.ask(requests)
        except TimeoutError:
            return Call(requests, begun, time.perf_counter_ns(), newest, "lost")
        except MeshError as error:
            self.errors[f"{error.code}: {error.message}"] += 1
            return Call(requests, begun, time.perf_counter_ns(), newest, "failed")
        return Call(requests, begun, time.perf_counter_ns(), newest, "answered", generation, tuple(served))


@asynccontextmanager
async def load(ask: Ask, *, callers: int, requests: int, newest: int) -> AsyncIterator[Load]:
    """So many callers at work; at the end every call of theirs has ended."""
    working = Load(ask, requests, newest)
    calling = [asyncio.create_task(working.call_without_pause()) for _ in range(callers)]
    try:
        yield working
    finally:
        working.stopping = True
        await asyncio.gather(*calling)
