"""Telling: how a command on packages shows what it does, and how it ends where that cannot be done."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from router.cli.exits import EXIT_USAGE, explained, fail, say
from router.cli.given import repeated
from router.cli.terminal import console, printable
from router.home import Home
from router.packages.manifest import BadPackage
from router.packages.snapshot import Told


@contextmanager
def about_packages() -> Iterator[None]:
    """Turns what may go wrong with a package into words and an exit code; a bad one is a bad file."""
    with explained():
        try:
            yield
        except BadPackage as bad:
            fail(EXIT_USAGE, str(bad))


def tell(words: str) -> None:
    """Says on standard output what became of a package, of whose words a terminal obeys none."""
    console().print(repeated(printable(words)), soft_wrap=True)


@contextmanager
def progress(doing: str) -> Iterator[Told]:
    """A bar on a terminal; nothing anywhere else."""
    out = console(stderr=True)
    if not out.is_terminal:
        yield lambda done, expected: None
        return
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn

    with Progress(TextColumn(doing), BarColumn(), DownloadColumn(), console=out, transient=True) as bar:
        task = bar.add_task(doing, total=None)
        yield lambda done, expected: bar.update(task, completed=done, total=expected)


def waiting(home: Home) -> Callable[[], None]:
    """Says that another command has the packages of the home."""
    return lambda: say(f"another command changes the packages of {home.root}; waiting for it")
