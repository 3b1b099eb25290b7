"""Workspace: whether the composition that a workspace brings may apply.

A workspace is often somebody else's work. Its file is ignored until the operator trusts it as it is; once a
byte of it or of what it includes is another, it is ignored again.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from pathlib import Path

import filelock
import msgspec

from contract.errors import MeshError


def is_trusted(record: Path, path: Path, texts: Sequence[bytes]) -> bool:
    """Whether the file at `path` was trusted with these texts, its own and those that it includes."""
    return _trusted(record).get(str(path)) == _digest(texts)


def trust(record: Path, path: Path, texts: Sequence[bytes]) -> None:
    """Trusts the file with these texts, and with no others."""
    with filelock.FileLock(f"{record}.lock"):
        _write(record, {**_trusted(record), str(path): _digest(texts)})


def untrust(record: Path, path: Path) -> bool:
    """Trusts the file no more; False where it was not trusted."""
    with filelock.FileLock(f"{record}.lock"):
        trusted = dict(_trusted(record))
        if trusted.pop(str(path), None) is None:
            return False
        _write(record, trusted)
        return True


def _digest(texts: Sequence[bytes]) -> str:
    whole = hashlib.sha256()
    for text in texts:
        whole.update(len(text).to_bytes(8) + text)
    return whole.hexdigest()


def _trusted(record: Path) -> Mapping[str, str]:
    """The digest that each file was trusted with, by its path."""
    try:
        return msgspec.json.decode(record.read_bytes(), type=dict[str, str])
    except FileNotFoundError:
        return {}
    except msgspec.DecodeError as damaged:
        remedy = "Move it out of the way; then trust your workspaces again."
        raise MeshError("host_error", f"{record}: {damaged}", remedy=remedy) from None


def _write(record: Path, trusted: Mapping[str, str]) -> None:
    written = record.with_name(f"{record.name}.new")
    written.touch(mode=0o600)
    written.write_bytes(msgspec.json.encode(trusted, order="sorted"))
    written.replace(record)
