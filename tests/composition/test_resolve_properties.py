"""Resolution against an oracle that tries everything and is in no hurry."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from random import Random

from hypothesis import event, given, settings
from hypothesis import strategies as st

from router.composition.composed import compose
from router.composition.dependency import Dependency, Relations
from router.composition.document import Document, ModuleEntry, Selection
from router.composition.graph import Binding, Graph
from router.composition.rejected import Rejected
from router.composition.resolve import Known, resolve
from tests.composition.making import known

MODULES = ("a", "b", "c", "d", "e", "f")
KEYS = (("s.one", 1), ("s.one", 2), ("s.two", 1), ("s.three", 1), ("state.documents", 1))
DATASET = ("state.documents", 1)
Key = tuple[str, int]


@dataclass(frozen=True)
class Module:
    """A module as the oracle sees it."""

    provides: frozenset[Key]
    requires: Mapping[Key, bool]
    schema: str
    enabled: bool
    available: bool
    depends: Mapping[str, bool]
    """The packages that its own depends on, and whether it needs them."""
    breaks: frozenset[str]


@dataclass(frozen=True)
class Composition:
    """A composition whose selections name enabled modules that fit."""

    modules: Mapping[str, Module]
    selections: Mapping[tuple[str | None, Key], str]

    def resolve(self) -> Graph:
        document = Document(
            version=4,
            name="mesh.json",
            modules={name: ModuleEntry(enabled=module.enabled) for name, module in self.modules.items()},
            services=tuple(
                Selection(service, major, provider, consumer, f"mesh.json:{line}")
                for line, ((consumer, (service, major)), provider) in enumerate(self.selections.items(), 2)
            ),
        )
        return resolve(compose([document]), {name: self._known(name) for name in self.modules})

    def _known(self, name: str) -> Known:
        module = self.modules[name]
        offered = known(
            name,
            provides=[f"{service}@{major}" for service, major in sorted(module.provides)],
            requires=[
                f"{service}@{major}{'' if required else '?'}"
                for (service, major), required in module.requires.items()
            ],
            schemas={"read": module.schema},
            unavailable="" if module.available else "failed",
        )
        dependencies = tuple(
            Dependency(other, optional=not required) for other, required in module.depends.items()
        )
        return replace(offered, relations=Relations(dependencies, tuple(sorted(module.breaks))))


@st.composite
def compositions(draw: st.DrawFn) -> Composition:
    keys = st.sampled_from(KEYS)
    mostly = st.sampled_from([True, True, True, False])
    rarely = st.sampled_from([0, 0, 0, 1])
    modules = {
        name: Module(
            provides=draw(st.frozensets(keys, max_size=2)),
            requires=draw(st.dictionaries(keys, mostly, max_size=2)),
            schema=draw(st.sampled_from(["read.v1", "read.v1", "read.v1", "read.v2"])),
            enabled=draw(mostly),
            available=draw(mostly),
            depends=draw(st.dictionaries(st.sampled_from((*MODULES, "absent")), st.booleans(), max_size=2)),
            breaks=draw(st.frozensets(st.sampled_from(MODULES), max_size=draw(rarely))),
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
        self.depends = {
            (name, other): required
            for name, module in self.enabled.items()
            for other, required in module.depends.items()
        }

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
        return has_cycle(self.firm)

    @property
    def firm(self) -> set[tuple[str, str]]:
        """Every order that has to be kept."""
        edges = {(consumer, provider) for (consumer, _), provider in self.edges.items()}
        required = {edge for edge, required in self.depends.items() if required}
        return edges | {(name, other) for name, other in required if other in self.enabled}

    @property
    def bypassed(self) -> bool:
        """Whether somebody outside of the selected chain reaches another dataset than its head."""
        head = self.selections.get((None, DATASET))
        if head is None:
            return False
        chain = {head}
        delegates = {consumer: provider for (consumer, key), provider in self.edges.items() if key == DATASET}
        while further := {delegates[each] for each in chain & delegates.keys()} - chain:
            chain |= further
        return any(
            key == DATASET and consumer not in chain and provider != head
            for (consumer, key), provider in self.edges.items()
        )

    @property
    def broken(self) -> bool:
        active = {name for name, module in self.enabled.items() if module.available}
        return any(self.enabled[name].breaks & active - {name} for name in active)

    @property
    def undelegable(self) -> bool:
        return any(
            key in self.enabled[consumer].provides
            and key in self.enabled[provider].provides
            and self.enabled[consumer].schema != self.enabled[provider].schema
            for (consumer, key), provider in self.edges.items()
        )

    def _lacks(self, consumer: str, key: Key, required: bool, blocked: set[str]) -> bool:
        provider = self.edges.get((consumer, key))
        if provider is not None:
            return required and provider in blocked
        # Nobody provides it under any major: an optional consumer does without.
        merely_missing = not any(
            service == key[0] for module in self.enabled.values() for service, _ in module.provides
        )
        return required or not merely_missing

    @property
    def blocked(self) -> set[str]:
        """The least set that has whom its own failure or an unmet requirement blocks."""
        blocked = {name for name, module in self.enabled.items() if not module.available}
        while True:
            more = {
                name
                for name, module in self.enabled.items()
                for key, required in module.requires.items()
                if self._lacks(name, key, required, blocked)
            } | {
                name
                for (name, other), required in self.depends.items()
                if required and (other not in self.enabled or other in blocked)
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
        "one dataset": oracle.bypassed,
        "cannot be active together": oracle.broken,
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
    check_packages(graph, oracle)


def check_packages(graph: Graph, oracle: Oracle) -> None:
    """A package starts after those that it depends on; an optional order is skipped only for a cycle."""
    ready = set(graph.order)
    kept = set(oracle.firm)
    skipped: set[tuple[str, str]] = set()
    for (name, other), required in oracle.depends.items():
        if name not in ready or other not in ready:
            continue
        if graph.order.index(other) < graph.order.index(name) and other in graph.nodes[name].after:
            kept.add((name, other))
        else:
            assert not required
            skipped.add((name, other))
    assert not has_cycle(kept)
    said = " ".join(note.message for note in graph.notes)
    everything = kept | {(name, other) for (name, other), required in oracle.depends.items() if not required}
    for name, other in skipped:
        event("an optional order is skipped")
        assert has_cycle(everything)
        assert f"{name} does not start after {other}" in said


def has_cycle(edges: set[tuple[str, str]]) -> bool:
    reached = set(edges)
    while True:
        further = {(a, d) for a, b in reached for c, d in reached if b == c} - reached
        if not further:
            return any(a == b for a, b in reached)
        reached |= further


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
