"""The home of one mesh: where it keeps its state, and where its sockets are."""

from __future__ import annotations

import asyncio
import errno
import hashlib
import os
import shutil
import socket
import stat
import struct
import tempfile
import time
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from contract.errors import MeshError

if TYPE_CHECKING:
    import filelock

SOCKET_PATH_LIMIT = 107
"""Bytes that the path of a Unix socket may have on Linux."""

LOOK = 0.5
"""Seconds between looks at whether the home is still there."""

ACCEPT_WAIT = 2.0
"""Seconds within which a listener takes a connection."""

_CREDENTIALS = struct.Struct("iII")
"""`struct ucred` of unix(7): pid, uid, gid."""


class Running(msgspec.Struct, frozen=True):
    """What `mesh.json` says about the mesh that runs here."""

    pid: int
    """The router's process id."""
    control: str
    """The absolute path of the control socket."""


@dataclass(frozen=True, slots=True)
class Home:
    """Paths of one mesh, under its home and under the runtime directory."""

    root: Path

    @classmethod
    def at(cls, root: Path | None = None) -> Home:
        """The home at `root`; by default `$WUU_MESH_HOME`, else `$XDG_STATE_HOME/wuu-mesh`.

        Raises OSError for a path that is not UTF-8.
        """
        if root is None:
            named = os.environ.get("WUU_MESH_HOME")
            state = os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state"
            root = Path(named) if named else Path(state) / "wuu-mesh"
        home = root.expanduser().absolute()
        try:
            str(home).encode()
        except UnicodeEncodeError:
            # Modules hear of it in messages, which have nothing else.
            raise OSError(errno.EILSEQ, "a home has a path in UTF-8", os.fsencode(home)) from None
        return cls(home)

    @property
    def sockets(self) -> Path:
        """The 0700 directory of this home's sockets."""
        runtime = os.environ.get("XDG_RUNTIME_DIR")
        base = (
            Path(runtime) / "wuu-mesh" if runtime else Path(tempfile.gettempdir()) / f"wuu-mesh-{os.getuid()}"
        )
        return base / hashlib.sha256(os.fsencode(self.root)).hexdigest()[:8]

    @property
    def packages(self) -> Path:
        """The snapshots of the packages that are installed in this home."""
        return self.root / "packages"

    @property
    def ledger(self) -> Path:
        """The record of what is installed and trusted."""
        return self.root / "packages.json"

    @property
    def journal(self) -> Path:
        """The journal of generations and declarations."""
        return self.root / "journal.sqlite3"

    @property
    def logs(self) -> Path:
        """The directory of logs."""
        return self.root / "logs"

    def state_of(self, module: str) -> Path:
        """The directory that is the module's own."""
        return self.root / "state" / module

    def make(self) -> None:
        """Makes the home. Documents, logs and the journal are nobody else's to read."""
        self.root.mkdir(mode=0o700, parents=True, exist_ok=True)

    def open(self) -> Hold:
        """Makes the directories and takes the home for this process.

        Raises `service_unavailable` naming the process that holds it. Sockets and pid files that a dead
        router left behind are removed.
        """
        import filelock  # Commands only look at a home, and need none of it.

        self.make()
        lock = filelock.FileLock(self.root / "lock")
        try:
            lock.acquire(timeout=0)
        except filelock.Timeout:
            holder = self.running()
            raise self._held(f"process {holder.pid}" if holder else "another process") from None
        try:
            self._open_sockets()
            self.announcement.unlink(missing_ok=True)
            self.logs.mkdir(exist_ok=True)
        except BaseException:
            lock.release()
            raise
        return Hold(self, lock)

    def _open_sockets(self) -> None:
        for directory in (self.sockets.parent, self.sockets):
            directory.mkdir(mode=0o700, parents=True, exist_ok=True)
            found = directory.lstat()
            if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.getuid() or found.st_mode & 0o077:
                raise MeshError(
                    "host_error",
                    f"{directory} is not a directory of this user with mode 0700",
                    remedy="Remove it, or set XDG_RUNTIME_DIR.",
                )
        if len(os.fsencode(self.sockets / "00000000")) > SOCKET_PATH_LIMIT:
            raise MeshError(
                "host_error",
                f"socket paths under {self.sockets} pass {SOCKET_PATH_LIMIT} bytes",
                remedy="Set XDG_RUNTIME_DIR to a shorter path.",
            )
        holder_pid = listener(self.sockets / "control")
        if holder_pid is not None:
            # The home was removed under a mesh that runs on, and its lock with it.
            raise self._held(f"process {holder_pid}", f"`kill {holder_pid}`")
        _empty(self.sockets)

    def _held(self, holder: str, stop: str = "`wuu-mesh down`") -> MeshError:
        return MeshError(
            "service_unavailable",
            f"{holder} holds {self.root}",
            remedy=f"Stop it with {stop}, or use another home with --home DIR.",
        )

    def running(self) -> Running | None:
        """What `mesh.json` says; None where no mesh has announced itself."""
        try:
            return msgspec.json.decode(self.announcement.read_bytes(), type=Running)
        except (FileNotFoundError, NotADirectoryError, msgspec.DecodeError):
            return None

    @property
    def announcement(self) -> Path:
        """Where a mesh that runs says how to reach it."""
        return self.root / "mesh.json"


class Hold:
    """A home in the hands of this process, until it is closed."""

    def __init__(self, home: Home, lock: filelock.BaseFileLock) -> None:
        self.home = home
        self._lock = lock
        self._taken = _identity(Path(lock.lock_file))

    def announce(self, running: Running) -> None:
        """Writes `mesh.json`, so that commands find this mesh."""
        written = self.home.root / "mesh.json.new"
        written.write_bytes(msgspec.json.encode(running))
        written.replace(self.home.announcement)

    async def lost(self) -> None:
        """Returns once the home was removed under this process; another may be in its place."""
        while not self._is_lost:  # noqa: ASYNC110 (a directory does not say when it goes)
            await asyncio.sleep(LOOK)

    def close(self) -> None:
        """Lets go of the home, without what `announce` and the sockets left in it."""
        if not self._is_lost:
            self.home.announcement.unlink(missing_ok=True)
            if self.home.sockets.is_dir():  # The system empties a runtime directory as its user logs out.
                _empty(self.home.sockets)
                self.home.sockets.rmdir()
        self._lock.release()

    @property
    def _is_lost(self) -> bool:
        # The file that is locked is open, so that no other can have its inode.
        return _identity(Path(self._lock.lock_file)) != self._taken


def _identity(path: Path) -> tuple[int, int] | None:
    """Device and inode; None where there is no such file."""
    try:
        found = path.stat()
    except (FileNotFoundError, NotADirectoryError):
        return None
    return found.st_dev, found.st_ino


def listener(path: str | Path) -> int | None:
    """The process that takes connections on a Unix socket; None for what a killed one left behind.

    Raises OSError where that cannot be told.
    """
    with closing(socket.socket(socket.AF_UNIX)) as tried:
        tried.setblocking(False)
        deadline = time.monotonic() + ACCEPT_WAIT
        while True:
            try:
                tried.connect(str(path))
                break
            except (FileNotFoundError, NotADirectoryError, ConnectionRefusedError):
                return None
            except BlockingIOError:
                # Its queue is full; who takes connections makes room at once.
                if time.monotonic() > deadline:
                    raise TimeoutError(errno.ETIMEDOUT, "its listener takes no connections", path) from None
                time.sleep(0.01)
        credentials = tried.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size)
    pid, _, _ = _CREDENTIALS.unpack(credentials)
    return int(pid)


def _empty(directory: Path) -> None:
    for entry in directory.iterdir():
        if entry.is_dir() and not entry.is_symlink():
            shutil.rmtree(entry)
        else:
            entry.unlink()
