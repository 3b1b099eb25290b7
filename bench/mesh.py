"""A mesh that runs for one benchmark, driven by the commands that an operator types."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec

from bench.benchmark import Failed

_COMMAND = str(Path(sys.executable).with_name("wuu-mesh"))
_SETTLED_WITHIN = 30.0
_POLL = 0.1


class RunningMesh:
    """A mesh in a home of its own."""

    def __init__(self, home: Path) -> None:
        self.home = home
        """Its directory."""

    def call(self, service: str, method: str, params: Mapping[str, Any] | None = None) -> Any:
        """Calls a service as the operator."""
        arguments = [] if params is None else [msgspec.json.encode(params).decode()]
        return msgspec.json.decode(self._run("call", service, method, *arguments))

    def status(self) -> Any:
        """What `status --json` prints."""
        return msgspec.json.decode(self._run("status", "--json"))

    def settled(self) -> Any:
        """The status once no execution is live. `Failed` when one stays."""
        deadline = time.monotonic() + _SETTLED_WITHIN
        while (status := self.status())["router"]["executions"]:
            if time.monotonic() > deadline:
                live = status["router"]["executions"]
                raise Failed(f"{live} executions are live {_SETTLED_WITHIN:g} s after the last call")
            time.sleep(_POLL)
        return status

    def up(self, composition: Path | None) -> float:
        """Starts it; returns the seconds from the start of the command to its end, which is a mesh that
        takes calls."""
        named = [] if composition is None else ["-c", str(composition)]
        begun = time.perf_counter()
        self._run("up", "--detach", *named)
        return time.perf_counter() - begun

    def down(self) -> None:
        """Stops it."""
        self._run("down")

    def _run(self, *arguments: str) -> bytes:
        command = [_COMMAND, *arguments, "--home", str(self.home)]
        ended = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, check=False)
        if ended.returncode:
            words = ended.stderr.decode(errors="replace").strip()
            raise Failed(f"`wuu-mesh {arguments[0]}` exited with {ended.returncode}: {words}")
        return ended.stdout


@contextmanager
def mesh(composition: Path | None) -> Iterator[tuple[RunningMesh, float]]:
    """A fresh mesh with a composition (None: the product's own) and the seconds of its start."""
    home = Path(tempfile.mkdtemp(prefix="wuu-bench-"))
    running = RunningMesh(home)
    try:
        seconds = running.up(composition)
        try:
            yield running, seconds
        finally:
            running.down()
    finally:
        shutil.rmtree(home)
