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

from router.composition.choice import ONLY_PROVIDER, Lack, choose, listed
from router.composition.cycle import cycles, providers_first
from router.composition.declared import Declared, Key, index
from router.composition.delegation import differences
from router.composition.document import Document, ModuleEntry, Selection
from router.composition.graph import Absent, Binding, Graph, Node, Selected
from router.composition.nearest import nearest
from router.composition.position import step
from router.composition.profile import effective, profile_source
from router.composition.readiness import Readiness, Unavailable, settle
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


def resolve(document: Document, known: Mapping[str, Known]) -> Graph:
    """The graph of `document`, given everything that packages offer.

    The same arguments give an equal graph. Raises `Rejected` with every problem.
    """
    modules, selections = effective(document)
    enabled = [module for module, entry in modules.items() if entry.enabled]
    declared = index({module: each.declaration for module, each in known.items()}, enabled)
    problems = [*_unknown_modules(document, modules, known)]
    problems += _bad_selections(document, selections, modules, known, declared)

    chosen = {(choice.consumer, (choice.service, choice.major)): choice for choice in selections}
    services_place = f"{document.name}: /services"
    choices: dict[str, dict[Key, Binding | Lack]] = {}
    for module in sorted(enabled):
        choices[module] = {}
        for key in declared.required.get(module, ()):
            choice = choose(module, key, selections=chosen, declared=declared, place=services_place)
            if isinstance(choice, Problem):
                problems.append(choice)
            else:
                choices[module][key] = choice

    bindings = {
        module: [each for each in outcomes.values() if isinstance(each, Binding)]
        for module, outcomes in choices.items()
    }
    providers = {module: [each.provider for each in edges] for module, edges in bindings.items()}
    for chain in cycles(providers):
        problems.append(Problem(services_place, _cycle_message(chain, bindings)))
    for edges in bindings.values():
        for binding in edges:
            place = services_place if binding.source == ONLY_PROVIDER else binding.source
            problems += [Problem(place, difference) for difference in differences(binding, declared)]
    if problems:
        raise Rejected(tuple(problems))

    unavailable = {module: each for module in enabled if (each := _unavailable(known[module]))}
    readiness = settle(providers_first(providers), choices, declared, unavailable, document.revoked)
    nodes = {
        module: readiness.nodes[module] if entry.enabled else _disabled(module)
        for module, entry in sorted(modules.items())
    }
    return Graph(
        nodes=MappingProxyType(nodes),
        order=_order(providers, readiness),
        services=MappingProxyType(_services(chosen, declared, readiness)),
    )


def _unknown_modules(
    document: Document, modules: Mapping[str, ModuleEntry], known: Mapping[str, Known]
) -> Iterator[Problem]:
    for module in modules:
        if module not in known:
            place = profile_source(document)
            if document.modules is not None:
                place = f"{document.name}: {step('/modules', module)}"
            yield Problem(place, f"no package offers module '{module}'{nearest(module, known)}")


def _bad_selections(
    document: Document,
    selections: tuple[Selection, ...],
    modules: Mapping[str, ModuleEntry],
    known: Mapping[str, Known],
    declared: Declared,
) -> Iterator[Problem]:
    for selection in document.services:
        for role, module in (("provider", selection.provider), ("consumer", selection.consumer)):
            if module is None:
                continue
            if module not in known:
                message = f"no package offers {role} '{module}'{nearest(module, known)}"
            elif module not in modules:
                message = f"{role} '{module}' is not in the composition; add it to modules"
            elif module in document.revoked:
                continue
            elif not modules[module].enabled:
                message = f"{role} '{module}' is disabled in modules; enable it, or remove the selection"
            else:
                continue
            yield Problem(selection.source, message)
    for selection in selections:
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


def _keys(keys: Mapping[Key, object], service: str) -> str:
    """The services, other majors of `service` first."""
    ordered = sorted(keys, key=lambda key: (key[0] != service, key))
    return listed([f"{name}@{major}" for name, major in ordered]) if ordered else "none"


def _cycle_message(chain: tuple[str, ...], bindings: Mapping[str, list[Binding]]) -> str:
    hops = []
    for consumer, provider in pairwise(chain):
        hop = next(each for each in bindings[consumer] if each.provider == provider)
        hops.append(f"{consumer} requires {hop.service}@{hop.major} of {provider} ({hop.source})")
    return f"requirement cycle {' → '.join(chain)}: {'; '.join(hops)}"


def _unavailable(module: Known) -> Unavailable | None:
    if module.unavailable:
        code = module.unavailable_code or "service_unavailable"
        return Unavailable(code, module.unavailable, f"failed: {module.unavailable}")
    if module.declaration is None:
        reason = "was never started, so what it declares is not known"
        return Unavailable("service_unavailable", reason, reason)
    return None


def _disabled(module: str) -> Node:
    return Node(module, "disabled", "disabled in the composition", "module_revoked")


def _order(providers: Mapping[str, list[str]], readiness: Readiness) -> tuple[str, ...]:
    """The ready modules by the length of the longest chain of providers below, then by id."""
    depth: dict[str, int] = {}
    for module, node in readiness.nodes.items():
        depth[module] = 1 + max((depth[binding.provider] for binding in node.bindings), default=0)
    ready = [module for module, node in readiness.nodes.items() if node.state == "ready"]
    return tuple(sorted(ready, key=lambda module: (depth[module], module)))


def _services(
    chosen: Mapping[tuple[str | None, Key], Selection], declared: Declared, readiness: Readiness
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
            message = f"{service}@{major} is served by {provider}, which {readiness.predicates[provider]}"
            services[key] = Absent(service, major, "service_unavailable", message)
        else:
            version = declared.provided[provider][key].version
            services[key] = Selected(service, major, version, provider, source)
    return services
