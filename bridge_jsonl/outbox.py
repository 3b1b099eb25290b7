"""The outbox: lines on their way into a plugin's standard input. It never blocks the loop."""

from __future__ import annotations

import asyncio
import os
from collections import deque
from collections.abc import Callable

ROOM = 64 * 1024 * 1024
"""Bytes that may wait before nothing new is begun."""

HELD = 2 * ROOM
"""Bytes that may wait in all: what was begun while there was room may end all at once."""


class Outbox:
    """Writes lines in their order, as fast as the plugin reads them."""

    def __init__(self, stdin: int, broken: Callable[[], None]) -> None:
        """`broken` is called when the plugin does not take input any more."""
        os.set_blocking(stdin, False)
        self._stdin = stdin
        self._broken = broken
        self._loop = asyncio.get_running_loop()
        self._waiting: deque[memoryview] = deque()
        self._size = 0
        self._room = asyncio.Event()
        self._room.set()
        self._closed = False

    @property
    def full(self) -> bool:
        """Whether the plugin is so far behind that nothing new is to be begun."""
        return not self._room.is_set()

    def takes(self, line: bytes) -> bool:
        """Whether there is room to hold a line, however late it is read."""
        return self._size + len(line) <= HELD

    async def room(self) -> None:
        """Returns once the outbox is not full."""
        await self._room.wait()

    def put(self, line: bytes) -> None:
        """Takes one line. Once closed, lines are dropped."""
        if self._closed:
            return
        self._waiting.append(memoryview(line))
        self._size += len(line)
        if self._size > ROOM:
            self._room.clear()
        if len(self._waiting) == 1:
            self._write()
            if self._waiting:
                self._loop.add_writer(self._stdin, self._write)

    def close(self) -> None:
        """Ends the plugin's standard input; what still waits is dropped."""
        if self._closed:
            return
        self._closed = True
        self._loop.remove_writer(self._stdin)
        os.close(self._stdin)
        self._waiting.clear()
        self._room.set()

    def _write(self) -> None:
        try:
            while self._waiting:
                head = self._waiting[0]
                written = os.write(self._stdin, head)
                self._size -= written
                if written < len(head):
                    self._waiting[0] = head[written:]
                    break
                self._waiting.popleft()
        except BlockingIOError:
            pass  # The loop calls again once the plugin has read.
        except OSError:
            self._broken()
            return
        if not self._waiting:
            self._loop.remove_writer(self._stdin)
        if self._size <= ROOM:
            self._room.set()
