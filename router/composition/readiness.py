"""Readiness: which modules can start, and what keeps the others from it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from router.composition.choice import Lack
from router.composition.declared import Declared
from router.composition.document import Key
from router.composition.graph import Absent, Binding, Node

Choices = Mapping[str, Mapping[Key, Binding | Lack]]
"""What was chosen for each requirement of each module."""


@dataclass(frozen=True, slots=True)
class Order:
    """What modules start after for the sake of their packages."""

    required: Mapping[str, Sequence[str]]
    """Modules without which they do not start at all."""
    optional: Mapping[str, Sequence[str]]
    missing: Mapping[str, Mapping[str, str]]
    """What of the former cannot be had, by the package that is missing, with the reason."""


@dataclass(frozen=True, slots=True)
class Unavailable:
    """Why a module itself cannot serve, whatever it requires."""

    code: str
    reason: str
    predicate: str
    """The reason as it is said of the module elsewhere: `failed: exit status 1`."""


@dataclass(frozen=True, slots=True)
class Readiness:
    """Nodes, and for each that is not ready what to say of it elsewhere."""

    nodes: Mapping[str, Node]
    predicates: Mapping[str, str]
    """`failed: …` or `is blocked: …`, by module. Of several causes it follows the first: all of them
    would grow with the number of paths to a cause."""


def settle(
    order: tuple[str, ...],
    choices: Choices,
    packages: Order,
    declared: Declared,
    unavailable: Mapping[str, Unavailable],
    revoked: Mapping[str, str],
) -> Readiness:
    """The nodes of the enabled modules; `order` has them all, providers first, and may have the `revoked`."""
    nodes: dict[str, Node] = {}
    predicates: dict[str, str] = dict(revoked)
    for module in order:
        if module in revoked:
            continue
        bindings: list[Binding] = []
        absent: list[Absent] = []
        unmet: list[Absent] = []
        causes: list[tuple[str, str]] = []
        if module in unavailable:
            causes.append((unavailable[module].code, unavailable[module].reason))
        for (service, major), choice in choices[module].items():
            if isinstance(choice, Binding):
                if choice.provider not in predicates:
                    bindings.append(choice)
                    continue
                chosen = f"{choice.provider} ({choice.source})"
                chain = f"{service}@{major} of {chosen}, which {predicates[choice.provider]}"
                lack = Lack("service_unavailable", chain)
            else:
                lack = choice
            if lack.blocks or declared.required[module][service, major]:
                unmet.append(Absent(service, major, lack.code, f"{module} requires {lack.phrase}"))
                causes.append((lack.code, f"requires {lack.phrase}"))
            else:
                absent.append(Absent(service, major, lack.code, f"{module} may use {lack.phrase}"))
        missing = dict(packages.missing.get(module, {}))
        for other in packages.required.get(module, ()):
            if other in predicates:
                missing[other] = f"the package {other}, which {predicates[other]}"
        causes += (("service_unavailable", f"depends on {why}") for why in missing.values())
        behind = (*packages.required.get(module, ()), *packages.optional.get(module, ()))
        if causes:
            blocked = f"is blocked: {causes[0][1]}"
            predicates[module] = unavailable[module].predicate if module in unavailable else blocked
        nodes[module] = Node(
            module,
            state="blocked" if causes else "ready",
            reason="; ".join(cause for _, cause in causes),
            reason_code=causes[0][0] if causes else "",
            bindings=tuple(bindings),
            absent=tuple(absent),
            unmet=tuple(unmet),
            missing=tuple(sorted(missing)),
            after=tuple(sorted(other for other in behind if other not in predicates)),
        )
    return Readiness(nodes, predicates)
