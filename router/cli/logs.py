"""`wuu-mesh logs`."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import NoReturn

from router.cli.argument import check_module
from router.cli.exits import EXIT_NO_MESH, NoMesh, explained, fail, say
from router.cli.session import Session
from router.composition.nearest import nearest
from router.home import Home
from router.instances.log import latest_log
from router.names import ROUTER_LOG
from wuu.mesh.v1.control_pb2 import ReadLogRequest, ReadLogResponse

FOLLOW_MS = 10_000
TAIL_BYTES = 64 * 1024


def print_log(root: Path | None, module: str, *, follow: bool) -> None:
    """Prints the end of a log, and with `follow` what is added to it."""
    if module:
        check_module(module)
    with explained():
        try:
            session = Session.of(root)
        except NoMesh as absent:
            _print_last(absent.home, module or ROUTER_LOG)
        with session:
            end = _read(session, module, -TAIL_BYTES)
            try:
                _write(_lines(end.data, begun=end.next_offset - len(end.data)))
                if follow:
                    _follow(session, module, end)
                elif not end.data:
                    say(f"{module} has logged nothing", "`wuu-mesh status` says how it is.")
            except KeyboardInterrupt:
                # That is how following ends.
                return


def _print_last(home: Home, module: str) -> NoReturn:
    """Prints the end of what the last mesh of a home logged, and ends the command."""
    log = latest_log(home.logs, module)
    remedy = "Start one with `wuu-mesh up`, or name its --home."
    if log is None:
        kept = [path.name for path in home.logs.iterdir()] if home.logs.is_dir() else []
        missing = f"{home.logs} has no log of {module}{nearest(module, kept)}"
        fail(EXIT_NO_MESH, f"no mesh is running in {home.root}, and {missing}", remedy)
    with log.open("rb") as opened:
        begun = max(opened.seek(0, os.SEEK_END) - TAIL_BYTES, 0)
        opened.seek(begun)
        _write(_lines(opened.read(), begun=begun))
    fail(EXIT_NO_MESH, f"no mesh is running in {home.root}; this is what the last one logged", remedy)


def _follow(session: Session, module: str, read: ReadLogResponse) -> None:
    """Goes on where the last range ended, and with the log of the newest instance once that one is over."""
    try:
        while True:
            read = _read(session, module, read.next_offset, read.log, FOLLOW_MS)
            _write(read.data)
    except NoMesh:
        say("the mesh has stopped")


def _read(session: Session, module: str, offset: int, log: str = "", wait_ms: int = 0) -> ReadLogResponse:
    request = ReadLogRequest(module=module, offset=offset, max_bytes=TAIL_BYTES, wait_ms=wait_ms, log=log)
    answer: ReadLogResponse = session.ask(session.control.ReadLog, request)
    return answer


def _lines(end: bytes, *, begun: int) -> bytes:
    """The end of a log that begins at an offset: not from the middle of a line, unless it is all one line."""
    return (end.partition(b"\n")[2] or end) if begun else end


def _write(data: bytes) -> None:
    sys.stdout.buffer.write(data)
    sys.stdout.buffer.flush()
