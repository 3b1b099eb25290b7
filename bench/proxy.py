"""A proxy that the router is compared with: a program of somebody else, in front of the provider's socket."""

from __future__ import annotations

import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from bench.benchmark import Failed

_LISTENS_WITHIN = 20.0
_POLL = 0.01


@dataclass(frozen=True, slots=True)
class Proxy:
    """One kind of proxy."""

    name: str
    """What its column is called."""
    find: Callable[[], str | None]
    """The program on this machine; None where it is not installed."""
    command: Callable[[str, Path, Path, str], Sequence[str]]
    """Given the program, an empty directory, the socket to listen at and the provider's socket: writes its
    configuration into the directory and returns what to run. It stays in the foreground, with one worker, and
    says on standard error what is wrong."""


@dataclass(frozen=True, slots=True)
class RunningProxy:
    """A proxy that listens."""

    socket: Path
    pid: int
    """Its workers are this process or children of it."""


@contextmanager
def listening(proxy: Proxy, program: str, provider: str) -> Iterator[RunningProxy]:
    """The proxy in front of the provider's socket, until the end of the block."""
    home = Path(tempfile.mkdtemp(prefix=f"wuu-bench-{proxy.name}-"))
    running, log = home / "socket", home / "log"
    try:
        with log.open("wb") as said:
            process = subprocess.Popen(
                proxy.command(program, home, running, provider),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=said,
            )
        try:
            _wait_until_listening(proxy, process, running, log)
            yield RunningProxy(running, process.pid)
        finally:
            process.terminate()
            process.wait()
    finally:
        shutil.rmtree(home)


def _wait_until_listening(proxy: Proxy, process: subprocess.Popen[bytes], at: Path, log: Path) -> None:
    deadline = time.monotonic() + _LISTENS_WITHIN
    with socket.socket(socket.AF_UNIX) as probe:
        while probe.connect_ex(str(at)):
            if process.poll() is not None or time.monotonic() > deadline:
                said = log.read_text(errors="replace").strip() or "nothing"
                raise Failed(f"{proxy.name} does not listen; it said: {said}")
            time.sleep(_POLL)
