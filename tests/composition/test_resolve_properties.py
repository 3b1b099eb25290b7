"""Resolution against an oracle that tries everything and is in no hurry."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from random import Random

from hypothesis import event, given, settings
from hypothesis import strategies as st

from router.composition import Binding, Document, Graph, Known, ModuleEntry, Rejected, Selection, resolve
from tests.composition.making import known

MODULES = ("a", "b", "c", "d", "e", "f")
KEYS = (("s.one", 1), ("s.one", 2), ("s.two", 1), ("s.three", 1), ("s.four", 1))
Key = tuple[str, int]


@dataclass(frozen=True)
class Module:
    """A module as the oracle sees it."""

    provides: frozenset[Key]
    requires: Mapping[Key, bool]
    schema: str
    enabled: bool
    available: bool


@dataclass(frozen=True)
class Composition:
    """A composition whose selections name enabled modules that fit."""

    modules: Mapping[str, Module]
    selections: Mapping[tuple[str | None, Key], str]

    def resolve(self) -> Graph:
        document = Document(
            4,
            "headless",
            {name: ModuleEntry(enabled=module.enabled) for name, module in self.modules.items()},
            tuple(
                Selection(service, major, provider, consumer, f"mesh.json:{line}")
                for line, ((consumer, (service, major)), provider) in enumerate(self.selections.items(), 2)
            ),
            (),
            "mesh.json",
        )
        return resolve(document, {name: self._known(name) for name in self.modules})

    def _known(self, name: str) -> Known:
        module = self.modules[name]
        return known(
            name,
            provides=[f"{service}@{major}" for service, major in sorted(module.provides)],
            requires=[
                f"{service}@{major}{'' if required else '?'}"
                for (service, major), required in module.requires.items()
            ],
            schemas={"read": module.schema},
            unavailable="" if module.available else "failed",
        )


@st.composite
def compositions(draw: st.DrawFn) -> Composition:
    keys = st.sampled_from(KEYS)
    mostly = st.sampled_from([True, True, True, False])
    modules = {
        name: Module(
            provides=draw(st.frozensets(keys, max_size=2)),
            requires=draw(st.dictionaries(keys, mostly, max_size=2)),
            schema=draw(st.sampled_from(["read.v1", "read.v1", "read.v1", "read.v2"])),
            enabled=draw(mostly),
            available=draw(mostly),
        )
        for name in draw(st.sets(st.sampled_from(MODULES), max_size=6))
    }
    selections: dict[tuple[str | None, Key], str] = {}
    for key in KEYS:
        providers = [name for name, each in modules.items() if each.enabled and key in each.provides]
        consumers = [name for name, each in modules.items() if each.enabled and key in each.requires]
        for consumer in (None, *consumers):
            provider = draw(st.sampled_from([None, *providers]))
            if provider is not None:
                selections[consumer, key] = provider
    return Composition(modules, selections)


class Oracle:
    """What a composition comes to, by trying everything."""

    def __init__(self, composition: Composition) -> None:
        self.enabled = {name: each for name, each in composition.modules.items() if each.enabled}
        self.selections = composition.selections
        self.edges: dict[tuple[str, Key], str] = {}
        self.self_route = False
        for name, module in self.enabled.items():
            for key in module.requires:
                provider = self._provider(name, key)
                if provider == name:
                    self.self_route = True
                elif provider is not None:
                    self.edges[name, key] = provider

    def _provider(self, consumer: str, key: Key) -> str | None:
        for selecting in (consumer, None):
            if (selecting, key) in self.selections:
                return self.selections[selecting, key]
        providers = {name for name, module in self.enabled.items() if key in module.provides}
        others = providers - {consumer}
        if len(others or providers) == 1:
            return (others or providers).pop()
        return None

    @property
    def cyclic(self) -> bool:
        reached = {(consumer, provider) for (consumer, _), provider in self.edges.items()}
        while True:
            further = {(a, d) for a, b in reached for c, d in reached if b == c} - reached
            if not further:
                return any(a == b for a, b in reached)
            reached |= further

    @property
    def undelegable(self) -> bool:
        return any(
            key in self.enabled[consumer].provides
            and key in self.enabled[provider].provides
            and self.enabled[consumer].schema != self.enabled[provider].schema
            for (consumer, key), provider in self.edges.items()
        )

    @property
    def blocked(self) -> set[str]:
        """The least set that has whom its own failure or an unmet requirement blocks."""
        blocked = {name for name, module in self.enabled.items() if not module.available}
        while True:
            more = {
                name
                for name, module in self.enabled.items()
                for key, required in module.requires.items()
                if required and self.edges.get((name, key), name) in blocked | {name}
            }
            if more <= blocked:
                return blocked
            blocked |= more


@settings(max_examples=400, deadline=None)
@given(compositions())
def test_a_graph_is_what_the_rules_say_and_nothing_else(composition: Composition) -> None:
    oracle = Oracle(composition)
    unsound = {
        "provides and requires": oracle.self_route,
        "requirement cycle": oracle.cyclic,
        "delegates": oracle.undelegable,
    }
    try:
        graph = composition.resolve()
    except Rejected as rejected:
        for mark, expected in unsound.items():
            event(f"{mark}: {expected}")
            assert expected == any(mark in problem.message for problem in rejected.problems)
        assert any(unsound.values())
        return
    event("resolved")
    assert not any(unsound.values())

    blocked = oracle.blocked
    event(f"blocked {len(blocked)}")
    assert set(graph.nodes) == set(composition.modules)
    for name, node in graph.nodes.items():
        state = "disabled" if name not in oracle.enabled else "blocked" if name in blocked else "ready"
        assert node.state == state
        assert bool(node.reason) == bool(node.reason_code) == (state != "ready")

    for name, module in oracle.enabled.items():
        for key in module.requires:
            provider = oracle.edges.get((name, key))
            outcome = graph.binding(name, *key)
            if provider is None or provider in blocked:
                assert not isinstance(outcome, Binding)
            else:
                assert isinstance(outcome, Binding)
                assert outcome.provider == provider
    check_order(graph)


def check_order(graph: Graph) -> None:
    ready = {name for name, node in graph.nodes.items() if node.state == "ready"}
    assert len(graph.order) == len(ready)
    assert set(graph.order) == ready
    level = {name: depth for depth, names in enumerate(graph.levels()) for name in names}
    assert level.keys() == ready
    for name in ready:
        for binding in graph.nodes[name].bindings:
            assert graph.order.index(binding.provider) < graph.order.index(name)
            assert level[binding.provider] < level[name]
            assert name in graph.consumers_of(binding.provider)
            assert {name, *graph.dependants(name)} <= graph.dependants(binding.provider)


@settings(max_examples=100, deadline=None)
@given(compositions(), st.randoms(use_true_random=False))
def test_the_order_of_modules_in_the_document_changes_nothing(
    composition: Composition, random: Random
) -> None:
    names = list(composition.modules)
    random.shuffle(names)
    shuffled = Composition({name: composition.modules[name] for name in names}, composition.selections)
    try:
        graph = composition.resolve()
    except Rejected as rejected:
        messages = {problem.message for problem in rejected.problems}
        try:
            shuffled.resolve()
        except Rejected as again:
            assert {problem.message for problem in again.problems} == messages
        else:
            raise AssertionError("one order is rejected, the other is not") from None
    else:
        assert shuffled.resolve() == graph
