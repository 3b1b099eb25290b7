"""Reading a composition with the packages that it can name."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from router.composition.document import Document, parse_document
from router.composition.profile import effective, switched
from router.composition.rejected import Problem, Rejected
from router.composition.resolve import resolve
from router.home import Home
from router.packages.discovery import Discovery, directories_of, discover, first_party_directory
from router.packages.manifest import BadPackage

PRODUCT = b'{"version": 4}'
"""The product's own composition: the defaults of its profile."""


@dataclass(frozen=True, slots=True)
class Composition:
    """A composition as the operator gave it, and what was switched since: what a commit keeps."""

    text: bytes = PRODUCT
    """The document as it is written."""
    path: Path | None = None
    """The absolute path of its file; None for the product's own."""
    enabled: Mapping[str, bool] = field(default_factory=dict)
    """The modules that `enable` and `disable` named since."""

    @property
    def name(self) -> str:
        """What it is called in diagnostics."""
        return str(self.path) if self.path else "product"

    def document(self) -> Document:
        """The document. Raises `Rejected`."""
        return switched(parse_document(self.text, name=self.name), self.enabled)


def composition_at(path: Path | None) -> Composition:
    """The composition in a file; None: the product's own. Raises OSError."""
    return Composition(path.read_bytes(), path) if path is not None else Composition()


def read(composition: Composition, home: Home) -> tuple[Document, Discovery]:
    """A composition's document and the packages that it can name, as they are now.

    Raises `Rejected` for a document that breaks a rule, as far as that can be said without declarations, and
    OSError for a directory that cannot be read.
    """
    document = composition.document()
    base = composition.path.parent if composition.path is not None else home.root
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
    where = str(broken.root / place).encode("utf-8", "replace").decode()
    return Problem(where, f"{rule} (the package cannot be used)")
