"""Dependency: one package that asks for another. It orders the two, and binds nothing.

A required one that cannot be had blocks its package, an optional one never does. Source: *Plugin authoring
reference*, `dependencies`, `requires`, `breaks`, `conflicts`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from graphlib import CycleError, TopologicalSorter

from router.composition.document import ModuleEntry
from router.composition.rejected import Problem


@dataclass(frozen=True, slots=True)
class Dependency:
    """A package that another one asks for."""

    module: str
    optional: bool = False
    mismatch: str = ""
    """Why the version that there is does not do; empty where it does, or where there is no such package."""


@dataclass(frozen=True, slots=True)
class Relations:
    """What a package says about others."""

    dependencies: tuple[Dependency, ...] = ()
    breaks: tuple[str, ...] = ()
    """Packages with which it cannot be active."""
    conflicts: tuple[str, ...] = ()
    """Packages with which it had better not be active."""


NONE = Relations()

Edges = Mapping[str, Collection[str]]
"""The modules that each module starts after."""


def missing(dependency: Dependency, modules: Mapping[str, ModuleEntry], offered: Collection[str]) -> str:
    """Why a dependency cannot be had, whatever becomes of its module; empty where it can."""
    named = dependency.module
    if named not in offered:
        return f"the package {named}, which is not installed"
    if dependency.mismatch:
        return f"the package {named}, but {dependency.mismatch}"
    if named not in modules:
        return f"the package {named}, which is not in the composition; add it to modules"
    return "" if modules[named].enabled else f"the package {named}, which is disabled"


def optional_edges(required: Edges, optional: Edges) -> tuple[dict[str, list[str]], list[tuple[str, str]]]:
    """The optional edges that close no cycle, and those that are skipped since they would.

    They are taken in the order of their modules' ids, so that the same composition skips the same.
    """
    if _is_acyclic(_joined(required, optional)):
        return {module: sorted(after) for module, after in optional.items()}, []
    taken: dict[str, list[str]] = {}
    skipped: list[tuple[str, str]] = []
    for module in sorted(optional):
        for other in sorted(optional[module]):
            if _reaches(other, module, required, taken):
                skipped.append((module, other))
            else:
                taken.setdefault(module, []).append(other)
    return taken, skipped


def broken_pairs(
    modules: Mapping[str, ModuleEntry], relations: Mapping[str, Relations], active: Collection[str]
) -> Iterator[Problem]:
    """The pairs that cannot be active together and would be."""
    said = {module: each.breaks for module, each in relations.items()}
    for module, other in _pairs(said, active):
        message = f"{module} breaks {other}: they cannot be active together; disable one of them"
        yield Problem(modules[module].source, message)


def conflicting_pairs(
    modules: Mapping[str, ModuleEntry], relations: Mapping[str, Relations], active: Collection[str]
) -> Iterator[Problem]:
    """The pairs that had better not be active together and are."""
    said = {module: each.conflicts for module, each in relations.items()}
    for module, other in _pairs(said, active):
        yield Problem(modules[module].source, f"{module} conflicts with {other}; both are active")


def _pairs(said: Mapping[str, Sequence[str]], active: Collection[str]) -> Iterator[tuple[str, str]]:
    """The active modules with those others that they name and that are active, too."""
    for module in sorted(active):
        for other in said[module]:
            if other in active and other != module:
                yield module, other


def _joined(one: Edges, other: Edges) -> Edges:
    return {module: {*one.get(module, ()), *other.get(module, ())} for module in one.keys() | other.keys()}


def _is_acyclic(edges: Edges) -> bool:
    try:
        TopologicalSorter(edges).prepare()
    except CycleError:
        return False
    return True


def _reaches(start: str, goal: str, *edges: Edges) -> bool:
    seen, waiting = {start}, [start]
    while waiting:
        module = waiting.pop()
        if module == goal:
            return True
        new = {other for each in edges for other in each.get(module, ())} - seen
        seen |= new
        waiting.extend(new)
    return False
