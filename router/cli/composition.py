"""The composition that a command names."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NoReturn

from router.cli.exits import EXIT_USAGE, fail, say
from router.composition.document import Document
from router.composition.rejected import Rejected
from router.home import Home
from router.packages.discovery import Discovery
from router.reading import read


def read_or_fail(composition: Path | None, home: Home) -> tuple[Document, Discovery]:
    """The composition and its packages; a file that cannot be used ends the command with 2."""
    try:
        with accepted():
            return read(composition, home)
    except OSError as unreadable:
        where = unreadable.filename or composition
        fail(EXIT_USAGE, f"{where}: {unreadable.strerror}", "Name a composition with -c FILE.")


@contextmanager
def accepted() -> Iterator[None]:
    """Ends the command with every problem of a composition that is rejected."""
    try:
        yield
    except Rejected as rejected:
        reject(rejected.problems)


def reject(problems: Iterable[object]) -> NoReturn:
    """Ends the command because a composition has problems."""
    *others, last = problems
    for problem in others:
        say(str(problem))
    fail(EXIT_USAGE, str(last), "Correct the composition.")
