"""The composition that a command names."""

from __future__ import annotations

import errno
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NoReturn

from router.cli.answer import emit
from router.cli.exits import EXIT_USAGE, fail, refuse_file, say
from router.composition.document import Document
from router.composition.rejected import Rejected
from router.home import Home
from router.packages.discovery import Discovery
from router.reading import Composition, composition_at, read


def read_or_fail(composition: Path | None, home: Home) -> tuple[Composition, Document, Discovery]:
    """The composition, its document and its packages; a file that cannot be used ends the command with 2.

    Raises `Rejected`.
    """
    try:
        given = composition_at(composition)
        return given, *read(given, home)
    except OSError as unreadable:
        if composition is None or unreadable.filename != str(composition):
            refuse_file(unreadable)
        _refuse(composition, unreadable, "with -c FILE")


def document_or_fail(composition: Path) -> bytes:
    """The text of a composition that is the argument of a command; without one, the command ends with 2."""
    try:
        return composition.read_bytes()
    except OSError as unreadable:
        _refuse(composition, unreadable, "as FILE")


def _refuse(composition: Path, unreadable: OSError, how: str) -> NoReturn:
    remedy = f"Name a composition {how}."
    if unreadable.errno == errno.EACCES:
        remedy = f"Allow yourself to read it, or name another {how}."
    fail(EXIT_USAGE, f"{composition}: {unreadable.strerror}", remedy)


@contextmanager
def accepted(*, json: bool = False) -> Iterator[None]:
    """Ends the command with every problem of a composition that is rejected; with `json` on stdout, too."""
    try:
        yield
    except Rejected as rejected:
        if json:
            emit({"problems": [{"where": each.where, "message": each.message} for each in rejected.problems]})
        reject(rejected.problems)


def reject(problems: Iterable[object]) -> NoReturn:
    """Ends the command because a composition has problems."""
    *others, last = problems
    for problem in others:
        say(str(problem))
    fail(EXIT_USAGE, str(last), "Correct the composition.")
