"""Reading a composition with the packages that it can name."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from router.composition.document import Document, parse_document
from router.composition.profile import effective
from router.composition.rejected import Problem, Rejected
from router.composition.resolve import resolve
from router.home import Home
from router.packages.discovery import Discovery, directories_of, discover, first_party_directory
from router.packages.manifest import BadPackage

PRODUCT = Document(version=4, profile="headless", modules=None, services=(), packages=(), name="product")
"""The product's own composition: the defaults of its profile."""


def read(composition: Path | None, home: Home) -> tuple[Document, Discovery]:
    """The composition at a path (None: the product's own) and the packages that it can name.

    Raises `Rejected` for a document that breaks a rule, as far as that can be said without declarations, and
    OSError for a file that cannot be read.
    """
    if composition is None:
        document, base = PRODUCT, home.root
    else:
        document, base = parse_document(composition.read_bytes(), name=str(composition)), composition.parent
    directories = [first_party_directory(), *directories_of(document, base)]
    if home.packages.is_dir():
        directories.append(home.packages)
    discovery = discover(directories)
    # Names that nobody offers are refused before anything is started.
    try:
        resolve(document, discovery.offered)
    except Rejected as rejected:
        raise Rejected((*rejected.problems, *_suspects(document, discovery))) from None
    return document, discovery


def _suspects(document: Document, discovery: Discovery) -> Iterator[Problem]:
    """The packages that cannot be read, where the composition names a module that no other offers.

    One of them may be the missing one: of a manifest that is not JSON not even the id is known.
    """
    modules, selections = effective(document)
    named = {*modules, *(each.provider for each in selections), *(each.consumer for each in selections)}
    if named - {None} <= discovery.offered.keys():
        return
    for broken in discovery.problems:
        if broken.module not in named:
            yield problem_of(broken)


def problem_of(broken: BadPackage) -> Problem:
    """A package that cannot be used, as a problem in its manifest."""
    place, _, rule = broken.message.partition(": ")
    return Problem(f"{broken.root / place}", f"{rule} (the package cannot be used)")
