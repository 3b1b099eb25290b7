"""Dataset: a service that has one logical dataset, and one boundary of authority, in a composition.

A local selection may build the chain of adapters behind the selected provider. It may not lead an ordinary
consumer past it. Source: *局部扩展 provider*, on `state.documents@1`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping

from router.composition.document import Key
from router.composition.graph import Binding
from router.composition.rejected import Problem

ONE_DATASET: Collection[Key] = frozenset({("state.documents", 1)})
"""The services that have one."""


def bypasses(bindings: Mapping[str, Collection[Binding]], selected: Mapping[Key, str]) -> Iterator[Problem]:
    """The bindings that lead past the selected chain; `selected` is who serves each service to everybody."""
    for key in sorted(ONE_DATASET & selected.keys()):
        edges = {
            module: next((each for each in found if (each.service, each.major) == key), None)
            for module, found in bindings.items()
        }
        chain = _chain(selected[key], edges)
        for module, edge in sorted(edges.items()):
            if edge is not None and module not in chain and edge.provider != chain[0]:
                message = (
                    f"{module} would reach {edge.service}@{edge.major} of {edge.provider} past {chain[0]}, "
                    "which is selected for every consumer: a composition has one dataset; "
                    f"select {chain[0]} for it, or remove the selection"
                )
                yield Problem(edge.source, message)


def _chain(first: str, edges: Mapping[str, Binding | None]) -> list[str]:
    """The selected provider, its delegate, the delegate of that, and so on."""
    chain = [first]
    while (edge := edges.get(chain[-1])) is not None and edge.provider not in chain:
        chain.append(edge.provider)
    return chain
