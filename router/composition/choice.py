"""Choice: the provider of one requirement, before anything is known of its readiness.

A selection for the consumer comes first, then one for every consumer, then the only candidate. Nothing
else is ever tried (*No hidden fallback*).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from router.composition.declared import Declared
from router.composition.document import Edge, Key, Selection
from router.composition.graph import Binding
from router.composition.listed import listed
from router.composition.rejected import Problem

ONLY_PROVIDER = "only provider"
"""The source of a binding that nobody selected."""

Selections = Mapping[Edge, Selection]
"""The selections that hold."""


@dataclass(frozen=True, slots=True)
class Lack:
    """A requirement without a provider that can serve it."""

    code: str
    phrase: str
    """What is lacking and why; reads on from "requires"."""
    blocks: bool = False
    """It blocks even a consumer that could do without: the choice is wrong, and nothing is merely missing."""


def choose(
    consumer: str, key: Key, *, selections: Selections, declared: Declared, place: str
) -> Binding | Lack | Problem:
    """The provider that `consumer` is bound to for `key`, or why there is none.

    A self-route is a problem of the document; `place` is where it stands if nobody selected it.
    """
    selection = selections.get((consumer, key)) or selections.get((None, key))
    if selection is not None:
        if selection.provider == consumer:
            return _self_route(consumer, key, selection.source, "is selected for itself")
        return Binding(consumer, *key, selection.provider, selection.source)
    providers = declared.providers.get(key, ())
    candidates = [provider for provider in providers if provider != consumer]
    if len(candidates) == 1:
        return Binding(consumer, *key, candidates[0], ONLY_PROVIDER)
    if candidates:
        return Lack(
            "service_ambiguous",
            f"{_named(key)}, which {listed(candidates)} provide and none is selected",
            blocks=True,
        )
    if providers:
        return _self_route(consumer, key, place, "is the only provider")
    return _nobody(key, required=declared.required[consumer][key], declared=declared)


def _nobody(key: Key, *, required: bool, declared: Declared) -> Lack:
    service, _ = key
    others = [(service, major) for major in declared.majors.get(service, ())]
    if others:
        known = [f"{_named(other)} of {listed(declared.providers[other])}" for other in others]
        only = f"{_named(key)}, but only {listed(known)} is provided"
        return Lack("service_version_mismatch", only, blocks=True)
    code = "service_not_found" if required else "service_optional_absent"
    unknown = f" (what {listed(declared.silent)} would provide is not known)" if declared.silent else ""
    return Lack(code, f"{_named(key)}, which no module of the composition provides{unknown}")


def _self_route(consumer: str, key: Key, where: str, why: str) -> Problem:
    return Problem(
        where,
        f"{consumer} provides and requires {_named(key)} and {why}: "
        "it needs an explicit consumer binding to another implementation",
    )


def _named(key: Key) -> str:
    service, major = key
    return f"{service}@{major}"
