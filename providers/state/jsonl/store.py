"""The store in an append-only file, shared with other processes through a lock beside it."""

from __future__ import annotations

import io
import logging
import os
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from itertools import chain
from pathlib import Path
from typing import BinaryIO, Self

import filelock

from providers.state.documents.revision import EMPTY
from providers.state.documents.store import LOCK_TIMEOUT, Stored, engine_errors, refused, still_there
from providers.state.documents.transaction import Receipt, Transaction
from providers.state.jsonl.index import Index
from providers.state.jsonl.record import (
    FIRST_LINE_LIMIT,
    HEAD_SIZE,
    Damaged,
    LaterVersion,
    Record,
    Span,
    announced,
    first_line,
    is_torn,
    line_of,
    read_line,
    value_of,
)

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
        offset = self._index.receipts.get(transaction)
        return None if offset is None else self._record(offset).receipt

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

    def documents(self) -> Generator[Stored, None, None]:
        """See `View.documents`."""
        for namespace in sorted(self._index.namespaces):
            yield from self.scan(namespace, "", None, reverse=False)

    def receipts(self) -> Generator[Receipt, None, None]:
        """See `View.receipts`."""
        for offset in self._index.receipts.values():
            yield self._record(offset).receipt

    def apply(self, transaction: Transaction, receipt: Receipt) -> None:
        """See `Ledger.apply`."""
        self.lines.append(line_of(transaction, receipt))

    def _value(self, span: Span) -> bytes:
        return value_of(os.pread(self._fd, span.length, span.offset))

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
            if still_there(self._path, self._opened).st_size != self._index.end:
                with self._lock:
                    self._catch_up()
            yield JsonlLedger(self._index, self._fd)

    @contextmanager
    def ledger(self) -> Iterator[JsonlLedger]:
        """See `Store.ledger`."""
        with _failures(self._path), self._lock:
            still_there(self._path, self._opened)
            self._catch_up()
            ledger = JsonlLedger(self._index, self._fd)
            yield ledger
            if ledger.lines:
                self._append(ledger.lines)

    def close(self) -> None:
        """See `Store.close`."""
        os.close(self._fd)

    def _begin(self) -> None:
        with self._lock:
            self._catch_up()
            if not self._index.end:
                self._append([first_line(EMPTY)])
            # At every start: whoever made the file may have died before its name was durable.
            _sync_directory(self._path.parent)

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
