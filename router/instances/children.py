"""The router's end of the guardian: children by name, and how each of them ended."""

from __future__ import annotations

import asyncio
import json
import logging
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import msgspec

from router.instances import guardian


@dataclass(frozen=True, slots=True)
class Exit:
    """How a process ended: an exit status or a signal."""

    status: int | None
    signal: int | None

    def __str__(self) -> str:
        if self.signal is not None:
            try:
                return f"was killed by {signal.Signals(self.signal).name}"
            except ValueError:
                return f"was killed by signal {self.signal}"
        return f"exited with status {self.status}"


@dataclass(slots=True, eq=False)
class Child:
    """One process that the guardian started."""

    name: str
    pid: int
    exited: asyncio.Future[Exit]
    """Done when the process has been collected."""

    async def exits(self, within: float) -> bool:
        """Whether it has been collected in so many seconds."""
        await asyncio.wait([self.exited], timeout=within)
        return self.exited.done()


@dataclass(frozen=True, slots=True, kw_only=True)
class Spawn:
    """What to start; see `router.instances.guardian` for the roles."""

    name: str
    role: Literal["instance", "host", "plugin"]
    argv: Sequence[str]
    cwd: Path
    env: Mapping[str, str]
    log: Path
    line: bytes = b""
    host: str = ""
    attach: Any = None


SPAWN_TIMEOUT = 10.0
"""Seconds that the guardian has to start a child."""

PING_TIMEOUT = 1.5
"""Seconds that the guardian has to say that it is still there; a bridge may hold it for one."""

RELEASE_TIMEOUT = 2.0
"""Seconds that the guardian has to end what is left, and itself."""

KILL_WAIT = 1.0
"""Seconds that the system has to end a process that was killed."""

log = logging.getLogger(__name__)


@dataclass(slots=True)
class Children:
    """Every child process of this router."""

    _process: subprocess.Popen[bytes]
    _reader: asyncio.StreamReader
    _writer: asyncio.StreamWriter
    _children: dict[str, Child] = field(default_factory=dict)
    _starting: dict[str, asyncio.Future[Child]] = field(default_factory=dict)
    lost: asyncio.Event = field(default_factory=asyncio.Event)
    """Set when the guardian is gone: nothing can be started or collected any more."""
    _pong: asyncio.Event = field(default_factory=asyncio.Event)
    _listening: asyncio.Task[None] | None = None

    @classmethod
    async def guard(cls) -> Children:
        """Starts the guardian, before anything else is started."""
        ours, theirs = socket.socketpair()
        with theirs:
            process = subprocess.Popen(  # noqa: ASYNC220 (nothing is served yet)
                [sys.executable, "-I", "-S", guardian.__file__],
                stdin=theirs.fileno(),
                # The router's standard output is its parent's, who waits for its end.
                stdout=subprocess.DEVNULL,
                process_group=0,
            )
        reader, writer = await asyncio.open_unix_connection(sock=ours, limit=1 << 20)
        children = cls(process, reader, writer)
        children._listening = asyncio.create_task(children._listen())
        return children

    async def spawn(self, spawn: Spawn) -> Child:
        """Starts a child; OSError says why it could not be started.

        A guardian that takes longer than `SPAWN_TIMEOUT` is lost.
        """
        if self.lost.is_set():
            raise OSError("the guardian is gone")
        started: asyncio.Future[Child] = asyncio.get_running_loop().create_future()
        self._starting[spawn.name] = started
        self._tell(
            op="spawn",
            child=spawn.name,
            role=spawn.role,
            argv=list(spawn.argv),
            cwd=str(spawn.cwd),
            env=dict(spawn.env),
            log=str(spawn.log),
            line=spawn.line.decode(),
            host=spawn.host,
            attach=msgspec.to_builtins(spawn.attach),
        )
        try:
            async with asyncio.timeout(SPAWN_TIMEOUT):
                return await started
        except TimeoutError:
            self._drop()
            raise OSError(f"the guardian did not answer within {SPAWN_TIMEOUT:g} s") from None

    async def answers(self) -> bool:
        """Whether the guardian does what it is asked; one that is stopped or hangs is lost."""
        self._pong.clear()
        self._tell(op="ping")
        try:
            async with asyncio.timeout(PING_TIMEOUT):
                await self._pong.wait()
        except TimeoutError:
            self._drop()
        return not self.lost.is_set()

    def close(self, child: Child) -> None:
        """Ends the child's standard input: its lifeline."""
        self._tell(op="close", child=child.name)

    def kill(self, child: Child, number: signal.Signals = signal.SIGKILL) -> None:
        """Signals the child's process group."""
        self._tell(op="kill", child=child.name, signal=int(number))

    async def end(self, child: Child, grace: float) -> None:
        """Ends a process: its lifeline, `grace` seconds later SIGTERM, and after as many again SIGKILL.

        One that has become another user's may outlive it.
        """
        self.close(child)
        if await child.exits(grace):
            return
        self.kill(child, signal.SIGTERM)
        if await child.exits(grace):
            return
        self.kill(child)
        await child.exits(KILL_WAIT)

    async def release(self) -> None:
        """Lets the guardian go: it ends what is left, and itself."""
        self._writer.close()
        if self._listening is not None:
            self._listening.cancel()
        try:
            await asyncio.to_thread(self._process.wait, RELEASE_TIMEOUT)
        except subprocess.TimeoutExpired:
            self._drop()
            await asyncio.to_thread(self._process.wait)

    def _drop(self) -> None:
        """Ends a guardian that does not do its work, and everything that it guards."""
        log.error("the guardian does not answer and is killed", extra={"pid": self._process.pid})
        self._process.kill()
        if not self.lost.is_set():
            self._lose()

    def _tell(self, **message: Any) -> None:
        if not self.lost.is_set():
            # Paths and variables may have any bytes, which Python has as lone surrogates: not for msgspec.
            self._writer.write(json.dumps(message).encode() + b"\n")

    async def _listen(self) -> None:
        try:
            await self._hear()
        except ConnectionError:
            pass  # A guardian that was killed with requests unread resets the connection.
        except (ValueError, KeyError, msgspec.MsgspecError):
            log.exception("what the guardian said cannot be read")
        if not self.lost.is_set():
            self._lose()

    async def _hear(self) -> None:
        loop = asyncio.get_running_loop()
        while line := await self._reader.readline():
            message = msgspec.json.decode(line)
            name = message.get("child", "")
            match message["op"]:
                case "pong":
                    self._pong.set()
                case "spawned":
                    child = Child(name, message["pid"], loop.create_future())
                    self._children[name] = child
                    started = self._starting.pop(name)
                    if started.cancelled():
                        # Nobody waits for it any more, so nobody else would end it.
                        self.kill(child)
                    else:
                        started.set_result(child)
                case "refused":
                    started = self._starting.pop(name)
                    if not started.cancelled():
                        started.set_exception(OSError(message["errno"], message["error"]))
                case "exited":
                    ended = Exit(message["status"], message["signal"])
                    self._children.pop(name).exited.set_result(ended)

    def _lose(self) -> None:
        self.lost.set()
        self._pong.set()
        for started in self._starting.values():
            if not started.done():
                started.set_exception(OSError("the guardian is gone"))
        # Their lifelines ended with the guardian, and nobody collects them but the system.
        for child in self._children.values():
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(child.pid, signal.SIGKILL)
            child.exited.set_result(Exit(None, signal.SIGKILL))
        self._children.clear()
