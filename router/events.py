"""Events: what happened, in one order."""

from __future__ import annotations

import asyncio
import logging
import time
from collections import deque
from contextlib import suppress

from wuu.mesh.v1.control_pb2 import Event

KEPT = 10_000
"""How many events are kept."""

PAGE = 256
"""How many events one response has at most."""

DRAIN = 0.5
"""Seconds within which a follower asks again, or is gone."""

log = logging.getLogger(__name__)


class Events:
    """The events of one router."""

    def __init__(self) -> None:
        self._kept: deque[Event] = deque(maxlen=KEPT)
        self._sequence = 0
        self._more = asyncio.Event()
        self._read = 0
        """The last event that a follower has come back from."""
        self._followed_at: float | None = None
        self._all_read = asyncio.Event()

    def emit(self, kind: str, subject: str, state: str, message: str = "", code: str = "") -> None:
        """Adds an event; see `proto/wuu/mesh/v1/control.proto`."""
        self._sequence += 1
        self._kept.append(
            Event(
                sequence=self._sequence,
                at_unix_ms=round(time.time() * 1000),
                kind=kind,
                subject=subject,
                state=state,
                message=message,
                code=code,
            )
        )
        log.info(f"{kind} {state}", extra={"subject": subject, "reason": message})
        self._all_read.clear()
        self._more.set()
        self._more = asyncio.Event()

    async def after(self, sequence: int, wait: float) -> list[Event]:
        """At most a page of events past `sequence`; waits up to `wait` seconds for the first."""
        self._read = max(self._read, sequence)
        if self._read >= self._sequence:
            self._all_read.set()
        if self._sequence <= sequence and wait > 0:
            with suppress(TimeoutError):
                async with asyncio.timeout(wait):
                    await self._more.wait()
        if wait > 0:
            self._followed_at = time.monotonic()
        return [event for event in self._kept if event.sequence > sequence][:PAGE]

    async def drain(self) -> None:
        """Waits until whoever follows the events has read the last, at most `DRAIN` seconds."""
        if self._followed_at is None or time.monotonic() - self._followed_at > DRAIN:
            return
        with suppress(TimeoutError):
            async with asyncio.timeout(DRAIN):
                await self._all_read.wait()
