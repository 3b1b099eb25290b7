"""What a log says, in memory: where each value and each receipt lies in the file. Pure."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Iterator
from typing import NamedTuple

from providers.state.documents.inspection import Inspection
from providers.state.documents.revision import EMPTY, following
from providers.state.documents.store import Identity
from providers.state.jsonl.record import VERSION, Damaged, Record, Span, read_first_line, read_line


class Namespace:
    """The documents of one namespace, by key."""

    def __init__(self) -> None:
        self._spans: dict[str, Span] = {}
        # None until a scan needs it: a replay that kept the order would move the whole list at every line.
        self._order: list[str] | None = None

    def __len__(self) -> int:
        """How many documents."""
        return len(self._spans)

    def get(self, key: str) -> Span | None:
        """Where the value of a document lies."""
        return self._spans.get(key)

    def put(self, key: str, span: Span) -> None:
        """Adds or replaces a document."""
        if self._order is not None and key not in self._spans:
            insort(self._order, key)
        self._spans[key] = span

    def remove(self, key: str) -> None:
        """Removes a document if it is there."""
        if self._spans.pop(key, None) is not None and self._order is not None:
            del self._order[bisect_left(self._order, key)]

    def scan(self, low: str, high: str | None, *, reverse: bool) -> Iterator[tuple[str, Span]]:
        """The documents from `low` on and before `high`, in key order or in reverse."""
        if self._order is None:
            self._order = sorted(self._spans)
        begin = bisect_left(self._order, low)
        end = len(self._order) if high is None else bisect_left(self._order, high)
        places = range(begin, end)
        for place in reversed(places) if reverse else places:
            key = self._order[place]
            yield key, self._spans[key]


class Place(NamedTuple):
    """Where a receipt lies."""

    offset: int
    """Of its line."""
    number: int
    """Which of those that the line brings; -1: it is that of the line itself."""


class Index:
    """What the lines up to `end` say."""

    def __init__(self) -> None:
        self.end = 0
        """The offset behind the last line that was taken in."""
        self.version = VERSION
        """The version of the format."""
        self.identity = Identity("", "")
        """Which data set the log holds; empty before the first line, and in version 1."""
        self.revision = ""
        """The revision of the store; empty before the first line."""
        self.namespaces: dict[str, Namespace] = {}
        """The namespaces that have documents."""
        self.receipts: dict[str, Place] = {}
        """Where each receipt lies, by the id of its transaction, in the order of their revisions."""
        self.inspections: dict[str, Inspection] = {}
        """Every guard that was ever named, by its id."""

    def take_in(self, line: bytes) -> None:
        """Takes in the line that begins at `end`. Raises `Damaged`, or `LaterVersion` for the first."""
        if not self.end:
            first = read_first_line(line)
            self.version, self.revision = first.version, first.revision
            self.identity = Identity(first.store_id, first.generation)
            self.end = len(line)
            return
        record = read_line(line)
        self._check_revision(record)
        for namespace, key, span in record.changes(self.end + len(line)):
            if span is not None:
                self.namespaces.setdefault(namespace, Namespace()).put(key, span)
            elif namespace in self.namespaces:
                self._remove(namespace, key)
        for number, receipt in enumerate(record.receipts):
            self.receipts[receipt.id] = Place(self.end, number)
        for guard in record.guards:
            self.inspections[guard.id] = guard
        if record.kind == "commit":
            self.receipts[record.id] = Place(self.end, -1)
        self.revision = record.revision
        self.end += len(line)

    def _check_revision(self, record: Record) -> None:
        match record.kind:
            case "commit" | "claim":
                stands = record.revision == following(self.revision)
            case "keep":
                stands = record.revision == self.revision
            case "fill":
                stands = self.revision == EMPTY and not self.namespaces
        if not stands:
            raise Damaged(
                f"{record.kind} of revision {record.revision} stands behind revision {self.revision}"
            )

    def _remove(self, namespace: str, key: str) -> None:
        documents = self.namespaces[namespace]
        documents.remove(key)
        if not documents:
            del self.namespaces[namespace]
