"""Packages that a test installs, and whether what is there then is whole."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from pathlib import Path

from router.home import Home
from router.packages.installation import Changed, install, update
from router.packages.ledger import Ledger
from router.packages.snapshot import fingerprint_of_snapshot
from router.packages.source import Source


def quiet(done: int, expected: int) -> None:
    """Progress that nobody watches."""


def put(home: Home, root: Path, integrity: str = "") -> Changed:
    return install(home, Source.at(root), integrity=integrity, told=quiet, waiting=lambda: None)


def renew(home: Home, root: Path, module: str = "example.notes", *, trust: bool = False) -> Changed:
    return update(home, module, Source.at(root), trust=trust, told=quiet, waiting=lambda: None)


def snapshots(home: Home) -> set[Path]:
    return {path for path in home.packages.glob("*/*") if path.is_dir()}


def whole(home: Home) -> bool:
    """Whether everything that is there is recorded, complete and what it was."""
    ledger = Ledger.read(home)
    rows = {row.root: row.fingerprint for row in ledger.rows}
    if not home.packages.exists():
        return not rows
    assert [path.name for path in home.packages.iterdir() if path.name.startswith(".")] == []
    return snapshots(home) == rows.keys() and all(
        fingerprint_of_snapshot(root) == fingerprint for root, fingerprint in rows.items()
    )


class mesh_of:  # noqa: N801
    """A control socket that takes connections, as that of a mesh does."""

    def __init__(self, home: Home) -> None:
        self._path = home.sockets / "control"
        self._socket = socket.socket(socket.AF_UNIX)

    def __enter__(self) -> Iterator[None]:
        for directory in (self._path.parent.parent, self._path.parent):
            directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._socket.bind(str(self._path))
        self._socket.listen()
        return iter(())

    def __exit__(self, *_: object) -> None:
        self._socket.close()
        self._path.unlink()
        self._path.parent.rmdir()
