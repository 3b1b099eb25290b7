"""Snapshot: the copy of a package that is installed, which nobody changes any more.

A snapshot is made in a directory of its own and renamed to its place in one step. It is
`<home>/packages/<id>/<first digits of the fingerprint>`, so that a generation which retains the package of
before an update goes on with its own bytes.
"""

from __future__ import annotations

import os
import re
import shutil
import tempfile
from collections.abc import Callable, Collection, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

from router.home import Home
from router.packages.entry import ENTRY_LIMIT, SIZE_LIMIT, problem_of_names
from router.packages.fingerprint import Counted, counted, fingerprint, opened, strays
from router.packages.ledger import SHORT, Ledger, locked_if_free, root_of, sync
from router.packages.manifest import MODULE_ID, BadPackage

STAGING = ".staging-"
"""How the name of what is not finished begins. No id of a package does."""

CHUNK = 1 << 16
"""Bytes that are read at once."""

_NAME = re.compile(f"[0-9a-f]{{{SHORT}}}")

SYNCING = 32
"""Files that are brought to the disk at once."""

Told = Callable[[int, int], None]
"""Hears of each step: the bytes that are done, and those that there will be."""


class Staging:
    """The files of a package as they come, within the bounds of one."""

    def __init__(self, root: Path, source: Path, told: Told) -> None:
        self.root = root
        """Where they go."""
        self.size = 0
        """Bytes so far."""
        self.expected = 0
        """Bytes that the source says there will be; no more than a word for `told`."""
        self._source = source
        self._told = told

    def add(self, name: str, chunks: Iterable[bytes], *, executable: bool) -> None:
        """Writes a file. Raises `BadPackage` where the package becomes too large."""
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("xb") as file:
            for chunk in chunks:
                self.size += len(chunk)
                if self.size > SIZE_LIMIT:
                    raise BadPackage(self._source, f"{name}: {too_large()}")
                file.write(chunk)
                self._told(self.size, max(self.size, self.expected))
        path.chmod(0o555 if executable else 0o444)


def bounded(source: Path) -> tuple[Counted, ...]:
    """The files of a directory that count, which are within the bounds of a package. Raises `BadPackage`."""
    files = counted(source, most=ENTRY_LIMIT)
    if broken := problem_of_names((os.fsdecode(file.name), False) for file in files):
        raise BadPackage(source, ": ".join(broken))
    if sum(file.size for file in files) > SIZE_LIMIT:
        raise BadPackage(source, too_large())
    return files


def copy(source: Path, staging: Staging) -> None:
    """The files of the package in a directory that count, into a staging. Raises `BadPackage`."""
    files = bounded(source)
    staging.expected = sum(file.size for file in files)
    for file in files:
        staging.add(os.fsdecode(file.name), _chunks(source, file.path), executable=file.executable)


def too_large() -> str:
    """What is said of a package past its size."""
    return f"the package has more than {SIZE_LIMIT >> 20} MiB; take out what it does not need"


def too_many() -> str:
    """What is said of a package past its number of entries."""
    return f"the package has more than {ENTRY_LIMIT} entries; take out what it does not need"


def _chunks(source: Path, path: Path) -> Iterator[bytes]:
    try:
        with opened(path) as file:
            while chunk := file.read(CHUNK):
                yield chunk
    except OSError as unreadable:
        raise BadPackage(
            source, f"{path.relative_to(source)}: cannot be read: {unreadable.strerror}"
        ) from None


@contextmanager
def staged(directory: Path) -> Iterator[Path]:
    """An empty directory in `directory`, gone at the end unless it was published."""
    directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    root = Path(tempfile.mkdtemp(prefix=STAGING, dir=directory))
    try:
        yield root
    finally:
        discard(root)


def publish(home: Home, staging: Path, module: str) -> Path:
    """Makes what is staged the snapshot of a package, and returns its root. It is on the disk then."""
    _seal(staging)
    digest = fingerprint(staging)
    root = root_of(home, module, digest)
    root.parent.mkdir(mode=0o700, exist_ok=True)
    if root.exists():
        if fingerprint_of_snapshot(root) == digest:
            # A generation may run from it.
            return root
        discard(_aside(home, root))
    staging.rename(root)
    # Only now: a directory that cannot be written cannot be moved either.
    root.chmod(0o555)
    for directory in (root.parent, home.packages):
        sync(directory)
    return root


def fingerprint_of_snapshot(root: Path) -> str:
    """The fingerprint of what lies there; empty where it is no snapshot any more."""
    try:
        digest = fingerprint(root)
        return "" if next(strays(root), None) is not None else digest
    except BadPackage:
        return ""


def sweep(home: Home) -> None:
    """Removes what killed commands left unfinished. The caller has the home's `locked`."""
    for left in home.packages.glob(f"{STAGING}*"):
        discard(left)
    for left in home.root.glob("packages.json.*"):
        left.unlink()


def prune(home: Home, used: Collection[Path]) -> None:
    """Removes the snapshots that neither the ledger names nor `used` lists.

    While a command changes the packages nothing is removed: it may be about to name one.
    """
    if not home.packages.is_dir():
        return
    with locked_if_free(home) as free:
        if free:
            remove_unnamed(home, used)


def remove_unnamed(home: Home, used: Collection[Path]) -> None:
    """What `prune` does, for who has the home's `locked`."""
    kept = {row.root for row in Ledger.read(home).rows} | {path.resolve() for path in used}
    if not home.packages.is_dir():
        return
    for package in home.packages.resolve().iterdir():
        # What somebody else has put here, or linked to, is not ours to remove.
        if not MODULE_ID.fullmatch(package.name) or not _is_directory(package):
            continue
        unnamed = [root for root in package.iterdir() if _NAME.fullmatch(root.name) and root not in kept]
        for root in filter(_is_directory, unnamed):
            discard(_aside(home, root))
        if unnamed and not any(package.iterdir()):
            package.rmdir()


def discard(root: Path) -> None:
    """Removes a directory, also one that is read-only; of a link, the link."""
    if root.is_symlink() or root.is_file():
        root.unlink()
        return
    for directory, _, _ in os.walk(root):
        os.chmod(directory, 0o700)
    if root.exists():
        shutil.rmtree(root)


def _is_directory(path: Path) -> bool:
    return path.is_dir() and not path.is_symlink()


def _aside(home: Home, root: Path) -> Path:
    """Takes a snapshot away in one step, so that nobody finds half of it."""
    if _is_directory(root):
        root.chmod(0o700)
    aside = Path(tempfile.mkdtemp(prefix=STAGING, dir=home.packages))
    root.rename(aside / "old")
    return aside


def _seal(root: Path) -> None:
    """Makes everything read-only, the root itself aside, and has it survive a loss of power."""
    tree = list(os.walk(root, topdown=False))
    paths = [Path(directory, name) for directory, _, files in tree for name in files]
    # A disk takes many at once in hardly more time than one, and a package has up to ten thousand.
    with ThreadPoolExecutor(SYNCING) as threads:
        list(threads.map(_sync_file, paths))
    for directory, _, _ in tree:
        if Path(directory) != root:
            os.chmod(directory, 0o555)
        sync(Path(directory))


def _sync_file(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
