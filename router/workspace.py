"""Workspace: whether the composition that a workspace brings may apply.

A workspace is often somebody else's work. Its file is ignored until the operator trusts it as it is; once a
byte of it or of what it includes is another, it is ignored again.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from router.home import Home
from router.packages.ledger import Ledger, Workspace, locked


def is_trusted(ledger: Ledger, path: Path, texts: Sequence[bytes]) -> bool:
    """Whether the file at `path` was trusted with these texts, its own and those that it includes."""
    return _trusted(path, texts) in ledger.workspaces


def trust(home: Home, path: Path, texts: Sequence[bytes]) -> None:
    """Trusts the file with these texts, and with no others."""
    with locked(home):
        ledger = Ledger.read(home)
        replace(ledger, workspaces=(*_others(ledger, path), _trusted(path, texts))).write()


def untrust(home: Home, path: Path) -> bool:
    """Trusts the file no more; False where it was not trusted."""
    with locked(home):
        ledger = Ledger.read(home)
        others = _others(ledger, path)
        if others == ledger.workspaces:
            return False
        replace(ledger, workspaces=others).write()
        return True


def _others(ledger: Ledger, path: Path) -> tuple[Workspace, ...]:
    return tuple(each for each in ledger.workspaces if each.path != str(path))


def _trusted(path: Path, texts: Sequence[bytes]) -> Workspace:
    whole = hashlib.sha256()
    for text in texts:
        whole.update(len(text).to_bytes(8) + text)
    return Workspace(str(path), whole.hexdigest())
