"""Source: where a package comes from, and its way into a staging."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from contract.errors import MeshError
from router.packages import archive, snapshot
from router.packages.fingerprint import fingerprint
from router.packages.manifest import MANIFEST, BadPackage, Manifest, read_manifest
from router.packages.package import Package
from router.packages.snapshot import Staging, Told


@dataclass(frozen=True, slots=True)
class Source:
    """A directory or a ZIP file, as the record names it."""

    kind: Literal["directory", "zip"]
    path: Path
    """An absolute path without symbolic links."""

    @classmethod
    def at(cls, named: Path) -> Source:
        """The source that an operator names. Raises `BadPackage` where there is none."""
        try:
            path = named.expanduser().resolve(strict=True)
            str(path).encode()
        except UnicodeEncodeError:
            raise BadPackage(named, "is not a path in UTF-8; rename it") from None
        except (OSError, ValueError) as absent:
            why = absent.strerror if isinstance(absent, OSError) else "no file has that name"
            raise BadPackage(named, f"cannot be read: {why}; name a directory or a ZIP file") from None
        if path.is_dir():
            if not (path / MANIFEST).exists():
                raise BadPackage(path, f"has no {MANIFEST}; name the directory of a package")
            return cls("directory", path)
        if path.is_file():
            return cls("zip", path)
        raise BadPackage(path, "is neither a directory nor a file; name a directory or a ZIP file")

    def __str__(self) -> str:
        return f"{self.kind}:{self.path}"

    @contextmanager
    def staged(self, beside: Path, told: Told) -> Iterator[Package]:
        """The package, copied into a directory below `beside` that is gone at the end unless published.

        Raises `BadPackage`, and `invalid_request` for a directory that changes while it is copied.
        """
        if self.kind == "directory":
            # Before anything of it is read: it may be the whole of a disk.
            snapshot.bounded(self.path)
        before = fingerprint(self.path) if self.kind == "directory" else ""
        with snapshot.staged(beside) as root:
            staging = Staging(root, self.path, told)
            if self.kind == "directory":
                snapshot.copy(self.path, staging)
            else:
                archive.unpack(self.path, staging)
            package = Package(root, self._manifest(root))
            if before and package.fingerprint != before:
                raise MeshError(
                    "invalid_request",
                    f"{self.path} changed while it was copied",
                    remedy="Wait until what writes to it is done, and run the command again.",
                )
            yield package

    def _manifest(self, root: Path) -> Manifest:
        try:
            return read_manifest(root)
        except BadPackage as bad:
            # Who named the source knows nothing of the copy.
            raise BadPackage(self.path, bad.message, module=bad.module) from None
