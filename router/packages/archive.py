"""Archive: a package in a ZIP file, of which nothing is believed.

Source: *Plugin authoring reference*: an archive has at most 512 MiB unpacked and 10,000 entries, no links and
no paths that lead out of it. Its directory of entries says what there is; what is counted and checked is what
comes out of it.
"""

from __future__ import annotations

import os
import stat
import struct
import zipfile
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from router.packages.entry import ENTRY_LIMIT, SIZE_LIMIT, problem_of_names
from router.packages.fingerprint import UNCOUNTED
from router.packages.manifest import MANIFEST, BadPackage
from router.packages.snapshot import CHUNK, Staging, too_large, too_many

DIRECTORY_LIMIT = 8 << 20
"""Bytes that the directory of an archive may have: it is read as a whole, before anything of it is known."""

_END = struct.Struct("<4s4H2IH")
_LOCAL = struct.Struct("<4s5H3I2H")
_ZIP64_LOCATOR = 20

_UTF8 = 0x800
_ENCRYPTED = 0x1 | 0x40 | 0x2000
_UNIX = 3
_REMEDY = "pack it anew"


@dataclass(frozen=True, slots=True)
class _Member:
    name: str
    """Its path within the package."""
    entry: zipfile.ZipInfo
    executable: bool


def unpack(archive: Path, staging: Staging) -> None:
    """The files of the package in an archive that count, into a staging.

    A package may lie in a single directory of its archive. Raises `BadPackage`.
    """
    try:
        with archive.open("rb") as file:
            _check_end(archive, file)
            with zipfile.ZipFile(file) as opened:
                entries = opened.infolist()
            members = _members(archive, entries)
            staging.expected = sum(member.entry.file_size for member in members)
            for member in members:
                chunks = _inflated(archive, file, member.entry)
                staging.add(member.name, chunks, executable=member.executable)
    except OSError as unreadable:
        raise BadPackage(archive, f"cannot be read: {unreadable.strerror or unreadable}") from None
    except (zipfile.BadZipFile, UnicodeDecodeError, NotImplementedError, zlib.error, struct.error) as broken:
        raise BadPackage(archive, f"is no usable ZIP file: {broken}; {_REMEDY}") from None


def _check_end(archive: Path, file: BinaryIO) -> None:
    """Refuses a directory of entries that is too large to be read, before it is."""
    size = file.seek(0, os.SEEK_END)
    start = max(0, size - _END.size - 0xFFFF)
    file.seek(start)
    tail = file.read()
    at = len(tail) - _END.size
    if at < 0 or tail[at : at + 4] != b"PK\5\6" or tail[-2:] != b"\0\0":
        at = tail.rfind(b"PK\5\6")
    if at < 0 or len(tail) - at < _END.size:
        raise BadPackage(archive, "is no ZIP file; name a directory or a ZIP file with a package")
    _, _, _, _, count, directory, _, _ = _END.unpack_from(tail, at)
    file.seek(max(0, start + at - _ZIP64_LOCATOR))
    if file.read(4) == b"PK\6\7":
        raise BadPackage(archive, f"is a ZIP64 file, which no package within the bounds needs; {_REMEDY}")
    if count > ENTRY_LIMIT or directory > DIRECTORY_LIMIT:
        raise BadPackage(archive, too_many())


def _members(archive: Path, entries: list[zipfile.ZipInfo]) -> list[_Member]:
    """The entries that are files of the package. Every entry is checked, also those that do not count."""
    if len(entries) > ENTRY_LIMIT:
        raise BadPackage(archive, too_many())
    for entry in entries:
        if why := _problem_of(entry):
            raise BadPackage(archive, f"{entry.orig_filename}: {why}")
    names = [(entry.orig_filename.removesuffix("/"), entry.orig_filename.endswith("/")) for entry in entries]
    if broken := problem_of_names(names):
        raise BadPackage(archive, ": ".join(broken))
    if sum(entry.file_size for entry in entries) > SIZE_LIMIT:
        raise BadPackage(archive, too_large())
    top = _top(archive, [name for name, directory in names if not directory], [name for name, _ in names])
    return [
        _Member(name.removeprefix(top), entry, _is_executable(entry))
        for (name, directory), entry in zip(names, entries, strict=True)
        if not directory and UNCOUNTED.isdisjoint(name.removeprefix(top).split("/"))
    ]


def _top(archive: Path, files: list[str], names: list[str]) -> str:
    """What stands before every path: nothing, or the one directory that everything is in."""
    if MANIFEST in files:
        return ""
    tops = {name.split("/")[0] for name in names}
    top = f"{tops.pop()}/" if len(tops) == 1 else ""
    if top and f"{top}{MANIFEST}" in files:
        return top
    raise BadPackage(archive, f"{MANIFEST}: is not at its top, nor in a single directory there; {_REMEDY}")


def _problem_of(entry: zipfile.ZipInfo) -> str:
    """What an entry is that a package cannot have; empty for a file or a directory."""
    name = entry.orig_filename
    kind = stat.S_IFMT(entry.external_attr >> 16)
    if kind == stat.S_IFLNK:
        return "is a symbolic link; a package has plain files only"
    if kind not in (0, stat.S_IFDIR if name.endswith("/") else stat.S_IFREG):
        return "is not a plain file; take it out of the package"
    if entry.flag_bits & _ENCRYPTED:
        return "is encrypted; a package is not"
    if entry.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        return "is neither stored nor deflated; pack it so"
    if not entry.flag_bits & _UTF8 and not name.isascii():
        return "has a name that is not marked as UTF-8; pack it with names in UTF-8"
    return ""


def _is_executable(entry: zipfile.ZipInfo) -> bool:
    return entry.create_system == _UNIX and bool(entry.external_attr >> 16 & stat.S_IXUSR)


def _inflated(archive: Path, file: BinaryIO, entry: zipfile.ZipInfo) -> Iterator[bytes]:
    """The bytes of an entry, piece by piece, of which the length and the checksum are as they were told."""
    size = checksum = 0
    for chunk in _pieces(archive, file, entry):
        size += len(chunk)
        checksum = zlib.crc32(chunk, checksum)
        if size > entry.file_size:
            break
        yield chunk
    if size != entry.file_size or checksum != entry.CRC:
        raise BadPackage(
            archive, f"{entry.orig_filename}: its bytes are not what the archive says; {_REMEDY}"
        )


def _pieces(archive: Path, file: BinaryIO, entry: zipfile.ZipInfo) -> Iterator[bytes]:
    file.seek(entry.header_offset)
    signature, _, flags, method, _, _, _, _, _, name, extra = _LOCAL.unpack(file.read(_LOCAL.size))
    said = entry.orig_filename.encode("utf-8" if entry.flag_bits & _UTF8 else "ascii")
    same = signature == b"PK\3\4" and file.read(name) == said
    if not same or method != entry.compress_type or flags & _ENCRYPTED:
        raise BadPackage(archive, f"{entry.orig_filename}: is not what the directory says; {_REMEDY}")
    file.seek(extra, os.SEEK_CUR)
    packed = _packed(file, entry.compress_size)
    if entry.compress_type == zipfile.ZIP_STORED:
        yield from packed
        return
    inflater = zlib.decompressobj(-zlib.MAX_WBITS)
    while not inflater.eof:
        piece = inflater.unconsumed_tail or next(packed, b"")
        # Never more than this at once, whatever the bytes would become.
        inflated = inflater.decompress(piece, CHUNK)
        if not piece and not inflated and not inflater.eof:
            raise BadPackage(archive, f"{entry.orig_filename}: ends in the middle; {_REMEDY}")
        yield inflated
    if inflater.unused_data or next(packed, b""):
        raise BadPackage(archive, f"{entry.orig_filename}: has bytes behind its end; {_REMEDY}")


def _packed(file: BinaryIO, size: int) -> Iterator[bytes]:
    while size > 0 and (piece := file.read(min(size, CHUNK))):
        size -= len(piece)
        yield piece
