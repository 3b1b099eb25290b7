"""Refusal: what a candidate may not block. Pure.

Nothing that works is blocked, and nothing is added that cannot work. What is disabled or removed takes its
dependants with it: that is what the operator asked for. Source: *Resolution* of the design.
"""

from __future__ import annotations

from collections.abc import Collection
from functools import cache

from router.composition.graph import Graph, Node


def refused(
    graph: Graph,
    before: Graph,
    *,
    healthy: Collection[str],
    changed: Collection[str],
    failed: Collection[str],
) -> list[Node]:
    """The modules that `graph` blocks and may not.

    `healthy` are the modules that run in `before` and have not failed, `changed` those that are other
    modules now, and `failed` those that failed themselves, whatever they require.
    """

    @cache
    def works(module: str) -> bool:
        """Whether it is active now with everything that it requires, or is no part of what runs."""
        node = before.nodes.get(module)
        if node is None or node.state == "disabled":
            return True
        if node.state == "blocked":
            return module in changed
        return module in healthy and all(works(binding.provider) for binding in node.bindings)

    @cache
    def excused(module: str) -> bool:
        """Whether everything that it lacks is disabled or removed, or stands on what is."""
        node, earlier = graph.nodes[module], before.nodes.get(module)
        if earlier is None or module in failed or not (node.unmet or node.missing):
            return False
        providers = {(each.service, each.major): each.provider for each in earlier.bindings}
        lacking = [providers.get((each.service, each.major or 0)) for each in node.unmet]
        lacking += node.missing
        return all(provider is not None and gone(provider) for provider in lacking)

    def gone(provider: str) -> bool:
        node = graph.nodes.get(provider)
        if node is None or node.state == "disabled":
            return True
        return node.state == "blocked" and excused(provider)

    blocked = [node for node in graph.nodes.values() if node.state == "blocked"]
    return [node for node in blocked if works(node.module) and not excused(node.module)]
