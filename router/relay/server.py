"""The server of one socket of the router."""

from __future__ import annotations

import asyncio
import socket
from pathlib import Path

from router.relay.http2.inbound import Accept, Inbound

BACKLOG = 1024
"""Connections that wait to be taken."""


class Server:
    """Takes connections on one socket."""

    def __init__(self, accept: Accept) -> None:
        self._accept = accept
        self._live: set[Inbound] = set()
        self._listening: asyncio.Server | None = None
        self._socket = socket.socket(socket.AF_UNIX)

    def bind(self, path: Path) -> None:
        """Takes the path. Raises OSError."""
        path.unlink(missing_ok=True)
        self._socket.setblocking(False)
        self._socket.bind(str(path))
        self._socket.listen(BACKLOG)

    async def start(self) -> None:
        """Takes connections."""
        self._listening = await asyncio.get_running_loop().create_unix_server(
            lambda: Inbound(self._accept, self._live), sock=self._socket
        )

    async def stop(self, grace: float) -> None:
        """Takes no more, says so to every consumer, and ends their calls after `grace` seconds."""
        if self._listening is not None:
            self._listening.close()
        live = tuple(self._live)
        for connection in live:
            connection.end()
        if live:
            await asyncio.wait([connection.closed for connection in live], timeout=grace)
        for connection in tuple(self._live):
            connection.abort()
