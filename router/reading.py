"""Reading a composition with the packages that it can name."""

from __future__ import annotations

from pathlib import Path

from router.composition.document import Document, parse_document
from router.composition.resolve import resolve
from router.home import Home
from router.packages.discovery import Discovery, directories_of, discover, first_party_directory

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
    resolve(document, discovery.offered)
    return document, discovery
