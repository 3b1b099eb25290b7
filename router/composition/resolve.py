"""Resolve: document + declarations → graph. Source: *Resolution* of the design; 局部扩展 provider.

There is no solver. What the operator wrote and cannot hold (an unknown name, a self-route, a cycle, a
delegation that cannot be forwarded) rejects the document. What is merely missing leaves its consumers
blocked, with the reason, and the rest starts.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise
from types import MappingProxyType

from router.composition.choice import ONLY_PROVIDER, Lack, choose
from router.composition.composed import Composed
from router.composition.cycle import cycles, providers_first
from router.composition.dataset import bypasses
from router.composition.declared import Declared, index
from router.composition.delegation import differences
from router.composition.dependency import (
    NONE,
    Relations,
    broken_pairs,
    conflicting_pairs,
    missing,
    optional_edges,
)
from router.composition.document import Edge, Key, Selection
from router.composition.graph import Absent, Binding, Graph, Node, Selected
from router.composition.listed import listed
from router.composition.nearest import nearest
from router.composition.readiness import Order, Readiness, Unavailable, settle
from router.composition.reason import DISABLED, SWITCHED_OFF
from router.composition.rejected import Problem, Rejected
from wuu.mesh.v1.declaration_pb2 import Declaration


@dataclass(frozen=True, slots=True)
class Known:
    """What is known of a module that a package offers."""

    module: str
    version: str
    """The package's version; empty for a broken package."""
    declaration: Declaration | None
    """What the module declares, checked; None where that is not known."""
    unavailable: str = ""
    """Why the module cannot serve: what its start or its package failed with. The module and those who
    require it are blocked, as they are without a declaration. A module may have both this and a declaration:
    it is a candidate, and nobody takes its place."""
    unavailable_code: str = ""
    """The code of `unavailable`; empty: `service_unavailable`."""
    relations: Relations = NONE
    """What its package says about others."""


def resolve(composed: Composed, known: Mapping[str, Known]) -> Graph:
    """The graph of a composition, given everything that packages offer.

    The same arguments give an equal graph. Raises `Rejected` with every problem.
    """
    known = {**known, **dict(_remote(composed, known))}
    modules, selections, enabled = composed.modules, composed.selections, composed.enabled
    declared = index({module: known[module].declaration for module in enabled if module in known}, enabled)
    problems = [*_unknown_modules(composed, known), *_bad_selections(composed, known, declared)]

    place = f"{composed.name}: /services"
    choices: dict[str, dict[Key, Binding | Lack]] = {}
    for module in sorted(enabled):
        choices[module] = {}
        for key in declared.required.get(module, ()):
            choice = choose(module, key, selections=selections, declared=declared, place=place)
            if isinstance(choice, Problem):
                problems.append(choice)
            else:
                choices[module][key] = choice

    bindings = {
        module: [each for each in outcomes.values() if isinstance(each, Binding)]
        for module, outcomes in choices.items()
    }
    order, skipped = _order_of_packages(composed, known, bindings)
    behind = {
        module: [*(each.provider for each in edges), *order.required.get(module, ())]
        for module, edges in bindings.items()
    }
    problems += [Problem(place, _cycle_message(chain, bindings)) for chain in cycles(behind)]
    for edges in bindings.values():
        for binding in edges:
            where = place if binding.source == ONLY_PROVIDER else binding.source
            problems += [Problem(where, difference) for difference in differences(binding, declared)]
    everybody = {key: choice.provider for (consumer, key), choice in selections.items() if consumer is None}
    problems += bypasses(bindings, everybody)
    unavailable = {module: each for module in enabled if (each := _unavailable(known.get(module)))}
    relations = {module: known[module].relations for module in enabled if module in known}
    active = [module for module in relations if not known[module].unavailable]
    problems += broken_pairs(modules, relations, active)
    if problems:
        raise Rejected(tuple(problems))

    after = {module: [*others, *order.optional.get(module, ())] for module, others in behind.items()}
    readiness = settle(providers_first(after), choices, order, declared, unavailable, composed.revoked)
    nodes = {
        module: readiness.nodes[module] if entry.enabled else _disabled(module, composed)
        for module, entry in sorted(modules.items())
    }
    return Graph(
        nodes=MappingProxyType(nodes),
        order=_order(readiness),
        services=MappingProxyType(_services(selections, declared, readiness)),
        notes=(*conflicting_pairs(modules, relations, active), *skipped),
    )


def _remote(composed: Composed, known: Mapping[str, Known]) -> Iterator[tuple[str, Known]]:
    """The modules that are served elsewhere: they need no package here."""
    for module, entry in composed.modules.items():
        if entry.endpoint is not None:
            why = f"it is served at {entry.endpoint}, and this mesh connects to no remote endpoint"
            version = known[module].version if module in known else ""
            yield module, Known(module, version, None, unavailable=f"{why}; take the endpoint out")


def _unknown_modules(composed: Composed, known: Mapping[str, Known]) -> Iterator[Problem]:
    for module, entry in composed.modules.items():
        if module not in known:
            yield Problem(entry.source, f"no package offers module '{module}'{nearest(module, known)}")


def _bad_selections(composed: Composed, known: Mapping[str, Known], declared: Declared) -> Iterator[Problem]:
    modules = composed.modules
    for selection in composed.selections.values():
        for role, module in (("provider", selection.provider), ("consumer", selection.consumer)):
            if module is None:
                continue
            if module not in known and module in modules:
                continue  # That is said of its entry.
            if module not in known:
                message = f"no package offers {role} '{module}'{nearest(module, known)}"
            elif module not in modules:
                message = f"{role} '{module}' is not in the composition; add it to modules"
            elif module in composed.revoked or modules[module].enabled:
                continue
            else:
                message = f"{role} '{module}' is disabled in modules; enable it, or remove the selection"
            yield Problem(selection.source, message)
    for selection in composed.selections.values():
        key = (selection.service, selection.major)
        named = f"{selection.service}@{selection.major}"
        provided = declared.provided.get(selection.provider)
        if provided is not None and key not in provided:
            others = _keys(provided, selection.service)
            message = f"'{selection.provider}' does not provide {named}; it provides {others}"
            yield Problem(selection.source, message)
        required = declared.required.get(selection.consumer) if selection.consumer else None
        if required is not None and key not in required:
            others = _keys(required, selection.service)
            message = f"'{selection.consumer}' does not require {named}; it requires {others}"
            yield Problem(selection.source, message)


def _order_of_packages(
    composed: Composed, known: Mapping[str, Known], bindings: Mapping[str, list[Binding]]
) -> tuple[Order, list[Problem]]:
    """What the packages of modules ask for, and the orders that would close a cycle, which are skipped."""
    required: dict[str, list[str]] = {}
    optional: dict[str, list[str]] = {}
    lacking: dict[str, dict[str, str]] = {}
    for module in composed.enabled:
        for dependency in known[module].relations.dependencies if module in known else ():
            why = missing(dependency, composed.modules, known)
            if dependency.optional:
                if not why:
                    optional.setdefault(module, []).append(dependency.module)
            elif why:
                lacking.setdefault(module, {})[dependency.module] = why
            else:
                required.setdefault(module, []).append(dependency.module)
    firm = {
        module: [*(each.provider for each in edges), *required.get(module, ())]
        for module, edges in bindings.items()
    }
    taken, skipped = optional_edges(firm, optional)
    notes = [
        Problem(
            composed.modules[module].source,
            f"{module} does not start after {other}, on which it depends optionally: that would be a cycle",
        )
        for module, other in skipped
    ]
    return Order(required, taken, lacking), notes


def _keys(keys: Mapping[Key, object], service: str) -> str:
    """The services, other majors of `service` first."""
    ordered = sorted(keys, key=lambda key: (key[0] != service, key))
    return listed([f"{name}@{major}" for name, major in ordered]) if ordered else "none"


def _cycle_message(chain: tuple[str, ...], bindings: Mapping[str, list[Binding]]) -> str:
    hops = []
    for consumer, provider in pairwise(chain):
        hop = next((each for each in bindings[consumer] if each.provider == provider), None)
        if hop is None:
            hops.append(f"the package {consumer} depends on {provider}")
        else:
            hops.append(f"{consumer} requires {hop.service}@{hop.major} of {provider} ({hop.source})")
    return f"requirement cycle {' → '.join(chain)}: {'; '.join(hops)}"


def _unavailable(module: Known | None) -> Unavailable | None:
    if module is None:
        return None
    if module.unavailable:
        code = module.unavailable_code or "service_unavailable"
        return Unavailable(code, module.unavailable, f"failed: {module.unavailable}")
    if module.declaration is None:
        reason = "was never started, so what it declares is not known"
        return Unavailable("service_unavailable", reason, reason)
    return None


def _disabled(module: str, composed: Composed) -> Node:
    why = composed.revoked.get(module, SWITCHED_OFF)
    reason = DISABLED if why == SWITCHED_OFF else why
    return Node(module, "disabled", reason, "module_revoked")


def _order(readiness: Readiness) -> tuple[str, ...]:
    """The ready modules by the length of the longest chain of modules that they start after, then by id."""
    depth: dict[str, int] = {}
    for module, node in readiness.nodes.items():
        depth[module] = 1 + max((depth[other] for other in node.behind), default=0)
    ready = [module for module, node in readiness.nodes.items() if node.state == "ready"]
    return tuple(sorted(ready, key=lambda module: (depth[module], module)))


def _services(
    chosen: Mapping[Edge, Selection], declared: Declared, readiness: Readiness
) -> dict[Key, Selected | Absent]:
    selected = {key: choice for (consumer, key), choice in chosen.items() if consumer is None}
    services: dict[Key, Selected | Absent] = {}
    for key in sorted({*declared.providers, *selected}):
        service, major = key
        providers = declared.providers.get(key, ())
        if key in selected:
            provider, source = selected[key].provider, selected[key].source
        elif len(providers) == 1:
            provider, source = providers[0], ONLY_PROVIDER
        else:
            message = f"{listed(providers)} provide {service}@{major} and none is selected"
            services[key] = Absent(service, major, "service_ambiguous", message)
            continue
        if provider in readiness.predicates:
            served = f"{service}@{major} is served by {provider} ({source})"
            message = f"{served}, which {readiness.predicates[provider]}"
            services[key] = Absent(service, major, "service_unavailable", message)
        else:
            version = declared.provided[provider][key].version
            services[key] = Selected(service, major, version, provider, source)
    return services
