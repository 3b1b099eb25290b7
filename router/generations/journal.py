"""The journal of one home: what outlives the router. SQLite, in `journal.sqlite3`.

It has the compositions that were committed, every generation with what became of it, and how each retired
instance ended. A commit is durable before anything is activated (*Generations* of the design). It also keeps
what modules declare, so that `check` knows it without a start: a declaration depends only on the fingerprint
of its package, the configuration of its entry and the host features.
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
import os
import sqlite3
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
from google.protobuf.message import DecodeError

from contract.errors import MeshError
from router.reading import COMMAND_LINE, Composition, Source
from wuu.mesh.v1.declaration_pb2 import Declaration

log = logging.getLogger(__name__)

SCHEMA_VERSION = 3

BUSY_MS = 100
"""Milliseconds that a note waits for another process that holds the file."""

COMMIT_BUSY_MS = 5000
"""Milliseconds that a commit waits for it."""

KEPT = 1000
"""How many generations are kept when a router starts, the newest first."""

_SCHEMA = """
CREATE TABLE IF NOT EXISTS declaration (key TEXT PRIMARY KEY, declaration BLOB NOT NULL) STRICT;
CREATE TABLE IF NOT EXISTS composition (
    id INTEGER PRIMARY KEY,
    enabled TEXT NOT NULL,
    sources BLOB NOT NULL DEFAULT '[]'
) STRICT;
CREATE TABLE IF NOT EXISTS generation (number INTEGER PRIMARY KEY AUTOINCREMENT) STRICT;
CREATE TABLE IF NOT EXISTS revocation (
    generation INTEGER NOT NULL,
    module TEXT NOT NULL,
    instance TEXT NOT NULL,
    at INTEGER NOT NULL,
    cause TEXT NOT NULL,
    confirmed INTEGER NOT NULL,
    message TEXT NOT NULL
) STRICT;
CREATE INDEX IF NOT EXISTS revocation_of ON revocation (generation);
"""

_ADDED = (
    "state TEXT NOT NULL DEFAULT 'closed'",
    "cause TEXT NOT NULL DEFAULT 'up'",
    "created INTEGER",
    "committed INTEGER",
    "published INTEGER",
    "retired INTEGER",
    "closed INTEGER",
    "diagnostics TEXT NOT NULL DEFAULT '[]'",
    "composition INTEGER REFERENCES composition",
)
"""What the second schema added to a generation, of which the first had the number alone."""

_TIMES = {
    "committed": "committed",
    "active": "published",
    "degraded": "published",
    "retained": "retired",
    "closed": "closed",
    "dropped": "closed",
}
"""The column that has when a state was reached; the first time stands."""


@dataclass(frozen=True, slots=True)
class Revoked:
    """How one instance ended; see `wuu.mesh.v1.Revocation`."""

    module: str
    instance: str
    at: int
    cause: str
    confirmed: bool
    message: str


@dataclass(frozen=True, slots=True)
class Recorded:
    """One generation; see `wuu.mesh.v1.GenerationRecord`. Times are milliseconds since the Unix epoch."""

    number: int
    state: str
    cause: str
    created: int | None
    committed: int | None
    published: int | None
    retired: int | None
    closed: int | None
    diagnostics: tuple[str, ...]
    revocations: tuple[Revoked, ...]


class Journal:
    """An open journal. What cannot be read or written is a `host_error`."""

    def __init__(self, path: Path | None) -> None:
        """Opens the journal at `path`, made when missing; None: one that is forgotten as it is closed.

        Raises sqlite3.Error when it is not a journal, OSError when it cannot be made.
        """
        self._path = path or ":memory:"
        if path is not None:
            # SQLite gives what it makes beside the mode of the file.
            with suppress(FileExistsError):
                os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
        # A commit waits for the disk in a thread of its own; `_writing` keeps notes out of its transaction.
        self._db = sqlite3.connect(self._path, isolation_level=None, check_same_thread=False)
        self._writing = asyncio.Lock()
        try:
            self._make()
        except BaseException:
            self._db.close()
            raise

    def _make(self) -> None:
        self._db.execute("PRAGMA journal_mode = WAL")
        # Whoever else looks at the file must not keep the mesh waiting; a commit waits, beside.
        self._db.execute(f"PRAGMA busy_timeout = {BUSY_MS}")
        # Only a commit is worth the wait for the disk.
        self._db.execute("PRAGMA synchronous = NORMAL")
        (version,) = self._db.execute("PRAGMA user_version").fetchone()
        if version not in range(SCHEMA_VERSION + 1):
            raise sqlite3.DatabaseError(
                f"{self._path} has schema {version}; this version of the mesh knows {SCHEMA_VERSION}"
            )
        if version == SCHEMA_VERSION:
            return
        with self._transaction():
            for statement in _SCHEMA.split(";"):
                self._db.execute(statement)
            if version < 2:
                for column in _ADDED:
                    self._db.execute(f"ALTER TABLE generation ADD COLUMN {column}")
            else:
                self._add_sources()
            self._db.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")

    def _add_sources(self) -> None:
        """The second schema had the text and the path of one document."""
        self._db.execute("ALTER TABLE composition ADD COLUMN sources BLOB NOT NULL DEFAULT '[]'")
        for number, text, path in self._db.execute("SELECT id, text, path FROM composition").fetchall():
            sources = (Source(COMMAND_LINE, Path(path), text),) if path else ()
            self._db.execute(
                "UPDATE composition SET sources = ? WHERE id = ?", (_encode.encode(sources), number)
            )
        for column in ("text", "path"):
            self._db.execute(f"ALTER TABLE composition DROP COLUMN {column}")

    # --- declarations ---

    def declaration(self, key: str) -> Declaration | None:
        """The declaration kept under a key of `declaration_key`."""
        with self._usable():
            row = self._db.execute("SELECT declaration FROM declaration WHERE key = ?", (key,)).fetchone()
            return Declaration.FromString(row[0]) if row else None

    def keep_declaration(self, key: str, declaration: Declaration) -> None:
        """Keeps a declaration."""
        with self._usable():
            self._db.execute(
                "INSERT OR REPLACE INTO declaration VALUES (?, ?)",
                (key, declaration.SerializeToString(deterministic=True)),
            )

    # --- generations ---

    def begin(self, cause: str) -> int:
        """A number greater than that of every generation before it in this home, for one on its way."""
        with self._usable():
            number = self._db.execute(
                "INSERT INTO generation (state, cause, created) VALUES ('building', ?, ?)", (cause, _now())
            ).lastrowid
        assert number is not None
        return number

    async def commit(self, number: int, composition: Composition) -> None:
        """Makes the composition the one that holds. It is on the disk when this returns."""
        async with self._writing:
            await asyncio.to_thread(self._commit, number, composition)

    def _commit(self, number: int, composition: Composition) -> None:
        row = _row(composition)
        with self._usable():
            self._db.execute("PRAGMA synchronous = FULL")
            self._db.execute(f"PRAGMA busy_timeout = {COMMIT_BUSY_MS}")
            try:
                with self._transaction():
                    same = self._db.execute(
                        "SELECT id FROM composition WHERE sources = ? AND enabled = ?", row
                    ).fetchone()
                    kept = (
                        same[0]
                        if same
                        else self._db.execute(
                            "INSERT INTO composition (sources, enabled) VALUES (?, ?)", row
                        ).lastrowid
                    )
                    self._db.execute(
                        "UPDATE generation SET state = 'committed', committed = ?, composition = ? "
                        "WHERE number = ?",
                        (_now(), kept, number),
                    )
            finally:
                self._db.execute(f"PRAGMA busy_timeout = {BUSY_MS}")
                self._db.execute("PRAGMA synchronous = NORMAL")

    async def mark(self, number: int, state: str, diagnostics: Sequence[str] = ()) -> None:
        """Notes the state that a generation has reached, and what is wrong with it."""
        column = _TIMES.get(state)
        reached = f", {column} = coalesce({column}, :now)" if column else ""
        values = {
            "state": state,
            "diagnostics": msgspec.json.encode(diagnostics).decode(),
            "number": number,
            "now": _now(),
        }
        await self._note(
            f"UPDATE generation SET state = :state, diagnostics = :diagnostics{reached} "
            "WHERE number = :number",
            values,
        )

    async def revoke(
        self, number: int, module: str, instance: str, cause: str, unconfirmed: str | None
    ) -> None:
        """Notes that an instance ended; `unconfirmed` says what is not known of its cleanup."""
        row = (number, module, instance, _now(), cause, unconfirmed is None, unconfirmed or "")
        await self._note("INSERT INTO revocation VALUES (?, ?, ?, ?, ?, ?, ?)", row)

    async def _note(self, statement: str, values: Mapping[str, object] | Sequence[object]) -> None:
        """What has happened has happened, whether it can be written down or not: a failure is logged."""
        async with self._writing:
            try:
                with self._usable():
                    self._db.execute(statement, values)
            except MeshError as lost:
                log.error("the journal lost a note", extra={"reason": lost.message})

    def found(self) -> list[Recorded]:
        """What an earlier router left unfinished: it is marked as `lost`, or `dropped` before its commit.

        Of what is over the oldest goes, so that a journal does not grow with every router.
        """
        with self._usable(), self._transaction():
            left = self._records("WHERE state NOT IN ('closed', 'dropped', 'lost') ORDER BY number")
            self._db.execute("UPDATE generation SET state = 'dropped' WHERE state = 'building'")
            self._db.execute(
                "UPDATE generation SET state = 'lost' WHERE state NOT IN ('closed', 'dropped', 'lost')"
            )
            newest = "SELECT number FROM generation ORDER BY number DESC LIMIT ?"
            last = "SELECT max(number) FROM generation WHERE composition IS NOT NULL"
            self._db.execute(
                f"DELETE FROM generation WHERE number NOT IN ({newest}) AND number < ({last})", (KEPT,)
            )
            self._db.execute("DELETE FROM revocation WHERE generation NOT IN (SELECT number FROM generation)")
            self._db.execute(
                "DELETE FROM composition WHERE id NOT IN "
                "(SELECT composition FROM generation WHERE composition IS NOT NULL)"
            )
        return left

    def last_committed(self) -> Composition | None:
        """The composition that holds; None in a home where none was ever committed."""
        return self._committed("ORDER BY number DESC LIMIT 1", ())

    def committed_before(self, composition: Composition) -> Composition | None:
        """The last composition that was committed before, and is another."""
        return self._committed(
            "AND NOT (sources = ? AND enabled = ?) ORDER BY number DESC LIMIT 1",
            _row(composition),
        )

    def records(self, limit: int) -> list[Recorded]:
        """Generations, the newest first."""
        with self._usable():
            return self._records("ORDER BY number DESC LIMIT ?", (limit,))

    def close(self) -> None:
        """Closes the file."""
        self._db.close()

    # --- rows ---

    def _records(self, where: str, values: Sequence[object] = ()) -> list[Recorded]:
        columns = "number, state, cause, created, committed, published, retired, closed, diagnostics"
        rows = self._db.execute(f"SELECT {columns} FROM generation {where}", values).fetchall()
        return [self._recorded(row) for row in rows]

    def _recorded(self, row: Sequence[Any]) -> Recorded:
        number, state, cause, created, committed, published, retired, closed, diagnostics = row
        return Recorded(
            number=number,
            state=state,
            cause=cause,
            created=created,
            committed=committed,
            published=published,
            retired=retired,
            closed=closed,
            diagnostics=tuple(msgspec.json.decode(diagnostics, type=list[str])),
            revocations=tuple(self._revocations(number)),
        )

    def _revocations(self, number: int) -> Iterator[Revoked]:
        rows = self._db.execute(
            "SELECT module, instance, at, cause, confirmed, message FROM revocation WHERE generation = ? "
            "ORDER BY rowid",
            (number,),
        )
        for module, instance, at, cause, confirmed, message in rows:
            yield Revoked(module, instance, at, cause, bool(confirmed), message)

    def _committed(self, where: str, values: Sequence[object]) -> Composition | None:
        with self._usable():
            row = self._db.execute(
                "SELECT sources, enabled FROM generation JOIN composition ON composition = id "
                f"WHERE committed IS NOT NULL {where}",
                values,
            ).fetchone()
        if row is None:
            return None
        sources, enabled = row
        return Composition(_sources.decode(sources), msgspec.json.decode(enabled, type=dict[str, bool]))

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        self._db.execute("BEGIN IMMEDIATE")
        try:
            yield
        except BaseException:
            self._db.execute("ROLLBACK")
            raise
        self._db.execute("COMMIT")

    @contextmanager
    def _usable(self) -> Iterator[None]:
        try:
            yield
        except (sqlite3.Error, DecodeError, msgspec.DecodeError) as unusable:
            raise MeshError(
                "host_error",
                f"{self._path}: {unusable}",
                remedy="See whether its disk is full or read-only; one that is damaged can be moved away.",
            ) from None


def declaration_key(fingerprint: str, config: bytes | None, host_features: Iterable[str]) -> str:
    """What a declaration depends on, in one word."""
    parts = (fingerprint, hashlib.sha256(config or b"").hexdigest(), *sorted(host_features))
    return " ".join(parts)


def _row(composition: Composition) -> tuple[bytes, str]:
    """Its sources and switches, as they stand in the table."""
    enabled = msgspec.json.encode(composition.enabled, order="sorted").decode()
    return _encode.encode(composition.sources), enabled


def _path(kind: type, value: str) -> Path:
    return Path(value)


_encode = msgspec.json.Encoder(enc_hook=str)
_sources = msgspec.json.Decoder(tuple[Source, ...], dec_hook=_path)


def _now() -> int:
    return round(time.time() * 1000)
