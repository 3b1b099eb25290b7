"""The listener: a server on a Unix socket, bound anew whenever its socket is gone."""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Protocol

LOOK = 0.5
"""Seconds between looks at the socket's file."""

STOP_MARGIN = 0.5
"""Seconds that a server has to stop beyond its grace."""

log = logging.getLogger(__name__)


class Server(Protocol):
    """What serves on a socket, once."""

    def bind(self, path: Path) -> None:
        """Takes the path. Raises OSError."""

    async def start(self) -> None:
        """Serves."""

    async def stop(self, grace: float) -> None:
        """Takes no more calls, and ends those in flight after `grace` seconds."""


class Listener:
    """A server on a Unix socket that only this user can open.

    Whatever cleans up a runtime directory may take a socket with it, and some servers lose theirs. Nobody is
    to lose a mesh to that: a socket that is gone is bound anew at the same path. Calls in flight end as they
    would have.
    """

    def __init__(self, path: Path, server: Callable[[], Server]) -> None:
        """`server` makes a server with everything that it serves."""
        self._path = path
        self._server = server
        self._servers: list[Server] = []
        self._keeping: asyncio.Task[None] | None = None

    async def start(self) -> None:
        """Listens. Raises OSError when it cannot."""
        await self._listen()
        self._keeping = asyncio.create_task(self._keep())

    async def stop(self, grace: float) -> None:
        """Takes no more calls, and ends those in flight after `grace` seconds."""
        if self._keeping is not None:
            self._keeping.cancel()
            await asyncio.wait((self._keeping,))
        # One that has lost its socket may wait for ever for a call that it serves.
        with suppress(TimeoutError):
            async with asyncio.timeout(grace + STOP_MARGIN):
                await asyncio.gather(*(server.stop(grace) for server in self._servers))

    async def _listen(self) -> None:
        server = self._server()
        before = os.umask(0o177)
        try:
            server.bind(self._path)
        finally:
            os.umask(before)
        await server.start()
        self._servers.append(server)

    async def _keep(self) -> None:
        while True:
            await asyncio.sleep(LOOK)
            if self._path.exists():
                continue
            try:
                self._path.parent.mkdir(mode=0o700, exist_ok=True)
                await self._listen()
                log.error("the socket was gone and is bound anew", extra={"socket": str(self._path)})
            except OSError as refused:
                log.error("the socket is gone", extra={"socket": str(self._path), "reason": str(refused)})
