"""`wuu-mesh up`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from router.cli.composition.named import accepted, read_or_fail
from router.cli.exits import NoMesh, explained
from router.cli.given import repeated
from router.cli.happening import Events, Happening, told
from router.cli.launch import Launch
from router.cli.session import Session
from router.cli.status import modules_table, reason, reasons
from router.cli.terminal import console
from router.composition.reason import DISABLED
from router.home import Home
from wuu.mesh.v1.control_pb2 import Event, GetStatusResponse

if TYPE_CHECKING:
    from rich.console import Console


def start(root: Path | None, composition: Path | None, *, detach: bool) -> None:
    """Starts the mesh of a home, and without `detach` stays until its end."""
    path = composition.absolute() if composition else None
    out = console(stderr=True)
    with explained(), accepted():
        home = Home.at(root)
        # What was committed last starts as it was, and no file is asked.
        if path is not None or not home.journal.is_file():
            read_or_fail(path, home)
        # The router would only say the same later, and knows of no --home.
        home.make()
        launch = Launch(home, path, attached=not detach)
        running = launch.announced()
        try:
            with Session(home, running.control) as session:
                happened = Happening(session).coming()
                _show_start(session, launch, happened, out)
                _tell_ready(session.status(), out, detach=detach)
                if detach:
                    return
                for events in happened:
                    _tell(events, launch, out)
        except NoMesh:
            launch.finish()


def _show_start(session: Session, launch: Launch, happened: Events, out: Console) -> None:
    """Shows each module coming up, until the generation is published."""
    if not out.is_terminal or out.is_dumb_terminal:
        _until_published(happened, lambda events: _tell(events, launch, out))
        for row in session.status().modules:
            # Of these there was no event.
            if row.error and not row.instance and row.error != DISABLED:
                out.print(reason(row), soft_wrap=True)
        return
    from rich.console import Group
    from rich.live import Live

    with Live(console=out, auto_refresh=False) as live:

        def redraw(events: Sequence[Event]) -> None:
            _tell([event for event in events if event.kind == "mesh"], launch, out)
            answer = session.status()
            live.update(Group(modules_table(answer), *reasons(answer)), refresh=True)

        _until_published(happened, redraw)


def _until_published(happened: Events, show: Callable[[Sequence[Event]], None]) -> None:
    for events in happened:
        show(events)
        if any(event.kind == "generation" and event.state in ("active", "degraded") for event in events):
            return


def _tell(events: Sequence[Event], launch: Launch, out: Console) -> None:
    for event in events:
        line = told(event)
        if launch.interrupts and (event.kind, event.state) == ("mesh", "stopping"):
            line = "mesh stopping; Ctrl-C again ends it at once"
        out.print(line, soft_wrap=True)


def _tell_ready(answer: GetStatusResponse, out: Console, *, detach: bool) -> None:
    counts = Counter(module.state for module in answer.modules)
    states = ", ".join(f"{count} {state}" for state, count in sorted(counts.items())) or "no modules"
    out.print(f"mesh is up: generation {answer.generation.id} {answer.generation.state} ({states})")
    if detach:
        stop = repeated("stop it with `wuu-mesh down`")
        out.print(f"router pid {answer.router.pid}; {stop}", soft_wrap=True)
    else:
        out.print("Ctrl-C stops it")
