"""`wuu-mesh logs`."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from router.cli.session import Session
from router.cli.terminal import HomeOption, explained, modules_completion
from wuu.mesh.v1.control_pb2 import ReadLogRequest, ReadLogResponse

FOLLOW_MS = 10_000
TAIL_BYTES = 64 * 1024


def logs(
    module: Annotated[
        str,
        typer.Argument(
            help="The module; the router's own log without one.", autocompletion=modules_completion
        ),
    ] = "",
    follow: Annotated[bool, typer.Option("--follow", "-f", help="Go on as the log grows.")] = False,
    home: HomeOption = None,
) -> None:
    """Print the end of the log of a module's newest instance."""
    with explained(), Session.of(home) as session:
        offset = -TAIL_BYTES
        while True:
            answer: ReadLogResponse = session.ask(
                session.control.ReadLog,
                ReadLogRequest(
                    module=module, offset=offset, wait_ms=FOLLOW_MS if follow and offset >= 0 else 0
                ),
            )
            sys.stdout.buffer.write(answer.data)
            sys.stdout.buffer.flush()
            offset = answer.next_offset
            if not answer.data and not follow:
                return
