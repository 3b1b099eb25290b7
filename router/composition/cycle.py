"""Cycle: requirements that lead back to where they started."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from graphlib import CycleError, TopologicalSorter


def cycles(providers: Mapping[str, Collection[str]]) -> tuple[tuple[str, ...], ...]:
    """Closed chains from consumer to provider, each from its least module back to it.

    No two share a module, and cutting them all leaves no cycle.
    """
    found: list[tuple[str, ...]] = []
    rest = dict(providers)
    while True:
        try:
            TopologicalSorter(rest).prepare()
        except CycleError as cycle:
            ring = cycle.args[1][:0:-1]
            start = ring.index(min(ring))
            found.append((*ring[start:], *ring[: start + 1]))
            rest = {
                consumer: [each for each in chosen if each not in ring]
                for consumer, chosen in rest.items()
                if consumer not in ring
            }
        else:
            return tuple(found)


def providers_first(providers: Mapping[str, Collection[str]]) -> tuple[str, ...]:
    """The modules of an acyclic graph, each behind its providers."""
    return tuple(TopologicalSorter(providers).static_order())
