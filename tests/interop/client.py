"""A client of the suite: a process that makes the calls it is ordered to, as a test drives it."""

from __future__ import annotations

import asyncio
import base64
import itertools
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import msgspec

from tests.interop.python.orders import Order, Outcome, Pairs, Router
from tests.support.process import PATIENCE

_LINE_LIMIT = 64 * 1024 * 1024


@dataclass(frozen=True)
class Call:
    """A call that was ordered."""

    client: Client
    number: int
    _outcome: asyncio.Future[Outcome] = field(repr=False)

    def cancel(self) -> None:
        """Has the client cancel it."""
        self.client.send(Order(cancel=self.number))

    async def outcome(self) -> Outcome:
        """What it came to."""
        async with asyncio.timeout(PATIENCE):
            return await self._outcome


class Client:
    """One client process, and its connection to the router."""

    def __init__(self, process: Process) -> None:
        self._process = process
        self._numbers = itertools.count(1)
        self._ordered: dict[int, asyncio.Future[Outcome]] = {}
        self._reading = asyncio.create_task(self._read())

    @classmethod
    async def start(cls, command: Sequence[str], target: str, token: str) -> Client:
        """A client whose calls go to `target` under `token`."""
        program, *arguments = command
        program = sys.executable if program == "python" else program
        process = await asyncio.create_subprocess_exec(
            program, *arguments, stdin=PIPE, stdout=PIPE, limit=_LINE_LIMIT, cwd=Path(__file__).parent
        )
        client = cls(process)
        client.send(Router(target=target, token=token))
        return client

    async def close(self) -> None:
        """Ends its standard input, and with it the client."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        await self._process.wait()
        await self._reading

    def begin(
        self,
        service: str,
        rpc: str,
        *requests: bytes,
        repeat: int = 1,
        metadata: Pairs | None = None,
        timeout: float = 0,
        gzip: bool = False,
    ) -> Call:
        """Orders a call; see `Order`. `timeout` is in seconds, 0: there is none."""
        number = next(self._numbers)
        self._ordered[number] = asyncio.get_running_loop().create_future()
        self.send(
            Order(
                id=number,
                service=service,
                rpc=rpc,
                requests=requests,
                repeat=repeat,
                metadata=metadata or [],
                timeout_ms=round(timeout * 1000),
                gzip=gzip,
            )
        )
        return Call(self, number, self._ordered[number])

    async def call(
        self,
        service: str,
        rpc: str,
        *requests: bytes,
        repeat: int = 1,
        metadata: Pairs | None = None,
        timeout: float = 0,
        gzip: bool = False,
    ) -> Outcome:
        """Orders a call and returns what it came to."""
        ordered = self.begin(
            service, rpc, *requests, repeat=repeat, metadata=metadata, timeout=timeout, gzip=gzip
        )
        return await ordered.outcome()

    def send(self, order: msgspec.Struct) -> None:
        """Writes one line to the client."""
        assert self._process.stdin is not None
        self._process.stdin.write(msgspec.json.encode(order) + b"\n")

    async def _read(self) -> None:
        assert self._process.stdout is not None
        while line := await self._process.stdout.readline():
            outcome = msgspec.json.decode(line, type=Outcome)
            self._ordered.pop(outcome.id).set_result(outcome)
        for left in self._ordered.values():
            left.set_exception(AssertionError(f"the client ended: {await self._process.wait()}"))


def answers(outcome: Outcome) -> list[bytes]:
    """The answers of a call that ended well, none of them large."""
    assert outcome.code == 0, outcome
    return [base64.b64decode(answer) for answer in outcome.answers]
