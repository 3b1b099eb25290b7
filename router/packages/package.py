"""Package: the directory that a module comes from."""

from __future__ import annotations

import os
import shutil
import sys
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from router.packages.fingerprint import fingerprint
from router.packages.manifest import MANIFEST, BadPackage, Manifest, Runtime

DESCRIPTORS = "descriptors.binpb"
"""The file in which a package brings the carriers of its services."""

NO_MODULE = (
    f"{MANIFEST}: /runtime: is missing, so that the package offers no module; take it out of `modules`"
)
"""What is said where a composition names a declarative package."""


@dataclass(frozen=True)
class Package:
    """A package with a valid manifest."""

    root: Path
    """The directory: an absolute path without symbolic links."""
    manifest: Manifest

    @cached_property
    def fingerprint(self) -> str:
        """SHA-256 in hex over the package's files, as they are when first asked for; see `counted`.

        Raises `BadPackage` for a symbolic link or a special file: what it leads to could change unseen.
        """
        return fingerprint(self.root, module=self.manifest.id)

    @property
    def runtime(self) -> Runtime:
        """How its process is started. Discovery takes no package for a module that has none."""
        if self.manifest.runtime is None:
            raise BadPackage(self.root, NO_MODULE, module=self.manifest.id)
        return self.manifest.runtime

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
        runtime = self.runtime
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
