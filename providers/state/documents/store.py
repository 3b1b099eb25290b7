"""A store: the protocol that an engine implements. Everything in it blocks, and runs in one thread."""

from __future__ import annotations

import logging
import os
from collections.abc import Generator, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, Protocol, Self

from contract.errors import MeshError
from providers.state.documents.inspection import Inspection
from providers.state.documents.transaction import Receipt, Transaction, Write

if TYPE_CHECKING:
    from providers.state.documents.snapshot import Snapshot

log = logging.getLogger(__name__)

LOCK_TIMEOUT = 10.0
"""Seconds to wait for another process that is writing to the same store."""


class Stored(NamedTuple):
    """One document as it is stored."""

    namespace: str
    key: str
    value: bytes


class Compaction(NamedTuple):
    """What compaction did."""

    bytes_before: int
    """Bytes of all files of the store."""
    bytes_after: int


class Identity(NamedTuple):
    """Which data set a store holds. Made with it, and durable before anything is served."""

    store_id: str
    """One logical data set for ever: no path, no process, and not that of a copy elsewhere."""
    generation: str
    """What pages of an export are bound to beside the revision: another one where the store was made anew."""


class View(Protocol):
    """One state of a store, inside the scope that gave it. Iterators are closed before its end."""

    def revision(self) -> str:
        """The revision of this state."""

    def receipt(self, transaction: str) -> Receipt | None:
        """The receipt of the transaction with this id; None where it never was committed."""

    def get(self, namespace: str, key: str) -> bytes | None:
        """The value of a document; None where there is none."""

    def scan(
        self, namespace: str, low: str, high: str | None, *, reverse: bool
    ) -> Generator[Stored, None, None]:
        """The documents from `low` on and before `high` (None: to the end), in key order or in reverse.

        Reads no further than it is asked to.
        """

    def documents(self, after: tuple[str, str] | None = None) -> Generator[Stored, None, None]:
        """All documents, or those past a namespace and key, by namespace and key.

        Reads no further than it is asked to.
        """

    def receipts(self, after: str | None = None) -> Generator[Receipt, None, None]:
        """All receipts, or those past a revision, by revision. Reads no further than it is asked to."""

    def inspection(self, id: str) -> Inspection | None:  # noqa: A002
        """What is kept of the guard with this id; None where it never was named."""

    def held(self) -> list[Inspection]:
        """The guards that are held, by id."""

    def identity(self) -> Identity:
        """Which data set this is."""


class Ledger(View, Protocol):
    """The newest state of a store, with the right to add to it."""

    def apply(self, transaction: Transaction, receipt: Receipt) -> None:
        """Adds a transaction. Like whatever is added it stands, wholly and durably, when the scope of the
        ledger ends without an error; else nothing of it does. Until then it shows the state before."""

    def claim(self, writes: Sequence[Write], revision: str) -> None:
        """Adds documents that say whose namespaces are, and raises the revision. Leaves no receipt."""

    def keep(self, inspection: Inspection) -> None:
        """Keeps a guard, in place of what was kept under its id. The revision stays."""

    def fill(self, snapshot: Snapshot) -> None:
        """Adds everything that a snapshot has to a store that is empty."""


class Store(Protocol):
    """An open store. Failures of the engine are `host_error`."""

    @classmethod
    def check(cls, path: Path) -> None:
        """Raises `host_error` with a remedy where `open` could not trust what lies at the path. Writes
        nothing; where nothing lies, all is well."""

    @classmethod
    def open(cls, path: Path) -> Self:
        """The store at the path, made where there is none."""

    def view(self) -> AbstractContextManager[View]:
        """The newest state that was acknowledged by any process."""

    def ledger(self) -> AbstractContextManager[Ledger]:
        """The only ledger of the store, among all processes, until the end of its scope."""

    def compact(self) -> Compaction:
        """Gives space back. What other processes have open stays good."""

    def close(self) -> None:
        """Lets go of the store."""


def refused(path: Path, problem: str, remedy: str) -> MeshError:
    """The error for a store that cannot be trusted."""
    return MeshError("host_error", f"the store at {path} is refused: {problem}", remedy=remedy)


def still_there(path: Path, opened: os.stat_result) -> os.stat_result:
    """The file at the path, as long as it is the one that was opened.

    What is written into a file that was removed or replaced would be acknowledged and gone.
    """
    try:
        present = path.stat()
    except FileNotFoundError:
        present = None
    if present is None or not os.path.samestat(present, opened):
        raise refused(
            path, "the file was removed or replaced while it was open", "Put it back, then reload the module."
        )
    return present


@contextmanager
def engine_errors(engine: str, path: Path, *failures: type[Exception]) -> Iterator[None]:
    """Turns the failures of an engine into `host_error`, with the engine's own words."""
    try:
        yield
    except failures as failure:
        log.error("engine failed", extra={"engine": engine, "path": str(path), "reason": str(failure)})
        raise MeshError("host_error", f"{engine} at {path}: {failure}") from failure
