"""The listener: a gRPC server on a Unix socket, bound anew whenever its socket is gone."""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import grpc

LOOK = 0.5
"""Seconds between looks at the socket's file."""

STOP_MARGIN = 0.5
"""Seconds that a server has to stop beyond its grace."""

log = logging.getLogger(__name__)


class Listener:
    """A server on a Unix socket that only this user can open.

    `grpc.aio` ends its server, and removes its socket, at a request whose `:path` is not UTF-8; and whatever
    cleans up a runtime directory may take a socket with it. Nobody is to lose a mesh to that: a socket that
    is gone is bound anew at the same path. Calls that were in flight end as they would have.
    """

    def __init__(self, path: Path, server: Callable[[], grpc.aio.Server]) -> None:
        """`server` makes a server with everything that it serves."""
        self._path = path
        self._server = server
        self._servers: list[grpc.aio.Server] = []
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
        # One that has ended unasked says its reason again, or waits for ever for a call that it serves.
        with suppress(UnicodeDecodeError, TimeoutError):
            async with asyncio.timeout(grace + STOP_MARGIN):
                await asyncio.gather(*(server.stop(grace) for server in self._servers))

    async def _listen(self) -> None:
        server = self._server()
        before = os.umask(0o177)
        try:
            server.add_insecure_port(f"unix:{self._path}")
        except RuntimeError as refused:
            raise OSError(f"cannot listen on {self._path}: {refused}") from None
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
