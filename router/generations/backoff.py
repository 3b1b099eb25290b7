"""Backoff: when a module that failed is started anew, and when it is left alone. Pure."""

from __future__ import annotations

from dataclasses import dataclass

FIRST = 0.25
"""Seconds before the first new start, at most."""

MOST = 30.0
"""Seconds between two starts, at most."""

ATTEMPTS = 5
"""New starts in a row after which a module is left alone."""

STABLE = 60.0
"""Seconds of service after which the count begins anew."""


@dataclass(slots=True)
class Backoff:
    """The new starts of one module."""

    failures: int = 0
    """In a row."""

    def next(self, served: float, random: float) -> float | None:
        """Seconds until the next start; None once there were too many.

        `served` is for how many seconds the module was active before it failed, `random` is below 1: modules
        that fail together do not start together.
        """
        if served >= STABLE:
            self.failures = 0
        self.failures += 1
        if self.failures > ATTEMPTS:
            return None
        return float(min(FIRST * 2 ** (self.failures - 1), MOST)) * (0.5 + random / 2)
