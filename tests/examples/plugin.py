"""A plugin's process and its two pipes, with a test in the place of the host."""

from __future__ import annotations

import asyncio
import itertools
import json
from pathlib import Path
from typing import Any, Self

from contract.transport import MESSAGE_LIMIT

PATIENCE = 30.0
"""Seconds after which a test that waits for a frame has failed."""

Frame = dict[str, Any]


class Plugin:
    """One start of the package in a directory. Use it as an async context."""

    def __init__(self, package: Path) -> None:
        self._package = package
        self._numbers = itertools.count(1)

    async def __aenter__(self) -> Self:
        runtime = json.loads((self._package / "plugin.json").read_bytes())["runtime"]
        self._process = await asyncio.create_subprocess_exec(
            runtime["command"],
            *runtime["args"],
            cwd=self._package,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            limit=MESSAGE_LIMIT,
        )
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._process.returncode is None:
            self._process.kill()
            await self._process.wait()

    async def write(self, line: str) -> None:
        """Writes a line to its standard input."""
        assert self._process.stdin is not None
        self._process.stdin.write(line.encode() + b"\n")
        await self._process.stdin.drain()

    async def read(self) -> Frame:
        """The next frame that it writes."""
        assert self._process.stdout is not None
        line = await asyncio.wait_for(self._process.stdout.readline(), PATIENCE)
        assert line, "the plugin closed its output"
        frame: Frame = json.loads(line)
        return frame

    async def ask(self, method: str, params: object = None) -> str:
        """Sends a request and returns its id."""
        number = str(next(self._numbers))
        frame = {"id": number, "method": method} | ({} if params is None else {"params": params})
        await self.write(json.dumps(frame))
        return number

    async def answer(self, frame: Frame, result: object) -> None:
        """Answers a request of the plugin."""
        await self.write(json.dumps({"id": frame["id"], "result": result}))

    async def refuse(self, frame: Frame, code: str) -> None:
        """Answers a request of the plugin with an error."""
        await self.write(json.dumps({"id": frame["id"], "error": {"code": code, "message": "as asked"}}))

    async def end(self) -> int:
        """Ends its standard input, and returns its exit status."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        return await asyncio.wait_for(self._process.wait(), PATIENCE)
