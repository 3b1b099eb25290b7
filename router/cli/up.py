"""`wuu-mesh up` and `wuu-mesh down`."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import Annotated, Any

import msgspec
import typer
from rich.console import Console
from rich.live import Live

from router.cli.check import read_or_fail
from router.cli.session import Session
from router.cli.status import modules_table
from router.cli.terminal import EXIT_ERROR, CompositionOption, HomeOption, console, explained, fail
from router.home import Home, Running
from wuu.mesh.v1.control_pb2 import Event, ListEventsRequest, ListEventsResponse, StopRequest

EVENTS_WAIT_MS = 500
DOWN_TIMEOUT = 10.0
"""Seconds after which `down` says that the mesh did not stop."""


def up(
    composition: CompositionOption = None,
    home: HomeOption = None,
    detach: Annotated[bool, typer.Option("--detach", help="Return once the mesh is up; it runs on.")] = False,
) -> None:
    """Start the mesh: the router and every module of the composition.

    Stays in the foreground; Ctrl-C stops the mesh, a second one ends it at once.
    """
    at = Home.at(home)
    with explained():
        path = composition.absolute() if composition else None
        read_or_fail(path, at)
    router = _start_router(at, path, detach=detach)
    running = _announced(router)
    out = console(stderr=True)
    stopping = _on_interrupt(router, detach=detach)
    try:
        with Session(running.control) as session:
            cursor = _until_published(session, router, out, stopping)
            if router.poll() is None:
                _ready(session, out, detach=detach)
                if detach:
                    return
                _follow(session, router, out, cursor)
    except OSError:
        pass  # It has gone before it could be asked; its end says why.
    router.wait()
    if router.returncode != 0 and not stopping.is_set():
        _explain_end(router)


def down(home: HomeOption = None) -> None:
    """Stop the mesh: consumers before their providers."""
    with explained(), Session.of(home) as session:
        pid = session.status().router.pid
        router = os.pidfd_open(pid)
        session.ask(session.control.Stop, StopRequest())
        ended, _, _ = select.select([router], [], [], DOWN_TIMEOUT)
        os.close(router)
        if not ended:
            fail(
                EXIT_ERROR,
                f"the router (process {pid}) did not stop within {DOWN_TIMEOUT:g} s",
                f"kill -9 {pid}",
            )


def _start_router(home: Home, composition: Path | None, *, detach: bool) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-P", "-m", "router", str(home.root)]
    if composition is not None:
        command.append(str(composition))
    if not detach:
        command.append("--attached")
    return subprocess.Popen(
        command,
        # The lifeline of an attached router: it stops when this command is gone.
        stdin=subprocess.DEVNULL if detach else subprocess.PIPE,
        stdout=subprocess.PIPE,
        start_new_session=True,
    )


def _announced(router: subprocess.Popen[bytes]) -> Running:
    assert router.stdout is not None
    line = router.stdout.readline()
    if not line:
        fail(EXIT_ERROR, f"the router ended with status {router.wait()} before it said anything")
    message = msgspec.json.decode(line)
    if "control" not in message:
        _refused(message, router)
    return msgspec.convert(message, Running)


def _refused(message: dict[str, Any], router: subprocess.Popen[bytes]) -> None:
    router.wait()
    fail(message["exit"], f"{message['code']}: {message['message']}", message["remedy"])


def _explain_end(router: subprocess.Popen[bytes]) -> None:
    """The router is gone; it may have left word why."""
    assert router.stdout is not None
    said = router.stdout.read().splitlines()
    if said:
        _refused(msgspec.json.decode(said[-1]), router)
    status = router.wait()
    ended = f"was killed by {signal.Signals(-status).name}" if status < 0 else f"exited with status {status}"
    fail(EXIT_ERROR, f"the router {ended}", "See the router's log under HOME/logs/wuu.router.")


def _on_interrupt(router: subprocess.Popen[bytes], *, detach: bool) -> threading.Event:
    """Ctrl-C stops the mesh, twice ends it. The event is set with the first."""
    stopping = threading.Event()

    def interrupted(*_: object) -> None:
        if stopping.is_set():
            router.kill()
        stopping.set()
        router.send_signal(signal.SIGTERM)

    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, interrupted)
    return stopping


def _until_published(
    session: Session, router: subprocess.Popen[bytes], out: Console, stopping: threading.Event
) -> str:
    """Shows each module coming up; returns where to go on in the events."""
    if not out.is_terminal:
        return _events(session, router, "", out, until_published=True)
    with Live(console=out, auto_refresh=False) as live:

        def redraw() -> None:
            live.update(modules_table(session.status()), refresh=True)

        return _events(session, router, "", None, until_published=True, after_each=redraw)


def _follow(session: Session, router: subprocess.Popen[bytes], out: Console, cursor: str) -> None:
    _events(session, router, cursor, out, until_published=False)


def _events(
    session: Session,
    router: subprocess.Popen[bytes],
    cursor: str,
    out: Console | None,
    *,
    until_published: bool,
    after_each: Any = None,
) -> str:
    from contract.errors import MeshError

    while router.poll() is None:
        try:
            answer: ListEventsResponse = session.ask(
                session.control.ListEvents, ListEventsRequest(cursor=cursor, wait_ms=EVENTS_WAIT_MS)
            )
            if after_each is not None:
                after_each()
        except MeshError:
            # The router is on its way out; its end is what there is to tell.
            router.wait()
            break
        cursor = answer.cursor
        for event in answer.events:
            if out is not None:
                out.print(_line(event), soft_wrap=True)
            if until_published and event.kind == "generation" and event.state in ("active", "degraded"):
                return cursor
    return cursor


def _line(event: Event) -> str:
    subject = f" {event.subject}" if event.subject else ""
    message = f": {event.message}" if event.message else ""
    return f"{event.kind}{subject} {event.state}{message}"


def _ready(session: Session, out: Console, *, detach: bool) -> None:
    answer = session.status()
    counts: dict[str, int] = {}
    for module in answer.modules:
        counts[module.state] = counts.get(module.state, 0) + 1
    states = ", ".join(f"{count} {state}" for state, count in sorted(counts.items())) or "no modules"
    out.print(f"mesh is up: generation {answer.generation.id} {answer.generation.state} ({states})")
    if detach:
        out.print(f"router pid {answer.router.pid}; stop it with `wuu-mesh down`")
    else:
        out.print("Ctrl-C stops it")
