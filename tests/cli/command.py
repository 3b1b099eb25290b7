"""Commands as they are typed, without a home or a mesh of the test's own."""

from __future__ import annotations

import os
import select
import subprocess
import sys
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path

import psutil

from tests.support.composition import Entry
from tests.support.mesh import WUU_MESH, Mesh
from tests.support.process import PATIENCE


def bare(*arguments: str, env: Mapping[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    """Runs `wuu-mesh ARGUMENTS` to its end; `env` is all that it gets, None: what the test has."""
    return subprocess.run(
        [WUU_MESH, *arguments], capture_output=True, text=True, check=False, timeout=60, env=env
    )


def script(text: str, mesh: Mesh) -> subprocess.CompletedProcess[str]:
    """Runs a script that finds `wuu-mesh` on its PATH and the home of a mesh in its environment."""
    path = os.pathsep.join((str(Path(WUU_MESH).parent), os.environ["PATH"]))
    return subprocess.run(
        ["bash", "-c", text],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
        env={**mesh.env, "WUU_MESH_HOME": str(mesh.home), "PATH": path},
        cwd=mesh.directory,
    )


@asynccontextmanager
async def composed(*entries: Entry, services: Iterable[Mapping[str, object]] = ()) -> AsyncIterator[Mesh]:
    """A composition whose mesh does not run yet."""
    mesh = Mesh(*entries, services=services)
    try:
        yield mesh
    finally:
        await mesh.close()


@contextmanager
def begun(mesh: Mesh, *arguments: object) -> Iterator[subprocess.Popen[bytes]]:
    """A command that runs on, at most to the end of the context; `stdout` has all that it says."""
    command = mesh.spawn(*map(str, arguments), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, bufsize=0)
    try:
        yield command
    finally:
        command.terminate()
        command.wait(PATIENCE)


def heard(command: subprocess.Popen[bytes], beginning: str) -> str:
    """Reads lines until one begins like this, and returns it."""
    for line in _lines(command):
        if line.startswith(beginning):
            return line
    raise AssertionError(f"the command ended with {command.wait()} and never said {beginning!r}")


def end(command: subprocess.Popen[bytes]) -> tuple[int, str]:
    """Waits for the end of a command: its exit code, and what it said since it was last read."""
    said = "".join(_lines(command))
    return command.wait(PATIENCE), said


def at_terminal(command: Sequence[str]) -> list[str]:
    """The command as a shell starts it: its terminal is its own, and keys are signals."""
    take = "fcntl.ioctl(0, termios.TIOCSCTTY, 0); os.execv(sys.argv[1], sys.argv[1:])"
    return [sys.executable, "-c", f"import fcntl, os, sys, termios; {take}", *command]


def happens(fifo: Path) -> None:
    """Waits until somebody has written to a FIFO."""
    reader = os.open(fifo, os.O_RDONLY | os.O_NONBLOCK)
    try:
        assert select.select([reader], [], [], PATIENCE)[0], f"nobody wrote to {fifo}"
    finally:
        os.close(reader)


def left_behind(mesh: Mesh) -> list[psutil.Process]:
    """Processes that still stand in the directory of a mesh."""
    return [
        process
        for process in psutil.process_iter(["cwd"])
        if (process.info["cwd"] or "").startswith(str(mesh.directory))
    ]


def _lines(command: subprocess.Popen[bytes]) -> Iterator[str]:
    out = command.stdout
    assert out is not None
    line = b""
    while True:
        assert select.select([out], [], [], PATIENCE)[0], f"nothing was said any more, after {line!r}"
        byte = out.read(1)
        line += byte
        if line and byte in (b"\n", b""):
            yield line.decode()
            line = b""
        if not byte:
            return
