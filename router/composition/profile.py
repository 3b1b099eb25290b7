"""Profile: what the product adds where the document leaves it open.

A profile is a list of bundles, applied in order. What the document says comes first: the modules that it
names are all there are, and its selections win. Source: 产品 profile 与渲染器绑定.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from router.composition.bundle import PROFILES
from router.composition.document import Document, ModuleEntry, Selection


def profile_source(document: Document) -> str:
    """What stands as the source of everything that the document's profile adds."""
    return f"profile {document.profile}"


def switched(document: Document, enabled: Mapping[str, bool]) -> Document:
    """The document with modules enabled or disabled as the operator said since; other names are left out."""
    modules, _ = effective(document)
    said = {module: on for module, on in enabled.items() if module in modules}
    if not said:
        return document
    return replace(
        document,
        modules={
            module: replace(entry, enabled=said.get(module, entry.enabled))
            for module, entry in modules.items()
        },
        revoked=frozenset(module for module, on in said.items() if not on),
    )


def effective(document: Document) -> tuple[Mapping[str, ModuleEntry], tuple[Selection, ...]]:
    """The modules and selections that hold: those of the document, then what its profile adds.

    A selection of the profile holds only where the document has none for every consumer, and only if its
    provider is enabled: taking a module out never breaks a choice that the operator did not make.
    """
    bundles = PROFILES[document.profile]
    modules = document.modules
    if modules is None:
        modules = {module: ModuleEntry() for bundle in bundles for module in bundle.modules}
    enabled = {module for module, entry in modules.items() if entry.enabled}
    chosen = {(choice.service, choice.major) for choice in document.services if choice.consumer is None}
    added = {
        (service, major): Selection(service, major, provider, None, profile_source(document))
        for bundle in bundles
        for service, major, provider in bundle.selections
        if (service, major) not in chosen and provider in enabled
    }
    return modules, (*document.services, *added.values())
