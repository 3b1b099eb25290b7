"""Ledger: the record of one home, of what is installed and what is trusted.

Source: *Plugin authoring reference*, installing and updating. What is trusted is a fingerprint with its
source; to select a module in a composition never grants trust.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import msgspec

from contract.errors import MeshError
from router.home import Home
from router.packages.fingerprint import strays
from router.packages.manifest import MODULE_ID, MODULE_ID_LIMIT, BadPackage
from router.packages.package import Package

if TYPE_CHECKING:
    import filelock

SCHEMA = 1
"""The form of the record; a newer one is refused, since what it says would be lost."""

SHORT = 16
"""Digits of a fingerprint that name a snapshot."""

_PRODUCT = Path(__file__).resolve().parents[2]
_OWN = ("providers", "examples", "bench", "tests")
"""The directories of a checkout that have packages of the product's own."""

_Id = Annotated[str, msgspec.Meta(pattern=rf"\A{MODULE_ID.pattern}\Z", max_length=MODULE_ID_LIMIT)]
_Fingerprint = Annotated[str, msgspec.Meta(pattern=r"\A[0-9a-f]{64}\Z")]


class _Row(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    id: _Id
    version: str
    fingerprint: _Fingerprint
    source: str
    enabled: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Installed:
    """A package that is installed in the home."""

    id: str
    version: str
    fingerprint: str
    source: str
    """Where it came from: `directory:/abs` or `zip:/abs/file.zip`."""
    enabled: bool
    """Whether it may take part in a composition."""
    root: Path
    """Its snapshot, as an absolute path without symbolic links."""


class Trusted(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A package that may run: these bytes, from this source."""

    id: _Id
    fingerprint: _Fingerprint
    source: str


class Development(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A directory whose packages may run whatever their bytes are."""

    directory: str
    """An absolute path without symbolic links."""


class Workspace(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The composition of a workspace that may apply: a file, with its bytes and those of what it includes."""

    path: str
    """Absolute."""
    digest: _Fingerprint


class _Version(msgspec.Struct, frozen=True):
    schema_version: int


class _Record(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    schema_version: int = SCHEMA
    installed: tuple[_Row, ...] = ()
    trusted: tuple[Trusted, ...] = ()
    development: tuple[Development, ...] = ()
    workspaces: tuple[Workspace, ...] = ()


@dataclass(frozen=True)
class Ledger:
    """What the record of a home says; it does not change."""

    home: Home
    rows: tuple[Installed, ...] = ()
    """What is installed."""
    trusted: tuple[Trusted, ...] = ()
    """What may run, installed or in its own place."""
    development: tuple[Development, ...] = ()
    """The directories that are authorized for development."""
    workspaces: tuple[Workspace, ...] = ()
    """The compositions of workspaces that may apply."""

    @classmethod
    def read(cls, home: Home) -> Ledger:
        """The record as it stands; empty in a home that has none.

        Raises `host_error` for a damaged one or one of another version, and OSError for one that cannot be
        read. Nothing takes its place: it would make of what is trusted what is not.
        """
        try:
            text = home.ledger.read_bytes()
        except (FileNotFoundError, NotADirectoryError):
            return cls(home)
        try:
            version = msgspec.json.decode(text, type=_Version).schema_version
            if version != SCHEMA:
                raise _unusable(home, f"has schema_version {version}, and this mesh knows {SCHEMA}")
            record = msgspec.json.decode(text, type=_Record)
        except (msgspec.DecodeError, UnicodeDecodeError) as damaged:
            raise _unusable(home, f"is damaged: {damaged}") from None
        rows = tuple(
            Installed(**msgspec.structs.asdict(row), root=root_of(home, row.id, row.fingerprint))
            for row in record.installed
        )
        if len({row.id for row in rows}) != len(rows):
            raise _unusable(home, "is damaged: it has a package twice")
        return cls(home, rows, record.trusted, record.development, record.workspaces)

    def write(self) -> None:
        """Makes this the record of the home, in one step. The caller has the home's `locked`."""
        record = _Record(
            installed=tuple(
                _Row(
                    id=row.id,
                    version=row.version,
                    fingerprint=row.fingerprint,
                    source=row.source,
                    enabled=row.enabled,
                )
                for row in self.rows
            ),
            trusted=self.trusted,
            development=self.development,
            workspaces=self.workspaces,
        )
        # A file of mkstemp is 0600.
        descriptor, new = tempfile.mkstemp(prefix="packages.json.", dir=self.home.root)
        try:
            with open(descriptor, "wb") as file:
                file.write(msgspec.json.format(msgspec.json.encode(record), indent=2) + b"\n")
                file.flush()
                os.fsync(file.fileno())
            os.replace(new, self.home.ledger)
        except BaseException:
            os.unlink(new)
            raise
        sync(self.home.root)

    @cached_property
    def installed(self) -> Mapping[str, Installed]:
        """What is installed, by id."""
        return {row.id: row for row in sorted(self.rows, key=lambda row: row.id)}

    def trusts(self, module: str, fingerprint: str, source: str) -> bool:
        """Whether these bytes of this source may run as a package."""
        return Trusted(module, fingerprint, source) in self.trusted

    def verdict(self, package: Package) -> str:
        """Why a package may not run, with the remedy; empty where it may.

        The fingerprint is the package's own, of its first look: whoever is about to start one makes a new
        `Package` of its root and asks again.
        """
        root = package.root
        try:
            if root.is_relative_to(self.home.packages.resolve()):
                return self._verdict_of_snapshot(package)
            if not self.is_by_bytes(root):
                return ""
            return self._verdict_in_place(package)
        except BadPackage as bad:
            return bad.message

    def is_by_bytes(self, root: Path) -> bool:
        """Whether a package runs only with the bytes that were trusted."""
        return not is_own(root) and not self._is_developed(root)

    def _is_developed(self, root: Path) -> bool:
        return any(root.is_relative_to(each.directory) for each in self.development)

    def _verdict_of_snapshot(self, package: Package) -> str:
        module = package.manifest.id
        row = self.installed.get(module)
        if row is None or row.root != package.root:
            return f"it is not what is installed as {module}; see `wuu-mesh plugin list`"
        if package.fingerprint != row.fingerprint or next(strays(row.root), None) is not None:
            again = f"`wuu-mesh plugin update {module} DIR|ZIP` installs it anew"
            return f"it was changed outside of install and update; {again}"
        if not self.trusts(module, row.fingerprint, row.source):
            return f"it is installed and not trusted; `wuu-mesh plugin trust {module}` grants that"
        return ""

    def _verdict_in_place(self, package: Package) -> str:
        module, source = package.manifest.id, f"directory:{package.root}"
        if self.trusts(module, package.fingerprint, source):
            return uncovered(package.root)
        before = any(each.id == module and each.source == source for each in self.trusted)
        why = "it has changed since it was trusted" if before else "it is not trusted"
        return f"{why}; look at it and run `wuu-mesh plugin trust {package.root}`"


def uncovered(root: Path) -> str:
    """Why the trust in a package that stays where it is would say too little; empty where it says it all."""
    stray = next((path for path in strays(root) if path.name != ".git"), None)
    if stray is None:
        return ""
    there = stray.relative_to(root)
    return f"{there} is run with it and is no part of what is trusted; take it out, or install the package"


def root_of(home: Home, module: str, fingerprint: str) -> Path:
    """Where the snapshot of a package is."""
    return home.packages.resolve() / module / fingerprint[:SHORT]


def is_own(root: Path) -> bool:
    """Whether a package is the product's own: what ships with the mesh is trusted as the mesh is."""
    # Installed from a wheel, the mesh has strangers beside it.
    own = _OWN if (_PRODUCT / "mesh").is_file() else _OWN[:1]
    return any(root.is_relative_to(_PRODUCT / name) for name in own)


def authorize(home: Home, directory: Path) -> None:
    """Trusts every package below a directory, whatever its bytes are: for who develops them there."""
    with locked(home):
        ledger = Ledger.read(home)
        given = Development(str(directory.resolve()))
        if given not in ledger.development:
            replace(ledger, development=(*ledger.development, given)).write()


@contextmanager
def locked(home: Home, waiting: Callable[[], None] = lambda: None) -> Iterator[None]:
    """The right to change the packages of a home, which one process has at a time.

    `waiting` is called once where another one has it. A killed process leaves nothing locked.
    """
    home.make()
    lock = _lock(home)
    if not _is_taken(lock):
        waiting()
        lock.acquire()
    try:
        yield
    finally:
        lock.release()


@contextmanager
def locked_if_free(home: Home) -> Iterator[bool]:
    """The same for what can be done another time: False where another process has it."""
    home.make()
    lock = _lock(home)
    if not _is_taken(lock):
        yield False
        return
    try:
        yield True
    finally:
        lock.release()


def _lock(home: Home) -> filelock.BaseFileLock:
    import filelock  # Nearly all who read the record change nothing.

    return filelock.FileLock(home.root / "packages.lock", mode=0o600)


def _is_taken(lock: filelock.BaseFileLock) -> bool:
    """Takes it; False where another process has it."""
    import filelock

    try:
        lock.acquire(timeout=0)
    except filelock.Timeout:
        return False
    return True


def sync(directory: Path) -> None:
    """Has the names in a directory survive a loss of power."""
    descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _unusable(home: Home, why: str) -> MeshError:
    remedy = "Restore it, or move it away with the packages beside it and install and trust them anew."
    return MeshError("host_error", f"{home.ledger} {why}", remedy=remedy)
