"""The store in an append-only file, shared with other processes through a lock beside it."""

from __future__ import annotations

import io
import logging
import os
import secrets
from bisect import bisect_right
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import chain, islice
from pathlib import Path
from typing import BinaryIO, Self, TypeVar

import filelock

from providers.state.documents.inspection import Inspection
from providers.state.documents.revision import EMPTY, order
from providers.state.documents.snapshot import Snapshot
from providers.state.documents.store import (
    LOCK_TIMEOUT,
    Compaction,
    Identity,
    Stored,
    engine_errors,
    refused,
    still_there,
)
from providers.state.documents.transaction import Receipt, Transaction, Write
from providers.state.jsonl.index import Index, Place
from providers.state.jsonl.record import (
    FIRST_LINE_LIMIT,
    GENERATION_SIZE,
    HEAD_SIZE,
    STORE_ID_SIZE,
    VERSION,
    Damaged,
    LaterVersion,
    Record,
    Span,
    announced,
    claim_line,
    commit_line,
    fill_line,
    first_line,
    is_torn,
    keep_line,
    read_first_line,
    read_line,
    value_of,
)

T = TypeVar("T")

LINE_SIZE = 1 << 20
"""Bytes after which a log that is written anew begins another line."""

log = logging.getLogger(__name__)

_ENGINE = "JSONL"
_LOCK_POLL = 0.001


class JsonlLedger:
    """The state of the store, and the lines that are to be added to it."""

    def __init__(self, index: Index, fd: int) -> None:
        self.lines: list[bytes] = []
        self._index = index
        self._fd = fd

    def revision(self) -> str:
        """See `View.revision`."""
        return self._index.revision

    def receipt(self, transaction: str) -> Receipt | None:
        """See `View.receipt`."""
        place = self._index.receipts.get(transaction)
        return None if place is None else self._receipt(place)

    def get(self, namespace: str, key: str) -> bytes | None:
        """See `View.get`."""
        documents = self._index.namespaces.get(namespace)
        span = documents.get(key) if documents else None
        return None if span is None else self._value(span)

    def scan(
        self, namespace: str, low: str, high: str | None, *, reverse: bool
    ) -> Generator[Stored, None, None]:
        """See `View.scan`."""
        documents = self._index.namespaces.get(namespace)
        if documents is not None:
            for key, span in documents.scan(low, high, reverse=reverse):
                yield Stored(namespace, key, self._value(span))

    def documents(self, after: tuple[str, str] | None = None) -> Generator[Stored, None, None]:
        """See `View.documents`."""
        namespace, key = after or ("", "")
        for each in sorted(name for name in self._index.namespaces if name >= namespace):
            # No key contains NUL, so nothing lies between a key and the key with a NUL behind it.
            low = f"{key}\0" if after and each == namespace else ""
            yield from self.scan(each, low, None, reverse=False)

    def receipts(self, after: str | None = None) -> Generator[Receipt, None, None]:
        """See `View.receipts`."""
        places = tuple(self._index.receipts.values())
        begin = 0
        if after is not None:
            begin = bisect_right(
                range(len(places)), order(after), key=lambda at: order(self._receipt(places[at]).revision)
            )
        for place in islice(places, begin, None):
            yield self._receipt(place)

    def inspection(self, id: str) -> Inspection | None:  # noqa: A002
        """See `View.inspection`."""
        return self._index.inspections.get(id)

    def held(self) -> list[Inspection]:
        """See `View.held`."""
        held = (guard for guard in self._index.inspections.values() if guard.state == "held")
        return sorted(held, key=lambda guard: guard.id)

    def identity(self) -> Identity:
        """See `View.identity`."""
        return self._index.identity

    def apply(self, transaction: Transaction, receipt: Receipt) -> None:
        """See `Ledger.apply`."""
        self.lines.append(commit_line(transaction, receipt))

    def claim(self, writes: Sequence[Write], revision: str) -> None:
        """See `Ledger.claim`."""
        self.lines.append(claim_line(writes, revision))

    def keep(self, inspection: Inspection) -> None:
        """See `Ledger.keep`."""
        self.lines.append(keep_line(self._index.revision, guards=(inspection,)))

    def fill(self, snapshot: Snapshot) -> None:
        """See `Ledger.fill`."""
        self.lines.append(fill_line(snapshot))

    def _value(self, span: Span) -> bytes:
        return value_of(os.pread(self._fd, span.length, span.offset))

    def _receipt(self, place: Place) -> Receipt:
        record = self._record(place.offset)
        return record.receipt if place.number < 0 else record.receipts[place.number]

    def _record(self, offset: int) -> Record:
        length = announced(os.pread(self._fd, HEAD_SIZE, offset))
        if length is None:
            raise Damaged(f"the line at byte {offset} has no head any more")
        return read_line(os.pread(self._fd, length, offset))


class JsonlStore:
    """A store in one file."""

    def __init__(self, path: Path, fd: int, lock: filelock.BaseFileLock) -> None:
        self._path = path
        self._fd = fd
        self._opened = os.fstat(fd)
        self._lock = lock
        self._index = Index()

    @classmethod
    def check(cls, path: Path) -> None:
        """Refuses a file that is not ours, has a later format, or is damaged before its end."""
        if path.exists():
            with _failures(path), path.open("rb") as file:
                _replay(Index(), file)

    @classmethod
    def open(cls, path: Path) -> Self:
        """Opens the file, made where there is none, and reads it."""
        lock = filelock.FileLock(
            f"{path}.lock", timeout=LOCK_TIMEOUT, poll_interval=_LOCK_POLL, thread_local=False
        )
        with _failures(path):
            store = cls(path, os.open(path, os.O_RDWR | os.O_CREAT, 0o600), lock)
            try:
                store._begin()
            except BaseException:
                store.close()
                raise
        return store

    @contextmanager
    def view(self) -> Iterator[JsonlLedger]:
        """See `Store.view`."""
        with _failures(self._path):
            # A file that is as long as what was read holds nothing else: it only ever grows by whole records,
            # and a failed append is cut away by the one who made it, under the lock.
            if not self._is_read():
                with self._lock:
                    self._follow()
                    self._catch_up()
            yield JsonlLedger(self._index, self._fd)

    @contextmanager
    def ledger(self) -> Iterator[JsonlLedger]:
        """See `Store.ledger`."""
        with _failures(self._path), self._lock:
            self._follow()
            self._catch_up()
            ledger = JsonlLedger(self._index, self._fd)
            yield ledger
            if ledger.lines:
                self._append(ledger.lines)

    def compact(self) -> Compaction:
        """See `Store.compact`. The log is written anew beside itself, and takes its own place as a whole."""
        with _failures(self._path), self._lock:
            self._follow()
            self._catch_up()
            return self._write_anew(self._index.identity)

    def close(self) -> None:
        """See `Store.close`."""
        os.close(self._fd)

    def _begin(self) -> None:
        with self._lock:
            # Another process may have written it anew since it was opened here.
            if not os.path.samestat(self._path.stat(), self._opened):
                self._reopen()
            self._catch_up()
            if not self._index.end:
                self._append([first_line(EMPTY, _new_identity())])
            elif self._index.version < VERSION:
                self._write_anew(_new_identity())
            # At every start: whoever made the file may have died before its name was durable.
            _sync_directory(self._path.parent)

    def _is_read(self) -> bool:
        """Whether the file at the path is the one that is open, and was read to its end."""
        try:
            present = self._path.stat()
        except FileNotFoundError:
            return False
        return os.path.samestat(present, self._opened) and present.st_size == self._index.end

    def _follow(self) -> None:
        """Goes over to the log that another process has written anew. Under the lock.

        A file of another data set is not followed: see `still_there`.
        """
        if self._path.exists() and not os.path.samestat(self._path.stat(), self._opened):
            with self._path.open("rb") as file:
                line = file.readline(FIRST_LINE_LIMIT)
            if line.endswith(b"\n") and _names(line, self._index.identity):
                self._reopen()
                return
        still_there(self._path, self._opened)

    def _reopen(self) -> None:
        os.close(self._fd)
        self._fd = os.open(self._path, os.O_RDWR)
        self._opened = os.fstat(self._fd)
        self._index = Index()

    def _write_anew(self, identity: Identity) -> Compaction:
        """Writes everything that the log says, without what it said before. Under the lock."""
        before, beside = self._index.end, self._path.with_name(f"{self._path.name}.new")
        ledger = JsonlLedger(self._index, self._fd)
        fd = os.open(beside, os.O_RDWR | os.O_CREAT | os.O_TRUNC, 0o600)
        try:
            with io.BufferedWriter(io.FileIO(fd, "wb", closefd=False)) as file:
                file.write(first_line(self._index.revision, identity))
                file.writelines(_lines(ledger, self._index))
            os.fsync(fd)
        finally:
            os.close(fd)
        os.replace(beside, self._path)
        _sync_directory(self._path.parent)
        self._reopen()
        self._catch_up()
        return Compaction(before, self._index.end)

    def _catch_up(self) -> None:
        """Reads what other processes added, and cuts off what one of them never finished. Under the lock."""
        size = os.fstat(self._fd).st_size
        if size == self._index.end:
            return
        if size < self._index.end:
            raise Damaged(f"it has {size} bytes and had {self._index.end}")
        # Whoever wrote it may have died between write and sync, and what is read here is answered with.
        os.fsync(self._fd)
        with io.BufferedReader(io.FileIO(self._fd, closefd=False)) as file:
            rest = _replay(self._index, file)
        if rest:
            os.ftruncate(self._fd, self._index.end)
            os.fsync(self._fd)
            log.warning(
                "torn tail removed",
                extra={"path": str(self._path), "offset": self._index.end, "bytes": len(rest)},
            )

    def _append(self, lines: list[bytes]) -> None:
        """Adds lines durably, or not at all. Under the lock."""
        try:
            _write(self._fd, b"".join(lines), self._index.end)
            os.fsync(self._fd)
        except OSError:
            os.ftruncate(self._fd, self._index.end)
            raise
        for line in lines:
            self._index.take_in(line)


def _new_identity() -> Identity:
    return Identity(secrets.token_hex(STORE_ID_SIZE // 2), secrets.token_hex(GENERATION_SIZE // 2))


def _names(line: bytes, identity: Identity) -> bool:
    """Whether a first line names a data set."""
    try:
        first = read_first_line(line)
    except (Damaged, LaterVersion):
        return False
    return bool(identity.store_id) and first.store_id == identity.store_id


def _lines(ledger: JsonlLedger, index: Index) -> Iterator[bytes]:
    """What a log says, in lines of a comfortable size."""
    for guards in _batches(index.inspections.values(), lambda _: 256):
        yield keep_line(index.revision, guards=guards)
    for receipts in _batches(ledger.receipts(), lambda _: 256):
        yield keep_line(index.revision, receipts=receipts)
    for documents in _batches(ledger.documents(), lambda stored: len(stored.value)):
        yield keep_line(index.revision, documents=documents)


def _batches(items: Iterable[T], size_of: Callable[[T], int]) -> Iterator[list[T]]:
    batch: list[T] = []
    size = 0
    for item in items:
        batch.append(item)
        size += size_of(item)
        if size >= LINE_SIZE:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


def _replay(index: Index, file: BinaryIO) -> bytes:
    """Takes in every line behind the end of the index; returns the part of one that was never finished."""
    file.seek(index.end)
    # Somebody's file may be one endless line.
    for line in file if index.end else chain([file.readline(FIRST_LINE_LIMIT)], file):
        if not line.endswith(b"\n") and is_torn(line, first=not index.end):
            return line
        try:
            index.take_in(line)
        except Damaged as damaged:
            raise Damaged(f"at byte {index.end}: {damaged}") from None
    return b""


def _write(fd: int, content: bytes, offset: int) -> None:
    view = memoryview(content)
    while view:
        written = os.pwrite(fd, view, offset)
        view = view[written:]
        offset += written


def _sync_directory(directory: Path) -> None:
    fd = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


@contextmanager
def _failures(path: Path) -> Iterator[None]:
    try:
        with engine_errors(_ENGINE, path, OSError):
            yield
    except Damaged as damaged:
        raise refused(
            path,
            f"it is damaged: {damaged}",
            "Restore the file from a copy, or name another path in the config of the module.",
        ) from None
    except LaterVersion as later:
        raise refused(path, str(later), "Use the release that wrote it, or a later one.") from None
