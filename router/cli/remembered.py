"""Remembered: a composition resolved from what modules declared when they last ran, without a start."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from contextlib import closing
from dataclasses import dataclass, replace

from router.cli.explanation import UNKNOWN
from router.composition.composed import Composed
from router.composition.graph import Graph
from router.composition.resolve import Known, resolve
from router.generations.journal import Journal, declaration_key
from router.generations.kernel import without_kernel_services
from router.home import Home
from router.instances.lifecycle import HOST_FEATURES
from router.instances.log import latest_log
from router.packages.discovery import Discovery
from router.packages.manifest import BadPackage


@dataclass(frozen=True, slots=True)
class Remembered:
    """A composition as it would start."""

    graph: Graph
    composed: Composed
    """What it came from, without what may not run."""
    known: Mapping[str, Known]
    states: Mapping[str, str]
    """The state of each module: that of its node, or that its declaration is not known."""


def states_of(graph: Graph, unknown: Collection[str]) -> dict[str, str]:
    """The state of each module, where `unknown` have not declared yet."""
    states: dict[str, str] = {module: node.state for module, node in graph.nodes.items()}
    return {**states, **dict.fromkeys(unknown, UNKNOWN)}


def was_started(home: Home, module: str) -> bool:
    """Whether a module has been started in this home."""
    return latest_log(home.logs, module) is not None


def remembered(home: Home, composed: Composed, discovery: Discovery) -> Remembered:
    """Resolves a composition with the declarations that the journal has kept."""
    known = dict(discovery.offered)
    unknown: set[str] = set()
    distrusted: dict[str, str] = {}
    # A home without a journal is left as it is.
    with closing(Journal(home.journal if home.journal.is_file() else None)) as journal:
        for module, entry in composed.modules.items():
            package = discovery.packages.get(module)
            if package is None or not entry.enabled or entry.endpoint is not None:
                continue
            if why := discovery.verdict(package):
                distrusted[module] = why
            try:
                key = declaration_key(package.fingerprint, entry.config, HOST_FEATURES)
            except BadPackage as broken:
                known[module] = replace(
                    known[module], unavailable=broken.message, unavailable_code="invalid_request"
                )
                continue
            declaration = journal.declaration(key)
            known[module] = replace(known[module], declaration=without_kernel_services(declaration))
            if declaration is None:
                unknown.add(module)
                if was_started(home, module):
                    why = "it has started before and not declared yet"
                    known[module] = replace(known[module], unavailable=why)
    trusted = composed.without(distrusted)
    graph = resolve(trusted, known)
    return Remembered(graph, trusted, known, states_of(graph, unknown - distrusted.keys()))
