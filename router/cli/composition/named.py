"""The composition that a command names."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NoReturn

from router.cli.answer import emit
from router.cli.exits import EXIT_USAGE, fail, refuse_file, say
from router.composition.composed import Composed
from router.composition.rejected import Rejected
from router.home import Home
from router.packages.discovery import Discovery
from router.reading import Composition, layers, read


def workspace() -> Path | None:
    """The directory in which the command runs; None where it was removed."""
    try:
        return Path.cwd()
    except FileNotFoundError:
        return None


def read_or_fail(named: Path | None, home: Home) -> tuple[Composition, Composed, Discovery]:
    """The composition of a command, what it comes to, and its packages. Raises `Rejected`."""
    composition = composition_or_fail(named, home)
    try:
        return composition, *read(composition, home)
    except OSError as unreadable:
        refuse_file(unreadable)


def composition_or_fail(named: Path | None, home: Home, how: str = "with -c FILE") -> Composition:
    """The composition of a command; a file that cannot be used ends the command with 2.

    `how` the file is named. Raises `Rejected`.
    """
    try:
        found = layers(home, named, workspace())
        for source in found.sources:
            # The mesh hears of it in messages, which have nothing else.
            str(source.path).encode()
    except UnicodeEncodeError:
        unshown = os.fsencode(source.path).decode("utf-8", "replace")
        fail(EXIT_USAGE, f"{unshown}: a composition has a path in UTF-8", "Move it to another path.")
    except OSError as unreadable:
        if Path(unreadable.filename).is_relative_to(home.root):
            refuse_file(unreadable)
        _refuse(named, unreadable, how)
    if found.untrusted:
        file = found.untrusted[-1].path
        remedy = "See what it says, then `wuu-mesh composition trust` lets it apply."
        say(f"{file} is ignored: it is not trusted as it is now", remedy)
    return found.composition


def _refuse(named: Path | None, unreadable: OSError, how: str) -> NoReturn:
    # It is called as it was typed.
    is_named = named is not None and os.path.abspath(named) == unreadable.filename
    file = named if is_named else unreadable.filename
    remedy = f"Name a composition {how}."
    if unreadable.errno == errno.EACCES:
        remedy = f"Allow yourself to read it, or name another {how}."
    fail(EXIT_USAGE, f"{file}: {unreadable.strerror}", remedy)


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
