"""`wuu-mesh events`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from router.cli.answer import emit_line
from router.cli.exits import NoMesh, explained, say
from router.cli.happening import Events, Happening, told
from router.cli.moment import clock
from router.cli.session import Session
from router.cli.terminal import console
from wuu.mesh.v1.control_pb2 import Event


def print_events(root: Path | None, *, follow: bool, json: bool) -> None:
    """Prints the events that are kept, and with `follow` those that come."""
    with explained(), Session.of(root) as session:
        happening = Happening(session)
        if not follow:
            _print(happening.past(), json=json)
            return
        try:
            _print(happening.coming(), json=json)
        except KeyboardInterrupt:
            # That is how following ends.
            return
        except NoMesh:
            say("the mesh has stopped")


def event_json(event: Event) -> dict[str, Any]:
    """An event as `--json` prints it."""
    return {
        "sequence": event.sequence,
        "at_unix_ms": event.at_unix_ms,
        "kind": event.kind,
        "subject": event.subject,
        "state": event.state,
        "message": event.message,
        "code": event.code,
    }


def _print(happened: Events, *, json: bool) -> None:
    out = console()
    for events in happened:
        for event in events:
            if json:
                emit_line(event_json(event))
            else:
                out.print(f"{clock(event.at_unix_ms)} {told(event)}", soft_wrap=True)
