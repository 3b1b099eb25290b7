"""The store in an SQLite database: WAL, a full sync at every commit, one connection in one thread."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Generator, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any, Self

import msgspec

from providers.state.documents.inspection import Inspection
from providers.state.documents.revision import is_revision
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
from providers.state.sqlite.schema import VERSION, migrate, version

_ENGINE = "SQLite"
_RESTORE = "Restore the database from a copy, or name another path in the config of the module."

_REVISION = "SELECT revision FROM store WHERE one = 1"
_RECEIPT = "SELECT id, revision, digest FROM receipts WHERE id = ?"
_VALUE = "SELECT value FROM documents WHERE namespace = ? AND key = ?"
_SCAN = "SELECT namespace, key, value FROM documents WHERE namespace = ? AND key >= ?"
_BELOW = " AND key < ?"
_UP = " ORDER BY key"
_DOWN = " ORDER BY key DESC"
_DOCUMENTS = "SELECT namespace, key, value FROM documents"
_PAST_DOCUMENT = " WHERE (namespace, key) > (?, ?)"
_BY_DOCUMENT = " ORDER BY namespace, key"
_RECEIPTS = "SELECT id, revision, digest FROM receipts"
_PAST_REVISION = " WHERE (length(revision), revision) > (?, ?)"
_BY_REVISION = " ORDER BY length(revision), revision"
_INSPECTIONS = "SELECT id, owner, namespaces, revision, state, outcome, reason, reconciler FROM inspections"
_NAMED = " WHERE id = ?"
_HELD = " WHERE state = 'held' ORDER BY id"
_IDENTITY = "SELECT store_id, generation FROM identity WHERE one = 1"
_PUT = (
    "INSERT INTO documents (namespace, key, value) VALUES (?, ?, ?)"
    " ON CONFLICT (namespace, key) DO UPDATE SET value = excluded.value"
)
_REMOVE = "DELETE FROM documents WHERE namespace = ? AND key = ?"
_RAISE = "UPDATE store SET revision = ? WHERE one = 1"
_LEAVE = "INSERT INTO receipts (id, revision, digest) VALUES (?, ?, ?)"
_KEEP = (
    "INSERT OR REPLACE INTO inspections"
    " (id, owner, namespaces, revision, state, outcome, reason, reconciler) VALUES (?, ?, ?, ?, ?, ?, ?, ?)"
)


class SqliteLedger:
    """A state of the store, within a transaction of SQLite."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def revision(self) -> str:
        """See `View.revision`."""
        return str(self._connection.execute(_REVISION).fetchone()[0])

    def receipt(self, transaction: str) -> Receipt | None:
        """See `View.receipt`."""
        row = self._connection.execute(_RECEIPT, (transaction,)).fetchone()
        return None if row is None else Receipt(*row)

    def get(self, namespace: str, key: str) -> bytes | None:
        """See `View.get`."""
        row = self._connection.execute(_VALUE, (namespace, key)).fetchone()
        return None if row is None else bytes(row[0])

    def scan(
        self, namespace: str, low: str, high: str | None, *, reverse: bool
    ) -> Generator[Stored, None, None]:
        """See `View.scan`. Steps along the index of the primary key, row by row."""
        direction = _DOWN if reverse else _UP
        if high is None:
            yield from self._documents(_SCAN + direction, namespace, low)
        else:
            yield from self._documents(_SCAN + _BELOW + direction, namespace, low, high)

    def documents(self, after: tuple[str, str] | None = None) -> Generator[Stored, None, None]:
        """See `View.documents`."""
        if after is None:
            yield from self._documents(_DOCUMENTS + _BY_DOCUMENT)
        else:
            yield from self._documents(_DOCUMENTS + _PAST_DOCUMENT + _BY_DOCUMENT, *after)

    def receipts(self, after: str | None = None) -> Generator[Receipt, None, None]:
        """See `View.receipts`."""
        past, bound = ("", ()) if after is None else (_PAST_REVISION, (len(after), after))
        with closing(self._connection.execute(_RECEIPTS + past + _BY_REVISION, bound)) as rows:
            for row in rows:
                yield Receipt(*row)

    def inspection(self, id: str) -> Inspection | None:  # noqa: A002
        """See `View.inspection`."""
        row = self._connection.execute(_INSPECTIONS + _NAMED, (id,)).fetchone()
        return None if row is None else _inspection(*row)

    def held(self) -> list[Inspection]:
        """See `View.held`."""
        return [_inspection(*row) for row in self._connection.execute(_INSPECTIONS + _HELD).fetchall()]

    def identity(self) -> Identity:
        """See `View.identity`."""
        return Identity(*self._connection.execute(_IDENTITY).fetchone())

    def apply(self, transaction: Transaction, receipt: Receipt) -> None:
        """See `Ledger.apply`."""
        self.claim(transaction.writes, receipt.revision)
        self._connection.execute(_LEAVE, (receipt.id, receipt.revision, receipt.digest))

    def claim(self, writes: Sequence[Write], revision: str) -> None:
        """See `Ledger.claim`."""
        puts = ((w.namespace, w.key, w.value) for w in writes if w.value is not None)
        removals = ((w.namespace, w.key) for w in writes if w.value is None)
        self._connection.executemany(_PUT, puts)
        self._connection.executemany(_REMOVE, removals)
        self._connection.execute(_RAISE, (revision,))

    def keep(self, inspection: Inspection) -> None:
        """See `Ledger.keep`."""
        namespaces = msgspec.json.encode(inspection.namespaces).decode()
        kept = (
            *(inspection.id, inspection.owner, namespaces, inspection.revision, inspection.state),
            *(inspection.outcome, inspection.reason, inspection.reconciler),
        )
        self._connection.execute(_KEEP, kept)

    def fill(self, snapshot: Snapshot) -> None:
        """See `Ledger.fill`."""
        self._connection.executemany(_PUT, snapshot.documents)
        receipts = ((each.id, each.revision, each.digest) for each in snapshot.receipts)
        self._connection.executemany(_LEAVE, receipts)
        self._connection.execute(_RAISE, (snapshot.revision,))

    def _documents(self, sql: str, *bound: str) -> Generator[Stored, None, None]:
        # A statement that is left in mid-step would keep its old snapshot alive into the next transaction.
        with closing(self._connection.execute(sql, bound)) as rows:
            for row in rows:
                yield Stored(*row)


def _inspection(id: str, owner: str, namespaces: str, *rest: Any) -> Inspection:  # noqa: A002
    return Inspection(id, owner, tuple(msgspec.json.decode(namespaces)), *rest)


class SqliteStore:
    """A store in one database."""

    def __init__(self, path: Path, connection: sqlite3.Connection) -> None:
        self._path = path
        self._opened = path.stat()
        self._connection = connection

    @classmethod
    def check(cls, path: Path) -> None:
        """Refuses a database that is not ours, has a later schema, or is damaged."""
        # Nothing was ever committed to a database that is empty, or that was left while it was made: its
        # rollback journal, which only a writer may play back, is in use until then and never after.
        if not path.exists() or not path.stat().st_size or os.path.exists(f"{path}-journal"):
            return
        uri = _without_writing(path)
        try:
            with closing(sqlite3.connect(uri, timeout=LOCK_TIMEOUT, uri=True)) as connection:
                _check(path, connection)
        except sqlite3.Error as failure:
            raise refused(path, f"SQLite cannot read it: {failure}", _RESTORE) from None

    @classmethod
    def open(cls, path: Path) -> Self:
        """Opens the database; makes and migrates the schema where it is behind."""
        with engine_errors(_ENGINE, path, sqlite3.Error, OSError):
            # SQLite gives what it makes beside the mode of the database, which nobody else is to read.
            with suppress(FileExistsError):
                os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
            connection = sqlite3.connect(path, timeout=LOCK_TIMEOUT, isolation_level=None)
            try:
                _make(path, connection)
                return cls(path, connection)
            except BaseException:
                connection.close()
                raise

    @contextmanager
    def view(self) -> Iterator[SqliteLedger]:
        """See `Store.view`. A snapshot; writers go on beside it."""
        with self._ledger("BEGIN") as ledger:
            yield ledger

    @contextmanager
    def ledger(self) -> Iterator[SqliteLedger]:
        """See `Store.ledger`. Takes SQLite's write lock at its begin."""
        with self._ledger("BEGIN IMMEDIATE") as ledger:
            yield ledger

    def compact(self) -> Compaction:
        """See `Store.compact`. Writers wait until it is done."""
        with engine_errors(_ENGINE, self._path, sqlite3.Error, OSError):
            still_there(self._path, self._opened)
            before = self._size()
            self._connection.execute("VACUUM")
            self._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            return Compaction(before, self._size())

    def _size(self) -> int:
        files = (Path(f"{self._path}{suffix}") for suffix in ("", "-wal"))
        return sum(file.stat().st_size for file in files if file.exists())

    def close(self) -> None:
        """See `Store.close`."""
        with engine_errors(_ENGINE, self._path, sqlite3.Error):
            self._connection.close()

    @contextmanager
    def _ledger(self, begin: str) -> Iterator[SqliteLedger]:
        with engine_errors(_ENGINE, self._path, sqlite3.Error):
            still_there(self._path, self._opened)
            with _transaction(self._connection, begin):
                yield SqliteLedger(self._connection)


def _make(path: Path, connection: sqlite3.Connection) -> None:
    """Brings the schema up to date and turns the database into WAL."""
    connection.execute("PRAGMA synchronous = FULL")
    if _version(path, connection) < VERSION:
        with _transaction(connection, "BEGIN IMMEDIATE"):
            migrate(connection, _version(path, connection))
    # After the schema: two processes that turn an empty file into WAL at once are told it is locked.
    (mode,) = connection.execute("PRAGMA journal_mode = WAL").fetchone()
    if mode != "wal":
        raise sqlite3.OperationalError(f"the file system does not allow WAL (journal mode {mode})")


@contextmanager
def _transaction(connection: sqlite3.Connection, begin: str) -> Iterator[None]:
    connection.execute(begin)
    try:
        yield
        connection.execute("COMMIT")
    finally:
        # A failed COMMIT may leave the transaction open, and a failed write may have ended it.
        if connection.in_transaction:
            connection.execute("ROLLBACK")


def _without_writing(path: Path) -> str:
    """The URI that reads the database and leaves its files as they are.

    Where both files of the WAL are there, a connection reads them without touching them. Where there is no
    WAL nobody has the database open, and the file alone is all of it. Only a WAL without its index (a copy)
    has to have one made.
    """
    wal, index = (os.path.exists(f"{path}{suffix}") for suffix in ("-wal", "-shm"))
    if wal and index:
        return f"{path.as_uri()}?mode=ro&readonly_shm=1"
    return f"{path.as_uri()}?mode=ro" if wal else f"{path.as_uri()}?immutable=1"


def _version(path: Path, connection: sqlite3.Connection) -> int:
    """The version of the schema, unless it is one that this provider does not know."""
    found = version(connection)
    if found is None:
        remedy = "Name another path in the config of the module."
        raise refused(path, "it is a database of something else", remedy)
    if found > VERSION:
        problem = f"its schema has version {found}, and this provider knows up to {VERSION}"
        raise refused(path, problem, "Use the release that wrote it, or a later one.")
    return found


def _check(path: Path, connection: sqlite3.Connection) -> None:
    found = _version(path, connection)
    (verdict,) = connection.execute("PRAGMA quick_check(1)").fetchone()
    if verdict != "ok":
        raise refused(path, f"it is damaged: {verdict}", _RESTORE)
    if found and not is_revision(revision := SqliteLedger(connection).revision()):
        raise refused(path, f"it is damaged: its revision is '{revision}'", _RESTORE)
