"""Chatter: frames that serve no call. A peer that sends too many of them means to keep us busy."""

from __future__ import annotations

import time

from router.relay.http2.frame import Code, Violation

LIMIT = 4000
"""How many a peer may send in one second while it is sent nothing."""


class Chatter:
    """What one peer has chattered."""

    __slots__ = ("_since", "count")

    def __init__(self) -> None:
        self.count = 0
        """Since something was sent to the peer that serves a call; whoever sends it sets this back."""
        self._since = 0.0

    def add(self, weight: int = 1) -> None:
        """One more frame, as much trouble as so many. Raises `Violation` where it is too much."""
        self.count += weight
        if self.count >= LIMIT:
            now = time.monotonic()
            if now - self._since < 1:
                raise Violation(Code.ENHANCE_YOUR_CALM, f"{LIMIT} frames in a second serve no call")
            self.count, self._since = 0, now
