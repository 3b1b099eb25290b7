"""Happening: the events of a mesh in their order, and each as a line for people."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from typing import Any

from router.cli.session import Session
from router.cli.terminal import printable
from wuu.mesh.v1.control_pb2 import Event, ListEventsRequest, ListEventsResponse

WAIT_MS = 10_000
"""How long one request waits for the next event."""

Events = Iterator[Sequence[Event]]
"""Events in order, a few at a time. It ends with the `NoMesh` of a router that is gone."""


class Happening:
    """What happens in a mesh, from the first event that is kept. Each event is told once."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._cursor = ""

    def past(self) -> Events:
        """What has happened."""
        while events := self._next(wait_ms=0):
            yield events

    def coming(self) -> Events:
        """What has happened and goes on to happen, without an end of its own."""
        while True:
            yield self._next(WAIT_MS)

    def until(self, end: Future[Any]) -> Events:
        """What happens before a call ends that this session has begun."""
        while True:
            page = self._session.begin(self._session.control.ListEvents, self._request(WAIT_MS))
            wait((page, end), return_when=FIRST_COMPLETED)
            if end.done():
                # The page may wait for an event that never comes, and there is no more to wait for.
                break
            yield self._read(page.result())
        yield from self.past()

    def _next(self, wait_ms: int) -> Sequence[Event]:
        return self._read(self._session.ask(self._session.control.ListEvents, self._request(wait_ms)))

    def _request(self, wait_ms: int) -> ListEventsRequest:
        return ListEventsRequest(cursor=self._cursor, wait_ms=wait_ms)

    def _read(self, page: ListEventsResponse) -> Sequence[Event]:
        self._cursor = page.cursor
        return page.events


def told(event: Event) -> str:
    """An event as a line for people."""
    subject = f" {event.subject}" if event.subject else ""
    why = f"{event.code}: {event.message}" if event.code else event.message
    return printable(f"{event.kind}{subject} {event.state}{f': {why}' if why else ''}")
