"""The router's program: `python -m router HOME [COMPOSITION] [--workspace DIR]`, started by `wuu-mesh up`.

It tells its parent one JSON line on standard output: `{"pid", "control"}` once it can be asked, or
`{"code", "message", "remedy", "exit"}` when it cannot run. With `--attached`, the end of standard input stops
it, so that it never outlives the terminal that it was started from.
"""

from __future__ import annotations

import argparse
import asyncio
import errno
import os
import resource
import signal
import sqlite3
import sys
from contextlib import closing
from pathlib import Path

import msgspec
import uvloop

from contract.errors import MeshError
from contract.log import log_to_stderr
from router.composition.rejected import Rejected
from router.generations.journal import Journal, Recorded
from router.home import Hold, Home, Running
from router.instances.log import begin, log_of
from router.instances.orphans import adopt_orphans, end_orphans
from router.mesh import Mesh
from router.names import ROUTER_LOG
from router.reading import Composition, layers, read
from router.unusable import remedy_of

EXIT_FAILED = 1
EXIT_BAD_FILE = 2

FILES_AT_LEAST = 64
"""Descriptors without which nothing runs: below, gRPC ends the process instead of saying so."""


class Refusal(msgspec.Struct):
    """Why the router does not run."""

    code: str
    message: str
    remedy: str
    exit: int


def main() -> int:
    """Runs one router to its end."""
    arguments = argparse.ArgumentParser(prog="router")
    arguments.add_argument("home", type=Path)
    arguments.add_argument("composition", type=Path, nargs="?")
    arguments.add_argument("--workspace", type=Path)
    arguments.add_argument("--attached", action="store_true")
    given = arguments.parse_args()
    try:
        return _run(given.home, given.composition, given.workspace, attached=given.attached)
    except MeshError as error:
        return _refuse(Refusal(error.code, error.message, error.remedy, EXIT_FAILED))
    except Rejected as rejected:
        problems = "\n".join(str(problem) for problem in rejected.problems)
        return _refuse(Refusal("invalid_request", problems, "Correct the composition.", EXIT_BAD_FILE))
    except OSError as unusable:
        message = f"{unusable.filename or given.home}: {unusable.strerror or unusable}"
        return _refuse(Refusal("host_error", message, remedy_of(unusable), EXIT_BAD_FILE))
    except sqlite3.Error as unusable:
        journal = Home.at(given.home).journal
        remedy = (
            "Move it out of the way: it starts anew, without what this home remembers; or use another home."
        )
        return _refuse(Refusal("host_error", f"{journal}: {unusable}", remedy, EXIT_BAD_FILE))


def _run(root: Path, composition: Path | None, workspace: Path | None, *, attached: bool) -> int:
    files, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if 0 <= files < FILES_AT_LEAST:
        raise OSError(
            errno.EMFILE, f"{files} open files are allowed, and a mesh needs {FILES_AT_LEAST} or more"
        )
    home = Home.at(root)
    hold = home.open()
    try:
        adopt_orphans()
        found, starting = _journal(home)
        if composition is not None or starting is None:
            starting = layers(home, composition, workspace).composition
        # What cannot be read is said before anything is started.
        read(starting, home)
        log = log_of(home.logs, ROUTER_LOG, str(os.getpid()))
        begin(log)
        with log.open("ab") as opened:
            os.dup2(opened.fileno(), 2)
        log_to_stderr()
        mesh = Mesh(home, starting)
        with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            runner.run(_serve(mesh, hold, found, attached=attached))
        return 0
    finally:
        end_orphans()
        hold.close()


def _journal(home: Home) -> tuple[list[Recorded], Composition | None]:
    """What an earlier router left, and the composition that was committed last."""
    with closing(Journal(home.journal)) as journal:
        return journal.found(), journal.last_committed()


async def _serve(mesh: Mesh, hold: Hold, found: list[Recorded], *, attached: bool) -> None:
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        loop.add_signal_handler(number, mesh.stop_requested.set)

    def parent() -> None:
        if not os.read(0, 4096):
            loop.remove_reader(0)
            mesh.stop_requested.set()

    if attached:
        loop.add_reader(0, parent)
    await mesh.run(hold, _announce, found)


def _announce(running: Running) -> None:
    _tell(running)


def _refuse(refusal: Refusal) -> int:
    _tell(refusal)
    return refusal.exit


def _tell(message: msgspec.Struct) -> None:
    try:
        os.write(1, msgspec.json.encode(message) + b"\n")
    except BrokenPipeError:
        pass  # The parent has gone; a detached router goes on without it.


if __name__ == "__main__":
    status = main()
    sys.stderr.flush()
    # Everything is closed; gRPC's threads only make the interpreter's own end slow.
    os._exit(status)
