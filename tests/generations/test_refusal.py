"""Refusal: which modules a candidate may not block, decided from two graphs and without a process."""

from __future__ import annotations

from collections.abc import Collection

from router.composition.graph import Graph
from router.composition.resolve import Known
from router.generations.refusal import refused
from tests.composition.making import graph, known

BASE = known("base", provides=["base.s@1"])
OTHER = known("other", provides=["base.s@1"])
MIDDLE = known("middle", provides=["middle.s@1"], requires=["base.s@1"])
TOP = known("top", requires=["middle.s@1"])


def of(
    now: Graph, before: Graph, *, unhealthy: Collection[str] = (), changed: Collection[str] = ()
) -> list[str]:
    healthy = set(before.order) - set(unhealthy)
    return [node.module for node in refused(now, before, healthy=healthy, changed=changed, failed=())]


def test_nothing_that_works_is_blocked() -> None:
    before = graph(BASE, MIDDLE, TOP)
    assert of(graph(BASE, OTHER, MIDDLE, TOP), before) == ["middle", "top"]


def test_what_is_removed_or_disabled_takes_its_dependants_with_it() -> None:
    before = graph(BASE, MIDDLE, TOP)
    assert of(graph(MIDDLE, TOP), before) == []
    without = {"base": False, "middle": True, "top": True}
    assert of(graph(BASE, MIDDLE, TOP, modules=without), before) == []


def test_a_dependant_that_lacks_something_else_as_well_is_not_excused() -> None:
    greedy = known("top", requires=["middle.s@1", "nowhere.s@1"])
    assert of(graph(MIDDLE, greedy), graph(BASE, MIDDLE, TOP)) == ["top"]


def test_nothing_is_added_that_cannot_work() -> None:
    needy = known("needy", requires=["nowhere.s@1"])
    assert of(graph(BASE, needy), graph(BASE)) == ["needy"]


def test_what_was_blocked_before_and_has_not_changed_holds_nothing_up() -> None:
    needy = known("needy", requires=["nowhere.s@1"])
    assert of(graph(BASE, needy), graph(needy)) == []
    assert of(graph(BASE, needy), graph(needy), changed=["needy"]) == ["needy"]


def test_what_stands_on_something_that_failed_does_not_work_already() -> None:
    before = graph(BASE, MIDDLE, TOP)
    failing = known("base", provides=["base.s@1"], unavailable="it crashed")
    assert of(graph(failing, MIDDLE, TOP), before, unhealthy=["base"]) == []


def test_many_ways_to_one_cause_are_looked_at_once() -> None:
    layers: list[Known] = [known("m0a", provides=["a.l0@1"]), known("m0b", provides=["b.l0@1"])]
    for layer in range(1, 40):
        requires = [f"{side}.l{layer - 1}@1" for side in "ab"]
        layers += [
            known(f"m{layer}{side}", provides=[f"{side}.l{layer}@1"], requires=requires) for side in "ab"
        ]
    assert of(graph(*layers[1:]), graph(*layers)) == []
