"""Processes as a test looks at them: it waits for their ends, and never for a while."""

from __future__ import annotations

import os
import select
import signal
import weakref

import psutil

PATIENCE = 30.0
"""Seconds after which a test gives up on an event that it waits for, and fails."""


class Process:
    """A process, held by a descriptor: a later process with the same id is never taken for it."""

    def __init__(self, pid: int) -> None:
        """ProcessLookupError where there is none."""
        self.pid = pid
        self._descriptor = os.pidfd_open(pid)
        weakref.finalize(self, os.close, self._descriptor)

    def ends(self, within: float = PATIENCE) -> bool:
        """Whether it ends within so many seconds; returns as soon as it has."""
        return bool(select.select([self._descriptor], [], [], within)[0])

    def signal(self, number: int) -> None:
        """Sends it a signal."""
        signal.pidfd_send_signal(self._descriptor, number)

    def kill(self) -> None:
        """Kills it, if it has not ended."""
        if not self.ends(0):
            self.signal(signal.SIGKILL)

    def children(self) -> list[Process]:
        """The processes right below it."""
        return [Process(child.pid) for child in psutil.Process(self.pid).children()]

    def descendants(self) -> list[Process]:
        """Every process below it."""
        return [Process(child.pid) for child in psutil.Process(self.pid).children(recursive=True)]


def is_alive(pid: int) -> bool:
    """Whether a process has not ended; one that waits to be collected has."""
    try:
        return not Process(pid).ends(0)
    except ProcessLookupError:
        return False
