"""`wuu-mesh down`."""

from __future__ import annotations

import os
import select
from pathlib import Path

from router.cli.exits import EXIT_ERROR, explained, fail
from router.cli.session import Session
from router.cli.terminal import console
from wuu.mesh.v1.control_pb2 import StopRequest

TIMEOUT = 10.0
"""Seconds after which `down` says that the mesh did not stop."""


def stop(root: Path | None) -> None:
    """Stops the mesh of a home and waits for the end of its router."""
    with explained(), Session.of(root) as session, console(stderr=True).status("stopping the mesh"):
        running = session.home.running()
        if running is None:
            return
        pid = running.pid
        try:
            router = os.pidfd_open(pid)
        except ProcessLookupError:
            return
        try:
            session.ask(session.control.Stop, StopRequest())
            ended, _, _ = select.select([router], [], [], TIMEOUT)
        finally:
            os.close(router)
        if not ended:
            fail(
                EXIT_ERROR,
                f"the router (process {pid}) did not stop within {TIMEOUT:g} s",
                f"End it with `kill -9 {pid}`; nothing outlives it.",
            )
