"""Events: what happened, in one order."""

from __future__ import annotations

import asyncio
import logging
import time
from collections import deque

from wuu.mesh.v1.control_pb2 import Event

KEPT = 10_000
"""How many events are kept."""

PAGE = 256
"""How many events one response has at most."""

log = logging.getLogger(__name__)


class Events:
    """The events of one router."""

    def __init__(self) -> None:
        self._kept: deque[Event] = deque(maxlen=KEPT)
        self._sequence = 0
        self._more = asyncio.Event()

    def emit(self, kind: str, subject: str, state: str, message: str = "") -> None:
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
            )
        )
        log.info(f"{kind} {state}", extra={"subject": subject, "reason": message})
        self._more.set()
        self._more = asyncio.Event()

    async def after(self, sequence: int, wait: float) -> list[Event]:
        """At most a page of events past `sequence`; waits up to `wait` seconds for the first."""
        if self._sequence <= sequence and wait > 0:
            more = asyncio.ensure_future(self._more.wait())
            await asyncio.wait((more,), timeout=wait)
            more.cancel()
        return [event for event in self._kept if event.sequence > sequence][:PAGE]
