"""ZIP files as nobody sane would pack them."""

from __future__ import annotations

import json
import stat
import zipfile
from collections.abc import Iterable
from pathlib import Path

from tests.packages.making import MANIFEST

MANIFEST_TEXT = json.dumps(MANIFEST)

Member = tuple[zipfile.ZipInfo | str, bytes | str]


def pack(
    path: Path, *members: Member, manifest: str = "plugin.json", packed: int = zipfile.ZIP_DEFLATED
) -> Path:
    """An archive with a manifest, where it has a name, and members in their order."""
    own: Iterable[Member] = [(manifest, MANIFEST_TEXT)] if manifest else []
    with zipfile.ZipFile(path, "w", packed) as file:
        for name, text in (*own, *members):
            # What is wrong with an archive is mostly what zipfile warns of.
            file.writestr(name, text)
    return path


def entry(name: str, *, mode: int = stat.S_IFREG | 0o644, flags: int = 0, system: int = 3) -> zipfile.ZipInfo:
    """An entry with a mode of Unix."""
    info = zipfile.ZipInfo("x")
    # The constructor would take a NUL and what follows away.
    info.filename = info.orig_filename = name
    info.external_attr = mode << 16
    info.flag_bits = flags
    info.create_system = system
    info.compress_type = zipfile.ZIP_DEFLATED
    return info


def patched(path: Path, old: bytes, new: bytes, *, count: int = -1) -> Path:
    """The archive with some bytes in the place of others of the same length."""
    assert len(old) == len(new)
    text = path.read_bytes()
    assert old in text
    path.write_bytes(text.replace(old, new, count))
    return path
