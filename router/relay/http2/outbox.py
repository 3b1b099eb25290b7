"""Outbox: what one read has led to is written at its end, once for each connection."""

from __future__ import annotations

import asyncio
from typing import Protocol
from weakref import WeakKeyDictionary


class Writer(Protocol):
    """A connection that has something to write."""

    def flush(self) -> None: ...


class Outbox:
    """The connections of one event loop that have something to write.

    A call that comes with its messages in one read so costs one write; to write each frame by itself took
    half of the time of a call.
    """

    def __init__(self) -> None:
        self.reading = False
        """A read is being handled, and flushes at its end."""
        self._full: list[Writer] = []
        self._scheduled = False

    def add(self, writer: Writer) -> None:
        """It has something to write, and had nothing before."""
        self._full.append(writer)
        if not self.reading and not self._scheduled:
            self._scheduled = True
            asyncio.get_running_loop().call_soon(self._flush_later)

    def flush(self) -> None:
        """Writes everything."""
        self.reading = False
        full, self._full = self._full, []
        for writer in full:
            writer.flush()

    def _flush_later(self) -> None:
        self._scheduled = False
        self.flush()


_OUTBOXES: WeakKeyDictionary[asyncio.AbstractEventLoop, Outbox] = WeakKeyDictionary()


def outbox() -> Outbox:
    """The outbox of the running event loop."""
    return _OUTBOXES.setdefault(asyncio.get_running_loop(), Outbox())
