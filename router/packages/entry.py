"""Entry: a name within a package, and how many there may be.

Source: *Plugin authoring reference*: links, traversal and case-colliding paths are rejected.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable

ENTRY_LIMIT = 10_000
"""Files and directories that a package may have."""

SIZE_LIMIT = 512 << 20
"""Bytes that the files of a package may have together."""

NAME_LIMIT = 1024
"""Bytes that a path within a package may have."""

PART_LIMIT = 255
"""Bytes that each part of it may have."""

DEPTH_LIMIT = 64
"""Parts that it may have."""

_DRIVE = re.compile(r"[A-Za-z]:")


def problem_of_name(name: str) -> str:
    """Why a path cannot stand in a package; empty where it can."""
    try:
        size = len(name.encode())
    except UnicodeEncodeError:
        return "is not UTF-8; rename it"
    if any(unicodedata.category(each) == "Cc" for each in name):
        return "has a control character; rename it"
    if "\\" in name:
        return "has a backslash; parts are separated by /"
    if name.startswith("/") or _DRIVE.match(name):
        return "is absolute; it must be relative to the package"
    parts = name.split("/")
    if any(part in ("", ".", "..") for part in parts):
        return "has an empty part, . or .., which may lead out of the package"
    if (
        size > NAME_LIMIT
        or len(parts) > DEPTH_LIMIT
        or any(len(part.encode()) > PART_LIMIT for part in parts)
    ):
        return f"is longer than {NAME_LIMIT} bytes, {DEPTH_LIMIT} parts or {PART_LIMIT} bytes in one"
    return ""


def problem_of_names(entries: Iterable[tuple[str, bool]]) -> tuple[str, str] | None:
    """The first (path, why) among (path, whether it is a directory) that cannot stand beside the others.

    Names that some file system takes for one, by case or by Unicode's forms, are one here: the package would
    have other files there.
    """
    spelled: dict[str, tuple[str, bool]] = {}
    named: set[str] = set()
    for name, is_directory in entries:
        if why := problem_of_name(name):
            return name, why
        if name in named:
            return name, "is there twice"
        named.add(name)
        above = [name[:at] for at, each in enumerate(name) if each == "/"]
        for path, directory in [*((each, True) for each in above), (name, is_directory)]:
            before, was_directory = spelled.setdefault(folded(path), (path, directory))
            if before != path:
                return name, f"is the same as {before} where case or Unicode forms do not count"
            if was_directory != directory:
                return name, "is a file and a directory"
    return None


def folded(path: str) -> str:
    """The path as a file system sees it that counts neither case nor Unicode's forms."""
    return unicodedata.normalize("NFC", unicodedata.normalize("NFD", path).casefold())
