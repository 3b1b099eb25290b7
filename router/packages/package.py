"""Package: the directory that a module comes from."""

from __future__ import annotations

import hashlib
import os
import shutil
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from router.packages.manifest import MANIFEST, BadPackage, Manifest

DESCRIPTORS = "descriptors.binpb"
"""The file in which a package brings the carriers of its services."""

UNCOUNTED = frozenset({".git", "node_modules", "__pycache__"})
"""Names that the fingerprint leaves out wherever they are: they change without the package changing."""


@dataclass(frozen=True)
class Package:
    """A package with a valid manifest."""

    root: Path
    """The directory: an absolute path without symbolic links."""
    manifest: Manifest

    @cached_property
    def fingerprint(self) -> str:
        """SHA-256 in hex over the paths and bytes of the package's files, as they are when first asked for.

        Raises `BadPackage` for a symbolic link or a special file: what it leads to could change unseen.
        """
        whole = hashlib.sha256()
        for path in sorted(self._files(self.root), key=os.fsencode):
            name = os.fsencode(path.relative_to(self.root))
            whole.update(len(name).to_bytes(8) + name + self._digest(path))
        return whole.hexdigest()

    @cached_property
    def descriptors(self) -> bytes:
        """The google.protobuf.FileDescriptorSet in `descriptors.binpb`; empty where the package has none."""
        path = self.root / DESCRIPTORS
        return path.read_bytes() if path.is_file() else b""

    def argv(self) -> tuple[str, ...]:
        """The command as an absolute path, and its arguments.

        A bare name is looked up beside the interpreter that runs the mesh, so that `python3` is the one that
        has the kit, then on PATH. Raises `BadPackage` where there is nothing to run.
        """
        runtime = self.manifest.runtime
        return (self._executable(runtime.command), *runtime.args)

    def _executable(self, command: str) -> str:
        if "/" not in command:
            beside = os.path.dirname(sys.executable)
            found = shutil.which(command, path=os.pathsep.join((beside, os.environ.get("PATH", os.defpath))))
            if found is None:
                raise self._bad_command(f"'{command}' is not on PATH; install it, or name another")
            return os.path.abspath(found)
        path = self.root / command
        if not command.startswith("/") and not path.resolve().is_relative_to(self.root):
            raise self._bad_command(f"'{command}' leads out of the package; write a path within it")
        if not path.is_file():
            raise self._bad_command(f"{path} is not a file; build the package, or correct the path")
        if not os.access(path, os.X_OK):
            raise self._bad_command(f"{path} is not executable; run chmod +x on it")
        return str(path)

    def _bad_command(self, why: str) -> BadPackage:
        return BadPackage(self.root, f"{MANIFEST}: /runtime/command: {why}", module=self.manifest.id)

    def _files(self, directory: Path) -> Iterator[Path]:
        try:
            entries = list(os.scandir(directory))
        except OSError as unreadable:
            raise self._bad_file(directory, f"cannot be read: {unreadable.strerror}") from None
        for entry in entries:
            path = directory / entry.name
            if entry.name in UNCOUNTED:
                continue
            if entry.is_symlink():
                raise self._bad_file(path, "is a symbolic link; a package has plain files only")
            if entry.is_dir():
                yield from self._files(path)
            elif entry.is_file():
                yield path
            else:
                raise self._bad_file(path, "is not a plain file; take it out of the package")

    def _digest(self, path: Path) -> bytes:
        try:
            with path.open("rb") as file:
                return hashlib.file_digest(file, "sha256").digest()
        except OSError as unreadable:
            raise self._bad_file(path, f"cannot be read: {unreadable.strerror}") from None

    def _bad_file(self, path: Path, why: str) -> BadPackage:
        return BadPackage(self.root, f"{path.relative_to(self.root)}: {why}", module=self.manifest.id)
