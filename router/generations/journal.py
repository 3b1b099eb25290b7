"""The journal of one home: what outlives the router. SQLite, in `journal.sqlite3`.

A declaration depends only on the fingerprint of its package, the configuration of its entry and the host
features; it is kept under them, so that `check` knows it without a start.
"""

from __future__ import annotations

import hashlib
import os
import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from google.protobuf.message import DecodeError

from contract.errors import MeshError
from wuu.mesh.v1.declaration_pb2 import Declaration

SCHEMA_VERSION = 1


class Journal:
    """An open journal. What cannot be read or written is a `host_error`."""

    def __init__(self, path: Path) -> None:
        """Opens the journal at `path`, made when missing.

        Raises sqlite3.Error when it is not a journal, OSError when it cannot be made.
        """
        self._path = path
        # SQLite gives what it makes beside the mode of the file.
        with suppress(FileExistsError):
            os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
        self._db = sqlite3.connect(path, isolation_level=None)
        try:
            self._make()
        except BaseException:
            self._db.close()
            raise

    def _make(self) -> None:
        self._db.execute("PRAGMA journal_mode = WAL")
        (version,) = self._db.execute("PRAGMA user_version").fetchone()
        if version not in (0, SCHEMA_VERSION):
            raise sqlite3.DatabaseError(
                f"{self._path} has schema {version}; this version of the mesh knows {SCHEMA_VERSION}"
            )
        self._db.executescript(
            f"""
            CREATE TABLE IF NOT EXISTS declaration (key TEXT PRIMARY KEY, declaration BLOB NOT NULL) STRICT;
            CREATE TABLE IF NOT EXISTS generation (number INTEGER PRIMARY KEY AUTOINCREMENT) STRICT;
            PRAGMA user_version = {SCHEMA_VERSION};
            """
        )

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

    def next_generation(self) -> int:
        """A number greater than that of every generation before it in this home."""
        with self._usable():
            number = self._db.execute("INSERT INTO generation DEFAULT VALUES").lastrowid
        assert number is not None
        return number

    def close(self) -> None:
        """Closes the file."""
        self._db.close()

    @contextmanager
    def _usable(self) -> Iterator[None]:
        try:
            yield
        except (sqlite3.Error, DecodeError) as unusable:
            raise MeshError(
                "host_error",
                f"{self._path}: {unusable}",
                remedy="See whether its disk is full or read-only; one that is damaged can be moved away.",
            ) from None


def declaration_key(fingerprint: str, config: bytes | None, host_features: Iterable[str]) -> str:
    """What a declaration depends on, in one word."""
    parts = (fingerprint, hashlib.sha256(config or b"").hexdigest(), *sorted(host_features))
    return " ".join(parts)
