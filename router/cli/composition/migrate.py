"""`wuu-mesh composition migrate`."""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path

import typer

from router.cli.answer import emit
from router.cli.composition.named import accepted
from router.cli.exits import EXIT_ERROR, EXIT_USAGE, fail, say
from router.composition.document import parse_document
from router.composition.form import VERSION, VERSIONS
from router.composition.position import Malformed, locate


def migrate(file: Path, *, check: bool, json: bool) -> None:
    """Rewrites the version of a composition."""
    try:
        text = file.read_bytes()
        with accepted(json=json):
            before, rewritten = _rewritten(text, str(file))
        if not check and rewritten != text:
            _replace(file, rewritten)
    except OSError as unusable:
        fail(EXIT_USAGE, f"{file}: {unusable.strerror}", "Name a composition that can be read and written.")
    if json:
        emit({"file": str(file), "before": before, "after": before if check else VERSION})
    elif before == VERSION:
        say(f"{file} is of version {VERSION} already")
    elif check:
        say(f"{file} is of version {before}", f"`wuu-mesh composition migrate {file}` rewrites it.")
    else:
        say(f"{file} is of version {VERSION} now; it was of version {before}")
    if check and before != VERSION:
        raise typer.Exit(EXIT_ERROR)


def _rewritten(text: bytes, name: str) -> tuple[int, bytes]:
    """The version of a document, and the document with that replaced and every other byte as it was.

    Raises `Rejected` where it is none: by the rules of the version that it gets, since a field that the old
    one did not have is what may have sent somebody here.
    """
    try:
        located = locate(text)
    except Malformed:
        return parse_document(text, name=name).version, text
    version = located.value.get("version") if isinstance(located.value, dict) else None
    if version not in VERSIONS:
        return parse_document(text, name=name).version, text
    start, end = located.spans["/version"]
    head, tail = located.text[:start].encode(), located.text[end:].encode()
    mark = text[: len(text) - len(located.text.encode())]
    rewritten = mark + head + str(VERSION).encode() + tail
    parse_document(rewritten, name=name)
    return version, rewritten


def _replace(file: Path, text: bytes) -> None:
    """In one step, so that nobody reads half of it; through a link, the file that it leads to."""
    there = file.resolve()
    descriptor, new = tempfile.mkstemp(prefix=f".{there.name}.", dir=there.parent)
    try:
        with open(descriptor, "wb") as written:
            written.write(text)
            written.flush()
            os.fsync(written.fileno())
        shutil.copymode(there, new)
        os.replace(new, there)
    except BaseException:
        os.unlink(new)
        raise
