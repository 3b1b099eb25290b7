"""The footprint of a mesh: what it holds of the system's, which may not grow with its generations."""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass

import msgspec
import psutil

from bench.operator import Operator

_LET_GO_WITHIN = 5.0
_POLL = 0.1


class Leaks(msgspec.Struct, frozen=True):
    """By how much a footprint grew; 0 where it did not."""

    processes: int
    """Below the router, children of children too."""
    sockets: int
    """Files in the directory of sockets."""
    descriptors: int
    """Open in the router."""
    generations: int
    """Not closed, although nothing keeps them; the newest does not count."""

    @property
    def total(self) -> int:
        """All of them together."""
        return self.processes + self.sockets + self.descriptors + self.generations


@dataclass(frozen=True, slots=True)
class Footprint:
    """What a mesh holds at one moment."""

    processes: int
    sockets: int
    descriptors: int
    generations: int
    """Those that are not closed, but for the newest."""
    rss: int
    """The router's resident set, in bytes."""

    def beyond(self, before: Footprint) -> Leaks:
        """By how much this one is larger."""
        return Leaks(
            processes=max(self.processes - before.processes, 0),
            sockets=max(self.sockets - before.sockets, 0),
            descriptors=max(self.descriptors - before.descriptors, 0),
            generations=max(self.generations - before.generations, 0),
        )


async def footprint(operator: Operator, *, before: Footprint | None = None) -> Footprint:
    """The footprint once every older generation is closed, or too much time has passed.

    With `before` it gets a little time to become as small: what was closed is let go of a moment later.
    """
    generations = await operator.unclosed()
    deadline = time.monotonic() + _LET_GO_WITHIN
    while True:
        found = _footprint(operator, generations)
        if before is None or not found.beyond(before).total or time.monotonic() > deadline:
            return found
        await asyncio.sleep(_POLL)


def _footprint(operator: Operator, generations: int) -> Footprint:
    router = psutil.Process(operator.running.pid)
    return Footprint(
        processes=len(router.children(recursive=True)),
        sockets=sum(1 for _ in operator.home.sockets.iterdir()),
        descriptors=router.num_fds(),
        generations=generations,
        rss=router.memory_info().rss,
    )
