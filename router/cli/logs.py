"""`wuu-mesh logs`."""

from __future__ import annotations

import sys
from pathlib import Path

from router.cli.exits import EXIT_NO_MESH, NoMesh, explained, fail, say
from router.cli.session import Session
from wuu.mesh.v1.control_pb2 import ReadLogRequest, ReadLogResponse

FOLLOW_MS = 10_000
TAIL_BYTES = 64 * 1024


def print_log(root: Path | None, module: str, *, follow: bool) -> None:
    """Prints the end of a log, and with `follow` what is added to it."""
    with explained():
        try:
            session = Session.of(root)
        except NoMesh as absent:
            fail(EXIT_NO_MESH, str(absent), f"What the last one logged is in {absent.home.logs}.")
        with session:
            end = _read(session, module, -TAIL_BYTES)
            begun = end.next_offset - len(end.data)
            try:
                # Not from the middle of a line.
                _write(end.data.partition(b"\n")[2] if begun else end.data)
                if follow:
                    _follow(session, module, end.next_offset)
            except KeyboardInterrupt:
                # That is how following ends.
                return


def _follow(session: Session, module: str, offset: int) -> None:
    try:
        while True:
            more = _read(session, module, offset, FOLLOW_MS)
            _write(more.data)
            offset = more.next_offset
    except NoMesh:
        say("the mesh has stopped")


def _read(session: Session, module: str, offset: int, wait_ms: int = 0) -> ReadLogResponse:
    request = ReadLogRequest(module=module, offset=offset, max_bytes=TAIL_BYTES, wait_ms=wait_ms)
    answer: ReadLogResponse = session.ask(session.control.ReadLog, request)
    return answer


def _write(data: bytes) -> None:
    sys.stdout.buffer.write(data)
    sys.stdout.buffer.flush()
