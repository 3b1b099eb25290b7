"""Fingerprint: what a package is, whatever its name and place. It is what is trusted."""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from io import BufferedReader
from pathlib import Path

from router.packages.manifest import BadPackage

UNCOUNTED = frozenset({".git", "node_modules", "__pycache__"})
"""Names that the fingerprint leaves out wherever they are: they change without the package changing."""


@dataclass(frozen=True, slots=True)
class Counted:
    """A file that counts."""

    path: Path
    """Where it is."""
    name: bytes
    """Its path within the package."""
    executable: bool
    """Whether its owner may execute it."""
    size: int
    """Bytes, as they were when it was found."""


def counted(root: Path, *, module: str = "", most: int | None = None) -> tuple[Counted, ...]:
    """The files of the package at `root` that count, in the canonical order: by the bytes of their names.

    Raises `BadPackage` for what is no plain file, and where there are more than `most`.
    """
    files: list[Counted] = []
    for file in _found(root, module):
        files.append(file)
        if most is not None and len(files) > most:
            raise BadPackage(root, f"the package has more than {most} files; take out what it does not need")
    return tuple(sorted(files, key=lambda each: each.name))


def strays(root: Path) -> Iterator[Path]:
    """What lies in the package at `root` and does not count. A snapshot has none."""
    for directory, directories, files in os.walk(root):
        for name in UNCOUNTED.intersection((*directories, *files)):
            yield Path(directory, name)
        directories[:] = [name for name in directories if name not in UNCOUNTED]


def fingerprint(root: Path, *, module: str = "") -> str:
    """SHA-256 in hex over the names, executable bits and bytes of the files that count.

    Each file is the length of its name (8 bytes, big-endian), its name, one byte (1: executable, otherwise
    0) and the SHA-256 of its bytes. Raises `BadPackage` for what is no plain file, or cannot be read.
    """
    whole = hashlib.sha256()
    for file in counted(root, module=module):
        head = len(file.name).to_bytes(8) + file.name + bytes([file.executable])
        whole.update(head + _digest(root, file, module))
    return whole.hexdigest()


def _found(root: Path, module: str) -> Iterator[Counted]:
    left = [root]
    while left:
        directory = left.pop()
        try:
            entries = list(os.scandir(directory))
        except OSError as unreadable:
            raise _bad(root, directory, f"cannot be read: {unreadable.strerror}", module) from None
        for entry in entries:
            path = directory / entry.name
            if entry.name in UNCOUNTED:
                continue
            if entry.is_symlink():
                raise _bad(root, path, "is a symbolic link; a package has plain files only", module)
            if entry.is_dir():
                left.append(path)
            elif entry.is_file():
                found = entry.stat(follow_symlinks=False)
                name = os.fsencode(path.relative_to(root))
                yield Counted(path, name, bool(found.st_mode & stat.S_IXUSR), found.st_size)
            else:
                raise _bad(root, path, "is not a plain file; take it out of the package", module)


def opened(path: Path) -> BufferedReader:
    """A plain file of a package, for reading. What became of it since is not followed, nor waited for."""
    return open(os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK), "rb")


def _digest(root: Path, file: Counted, module: str) -> bytes:
    try:
        with opened(file.path) as read:
            return hashlib.file_digest(read, "sha256").digest()
    except OSError as unreadable:
        raise _bad(root, file.path, f"cannot be read: {unreadable.strerror}", module) from None


def _bad(root: Path, path: Path, why: str, module: str) -> BadPackage:
    return BadPackage(root, f"{path.relative_to(root)}: {why}", module=module)
