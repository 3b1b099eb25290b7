"""Composed: every document of a composition applied in its order, and what the product adds.

The product's bundles come first and hold last: what a document says always wins, and of two documents the
later one. Source: 产品 profile 与渲染器绑定; *局部扩展 provider*.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from router.composition.bundle import BUNDLES, PROFILES
from router.composition.document import (
    Document,
    Edge,
    ModuleEntry,
    Patch,
    Reference,
    Removal,
    Selection,
    whom,
)
from router.composition.reason import SWITCHED_OFF
from router.composition.rejected import Problem, Rejected

DEFAULT_PROFILE = "headless"
"""The profile where no document names one."""

Step = Selection | Removal
"""One thing that was said about an edge."""


@dataclass(frozen=True, slots=True)
class Composed:
    """What holds once every document has applied."""

    name: str
    """The document that was applied last, for problems that are of no line."""
    profile: str
    modules: Mapping[str, ModuleEntry]
    """Every module, in the order in which they were named."""
    selections: Mapping[Edge, Selection]
    """The choices that hold, those of the product last."""
    overridden: Mapping[Edge, tuple[Step, ...]]
    """What was said of an edge and does not hold any more, the latest first."""
    packages: tuple[Reference, ...] = ()
    """Directories or patterns in which packages are found."""
    defaults: Mapping[Edge, Selection] = field(default_factory=dict)
    """What the product selects where nobody else does and its provider is enabled."""
    revoked: Mapping[str, str] = field(default_factory=dict)
    """Modules that may not run since, and why: "is disabled", "may not run: …". A selection of one stands,
    and has nobody to serve it; in a document that says so itself it would be a contradiction."""

    @property
    def enabled(self) -> list[str]:
        """The modules that are to be started, in order."""
        return [module for module, entry in self.modules.items() if entry.enabled]

    def switched(self, enabled: Mapping[str, bool]) -> Composed:
        """The same with modules enabled or disabled as the operator said since; other names are left out."""
        said = {module: on for module, on in enabled.items() if module in self.modules}
        return self._with(said, {module: SWITCHED_OFF for module, on in said.items() if not on})

    def without(self, distrusted: Mapping[str, str]) -> Composed:
        """The same without modules whose packages may not run, each with the reason."""
        said = dict.fromkeys((module for module in distrusted if module in self.modules), False)
        return self._with(said, {module: f"may not run: {distrusted[module]}" for module in said})

    def _with(self, enabled: Mapping[str, bool], revoked: Mapping[str, str]) -> Composed:
        if not enabled:
            return self
        modules = {
            module: replace(entry, enabled=enabled.get(module, entry.enabled))
            for module, entry in self.modules.items()
        }
        said = {edge: each for edge, each in self.selections.items() if self.defaults.get(edge) is not each}
        return replace(
            self,
            modules=modules,
            selections={**said, **_held(self.defaults, said, modules)},
            revoked={**self.revoked, **revoked},
        )


def _held(
    defaults: Mapping[Edge, Selection], said: Mapping[Edge, Selection], modules: Mapping[str, ModuleEntry]
) -> dict[Edge, Selection]:
    """The product's choices, where nobody chose and the provider is there.

    Taking a module out never breaks a choice that the operator did not make.
    """
    return {
        edge: default
        for edge, default in defaults.items()
        if edge not in said and (entry := modules.get(default.provider)) is not None and entry.enabled
    }


@dataclass(slots=True)
class _Applying:
    """The composition while its documents apply."""

    modules: dict[str, ModuleEntry]
    defaults: dict[Edge, Selection]
    """What the bundles select, as long as nobody took it away."""
    selections: dict[Edge, Selection] = field(default_factory=dict)
    overridden: dict[Edge, tuple[Step, ...]] = field(default_factory=dict)
    problems: list[Problem] = field(default_factory=list)

    def apply(self, document: Document) -> None:
        if document.modules is not None:
            self.modules = dict(document.modules)
        for selection in document.services:
            self.select(selection)
        for patch in document.patches:
            self.patch(patch)

    def patch(self, patch: Patch) -> None:
        for module, change in patch.modules.items():
            self.modules[module] = self.modules.get(module, ModuleEntry()).changed_by(change)
        for removal in patch.removals:
            self.remove(removal)
        for selection in patch.services:
            self.select(selection)

    def select(self, selection: Selection) -> None:
        before = self.selections.pop(selection.edge, None)
        if before is not None:
            self.bury(before)
        self.selections[selection.edge] = selection

    def remove(self, removal: Removal) -> None:
        removed = self.selections.pop(removal.edge, None) or self.defaults.pop(removal.edge, None)
        if removed is None:
            consumer, (service, major) = removal.edge
            message = f"{service}@{major} is not selected for {whom(consumer)}, so there is nothing to remove"
            self.problems.append(Problem(removal.source, f"{message}; take the removal out"))
            return
        self.bury(removed)
        self.bury(removal)

    def bury(self, step: Step) -> None:
        self.overridden[step.edge] = (step, *self.overridden.get(step.edge, ()))

    def finish(self) -> None:
        """The product's choices come last."""
        held = _held(self.defaults, self.selections, self.modules)
        for edge, default in self.defaults.items():
            if edge not in held:
                self.overridden[edge] = (*self.overridden.get(edge, ()), default)
        self.selections |= held


def compose(documents: Iterable[Document]) -> Composed:
    """What the documents come to, the first applied first.

    Raises `Rejected` with every problem that stands between documents: the removal of what is not selected.
    """
    documents = tuple(documents)
    profile, bundles = DEFAULT_PROFILE, None
    for document in documents:
        profile = document.profile or profile
        bundles = bundles if document.bundles is None else document.bundles
    product = _product(profile, bundles)
    for document in documents:
        product.apply(document)
    product.finish()
    if product.problems:
        raise Rejected(tuple(product.problems))
    return Composed(
        name=documents[-1].name if documents else "product",
        profile=profile,
        modules=product.modules,
        selections=product.selections,
        overridden=product.overridden,
        defaults=product.defaults,
        packages=tuple(each for document in documents for each in document.packages),
    )


def _product(profile: str, bundles: tuple[str, ...] | None) -> _Applying:
    """What the product says itself."""
    applying = _Applying(modules={}, defaults={})
    for name in PROFILES[profile] if bundles is None else bundles:
        bundle = BUNDLES[name]
        source = f"profile {profile}" if bundles is None else f"bundle {name}"
        applying.modules.update({module: ModuleEntry(source=source) for module in bundle.modules})
        for service, major, provider in bundle.selections:
            selection = Selection(service, major, provider, None, source)
            applying.defaults[selection.edge] = selection
    return applying
