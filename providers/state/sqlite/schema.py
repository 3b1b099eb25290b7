"""The schema of the database, its versions, and the steps from each to the next.

`application_id` says that a database is ours, `user_version` which version of the schema it has.
"""

from __future__ import annotations

import secrets
import sqlite3
from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sqlite_utils import Database

APPLICATION_ID = 0x57757553
"""`WuuS` in ASCII."""


def _tables(db: Database) -> None:
    # Text is compared by the bytes of its UTF-8 (BINARY), which is the order of the contract.
    db.table("documents").create(
        {"namespace": str, "key": str, "value": bytes},
        pk=("namespace", "key"),
        not_null={"namespace", "key", "value"},
        strict=True,
    )
    db.table("receipts").create(
        {"sequence": int, "id": str, "revision": str, "digest": str},
        pk="sequence",
        not_null={"id", "revision", "digest"},
        strict=True,
    )
    db.table("receipts").create_index(["id"], unique=True)
    db.table("store").create({"one": int, "revision": str}, pk="one", not_null={"revision"}, strict=True)
    db.table("store").insert({"one": 1, "revision": "0"})


def _guards(db: Database) -> None:
    # In the order of revisions, which have no bound and are text.
    db.execute("CREATE INDEX receipts_by_revision ON receipts (length(revision), revision)")
    db.table("inspections").create(
        {
            "id": str,
            "owner": str,
            "namespaces": str,
            "revision": str,
            "state": str,
            "outcome": int,
            "reason": str,
            "reconciler": str,
        },
        pk="id",
        not_null={"owner", "namespaces", "revision", "state", "outcome", "reason", "reconciler"},
        strict=True,
    )
    db.table("inspections").create_index(["state", "id"])
    db.table("identity").create(
        {"one": int, "store_id": str, "generation": str},
        pk="one",
        not_null={"store_id", "generation"},
        strict=True,
    )
    identity = {"one": 1, "store_id": secrets.token_hex(16), "generation": secrets.token_hex(8)}
    db.table("identity").insert(identity)


MIGRATIONS: tuple[Callable[[Database], None], ...] = (_tables, _guards)
"""The n-th step makes version n + 1 of version n."""

VERSION = len(MIGRATIONS)
"""The version of the schema that this provider works with."""


def version(connection: sqlite3.Connection) -> int | None:
    """The version of the schema; 0 for an empty database, None for one that is not ours."""
    (application,) = connection.execute("PRAGMA application_id").fetchone()
    (found,) = connection.execute("PRAGMA user_version").fetchone()
    if application == APPLICATION_ID:
        return int(found)
    (tables,) = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
    return None if application or found or tables else 0


def migrate(connection: sqlite3.Connection, found: int) -> None:
    """Brings the schema from the version that was found to VERSION, within the transaction that is open."""
    # Costs megabytes, and most starts find the schema in place.
    from sqlite_utils import Database

    db = Database(connection, recursive_triggers=False, execute_plugins=False)
    for step in MIGRATIONS[found:]:
        step(db)
    connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
    connection.execute(f"PRAGMA user_version = {VERSION}")
