"""Resolution: which provider a consumer gets, what blocks it, and what rejects the document."""

from __future__ import annotations

import pytest

from router.composition.composed import compose
from router.composition.document import parse_document
from router.composition.graph import Absent, Binding, Selected
from router.composition.rejected import Rejected
from router.composition.resolve import Known, resolve
from tests.composition.making import choose, graph, known, problems_of, unknown

A = known("a", provides=["x.y@1"])
B = known("b", provides=["x.y@1"])
C = known("c", requires=["x.y@1"])


def test_the_only_provider_is_bound_without_a_selection() -> None:
    resolved = graph(A, C)
    assert resolved.nodes["c"].bindings == (Binding("c", "x.y", 1, "a", "only provider"),)
    assert resolved.order == ("a", "c")
    assert resolved.services == {("x.y", 1): Selected("x.y", 1, "1.2.3", "a", "only provider")}


def test_a_selection_for_every_consumer_binds_them_and_says_its_line() -> None:
    resolved = graph(A, B, C, services=[choose("x.y@1", "b")])
    assert resolved.binding("c", "x.y", 1) == Binding("c", "x.y", 1, "b", "mesh.json:2")
    assert resolved.services["x.y", 1] == Selected("x.y", 1, "1.2.3", "b", "mesh.json:2")


def test_a_selection_for_one_consumer_comes_before_that_for_every_one() -> None:
    other = known("d", requires=["x.y@1"])
    resolved = graph(A, B, C, other, services=[choose("x.y@1", "a"), choose("x.y@1", "b", "c")])
    assert resolved.binding("c", "x.y", 1) == Binding("c", "x.y", 1, "b", "mesh.json:3")
    assert resolved.binding("d", "x.y", 1) == Binding("d", "x.y", 1, "a", "mesh.json:2")


def test_a_decorator_stands_before_the_provider_that_it_delegates_to() -> None:
    decorator = known("deco", provides=["x.y@1"], requires=["x.y@1"])
    resolved = graph(A, C, decorator, services=[choose("x.y@1", "deco"), choose("x.y@1", "a", "deco")])
    assert resolved.order == ("a", "deco", "c")
    assert resolved.binding("deco", "x.y", 1) == Binding("deco", "x.y", 1, "a", "mesh.json:3")


def test_the_profile_s_selection_binds_what_the_document_leaves_open() -> None:
    sqlite = known("wuu.state.sqlite", provides=["state.documents@1"])
    other = known("other", provides=["state.documents@1"])
    consumer = known("c", requires=["state.documents@1"])
    binding = graph(sqlite, other, consumer).binding("c", "state.documents", 1)
    assert binding == Binding("c", "state.documents", 1, "wuu.state.sqlite", "profile headless")


def test_a_disabled_module_is_in_the_graph_and_provides_nothing() -> None:
    resolved = graph(A, B, C, modules={"a": False, "b": True, "c": True})
    node = resolved.nodes["a"]
    assert (node.state, node.reason, node.reason_code) == (
        "disabled",
        "disabled in the composition",
        "module_revoked",
    )
    assert resolved.order == ("b", "c")
    assert resolved.binding("c", "x.y", 1) == Binding("c", "x.y", 1, "b", "only provider")


def test_a_module_outside_the_composition_provides_nothing() -> None:
    resolved = graph(A, B, C, modules={"b": True, "c": True})
    assert set(resolved.nodes) == {"b", "c"}
    assert resolved.nodes["c"].bindings[0].provider == "b"


def blocked(*offered: Known, services: tuple[dict[str, object], ...] = ()) -> tuple[str, str]:
    node = graph(*offered, services=services).nodes["c"]
    assert node.state == "blocked"
    return node.reason_code, node.reason


def test_a_requirement_that_nobody_provides_blocks() -> None:
    assert blocked(C) == (
        "service_not_found",
        "requires x.y@1, which no module of the composition provides",
    )


def test_a_requirement_that_nobody_is_known_to_provide_says_who_might() -> None:
    assert blocked(C, unknown("z")) == (
        "service_not_found",
        "requires x.y@1, which no module of the composition provides (what z would provide is not known)",
    )


def test_a_requirement_of_another_major_blocks_and_names_it() -> None:
    assert blocked(C, known("a", provides=["x.y@2", "x.y@3"])) == (
        "service_version_mismatch",
        "requires x.y@1, but only x.y@2 of a and x.y@3 of a is provided",
    )


def test_two_candidates_without_a_selection_block_and_are_named() -> None:
    assert blocked(A, B, C) == (
        "service_ambiguous",
        "requires x.y@1, which a and b provide and none is selected",
    )


def test_an_unavailable_provider_blocks_with_its_own_reason() -> None:
    failed = known("a", provides=["x.y@1"], unavailable="exit status 1")
    assert blocked(failed, C) == (
        "service_unavailable",
        "requires x.y@1 of a (only provider), which failed: exit status 1",
    )


def test_a_selected_provider_of_which_nothing_is_known_blocks() -> None:
    assert blocked(unknown("a"), C, services=(choose("x.y@1", "a"),)) == (
        "service_unavailable",
        "requires x.y@1 of a (mesh.json:2), which was never started, so what it declares is not known",
    )


def test_no_other_provider_stands_in_for_an_unavailable_selection() -> None:
    resolved = graph(unknown("a", "exit status 1"), B, C, services=[choose("x.y@1", "a")])
    assert resolved.nodes["c"].state == "blocked"
    assert resolved.services["x.y", 1] == Absent(
        "x.y", 1, "service_unavailable", "x.y@1 is served by a (mesh.json:2), which failed: exit status 1"
    )


def test_a_block_reaches_every_dependant_with_the_chain_to_its_cause() -> None:
    middle = known("m", provides=["m.m@1"], requires=["x.y@1"])
    end = known("c", requires=["m.m@1"])
    failed = unknown("a", "exit status 1")
    resolved = graph(failed, middle, end, services=[choose("x.y@1", "a")])
    node = resolved.nodes["c"]
    assert (node.state, node.reason_code) == ("blocked", "service_unavailable")
    assert node.reason == (
        "requires m.m@1 of m (only provider), which is blocked: "
        "requires x.y@1 of a (mesh.json:2), which failed: exit status 1"
    )
    assert resolved.order == ()


def test_an_unavailable_module_says_why_with_its_own_code() -> None:
    resolved = graph(Known("a", "1.0.0", None, "too old", "protocol_violation"))
    node = resolved.nodes["a"]
    assert (node.state, node.reason_code, node.reason) == ("blocked", "protocol_violation", "too old")


def test_a_blocked_module_tells_everything_that_it_lacks() -> None:
    node = graph(A, known("c", requires=["n.n@1", "x.y@1", "o.o@1"])).nodes["c"]
    assert node.reason == (
        "requires n.n@1, which no module of the composition provides; "
        "requires o.o@1, which no module of the composition provides"
    )
    assert [lack.service for lack in node.unmet] == ["n.n", "o.o"]
    assert node.unmet[0].message == "c requires n.n@1, which no module of the composition provides"
    assert [binding.provider for binding in node.bindings] == ["a"]


def test_reasons_stay_short_where_many_paths_lead_to_one_cause() -> None:
    layers = [known("root", requires=["no.where@1"], provides=["l0.left@1", "l0.right@1"])]
    for depth in range(1, 30):
        below = [f"l{depth - 1}.left@1", f"l{depth - 1}.right@1"]
        layers += [
            known(f"{side}{depth}", requires=below, provides=[f"l{depth}.{side}@1"])
            for side in ("left", "right")
        ]
    assert len(graph(*layers).nodes["left29"].reason) < 10_000


def optional(*offered: Known, services: tuple[dict[str, object], ...] = ()) -> Binding | Absent:
    resolved = graph(known("c", requires=["x.y@1?"]), *offered, services=services)
    assert resolved.nodes["c"].state == "ready"
    return resolved.binding("c", "x.y", 1)


def test_a_module_that_is_served_elsewhere_needs_no_package_and_blocks_who_requires_it() -> None:
    modules = {"c": True, "far": {"endpoint": "dns:///far:443"}}
    choice = [choose("x.y@1", "far")]
    nodes = graph(C, modules=modules, services=choice).nodes
    elsewhere = "it is served at dns:///far:443, and this mesh connects to no remote endpoint"
    why = f"{elsewhere}; take the endpoint out"
    assert (nodes["far"].state, nodes["far"].reason) == ("blocked", why)
    assert nodes["c"].reason == f"requires x.y@1 of far (mesh.json:2), which failed: {why}"


def test_one_dataset_has_one_boundary() -> None:
    def store(module: str, *requires: str) -> Known:
        return known(module, provides=["state.documents@1"], requires=requires)

    base, front, outer = store("base"), *(store(each, "state.documents@1") for each in ("front", "outer"))
    user = known("user", requires=["state.documents@1"])
    chain = [
        choose("state.documents@1", "outer"),
        choose("state.documents@1", "front", "outer"),
        choose("state.documents@1", "base", "front"),
    ]
    assert not problems_of(base, front, outer, user, services=chain)
    for past in ("front", "base"):
        assert problems_of(
            base, front, outer, user, services=[*chain, choose("state.documents@1", past, "user")]
        ) == [
            f"mesh.json:5: user would reach state.documents@1 of {past} past outer, which is selected for "
            "every consumer: a composition has one dataset; select outer for it, or remove the selection"
        ]


def test_an_optional_requirement_binds_if_it_can() -> None:
    assert optional(A) == Binding("c", "x.y", 1, "a", "only provider")


def test_an_optional_requirement_does_not_block_where_nobody_serves_it_and_says_why() -> None:
    def code(*offered: Known, services: tuple[dict[str, object], ...] = ()) -> str:
        outcome = optional(*offered, services=services)
        assert isinstance(outcome, Absent)
        return outcome.code

    assert code() == "service_optional_absent"
    assert code(unknown("a"), services=(choose("x.y@1", "a"),)) == "service_unavailable"
    assert optional() == Absent(
        "x.y",
        1,
        "service_optional_absent",
        "c may use x.y@1, which no module of the composition provides",
    )


def test_an_optional_requirement_blocks_where_the_choice_is_wrong() -> None:
    optional_consumer = known("c", requires=["x.y@1?"])
    for offered, code in (
        ((A, B), "service_ambiguous"),
        ((known("a", provides=["x.y@2"]),), "service_version_mismatch"),
    ):
        node = graph(optional_consumer, *offered).nodes["c"]
        assert (node.state, node.reason_code) == ("blocked", code)
        assert [each.code for each in node.unmet] == [code]


def test_a_module_that_no_package_offers_is_a_problem_with_the_nearest_name() -> None:
    assert problems_of(A, known("wuu.notes"), modules={"a": True, "wuu.note": True, "q/r": False}) == [
        "mesh.json:1: no package offers module 'wuu.note'; did you mean 'wuu.notes'?",
        "mesh.json:1: no package offers module 'q/r'",
    ]


def test_a_module_of_the_profile_that_no_package_offers_is_the_profile_s_problem() -> None:
    with pytest.raises(Rejected) as rejected:
        resolve(compose([parse_document(b'{"version": 4}', name="mesh.json")]), {})
    assert str(rejected.value) == "profile headless: no package offers module 'wuu.state.sqlite'"


def test_a_selection_names_modules_that_are_offered_included_and_enabled() -> None:
    services = [
        choose("x.y@1", "aa"),
        choose("x.y@1", "b", "c"),
        choose("x.y@1", "off", "cc"),
        choose("x.y@2", "a", "off"),
    ]
    off = known("off", provides=["x.y@1"], requires=["x.y@2"])
    modules = {"a": True, "c": True, "off": False}
    assert problems_of(known("a", provides=["x.y@2"]), B, C, off, modules=modules, services=services) == [
        "mesh.json:2: no package offers provider 'aa'; did you mean 'a'?",
        "mesh.json:3: provider 'b' is not in the composition; add it to modules",
        "mesh.json:4: provider 'off' is disabled in modules; enable it, or remove the selection",
        "mesh.json:4: no package offers consumer 'cc'; did you mean 'c'?",
        "mesh.json:5: consumer 'off' is disabled in modules; enable it, or remove the selection",
    ]


def test_a_selected_provider_that_does_not_provide_the_service_says_what_it_provides() -> None:
    other = known("o", provides=["a.a@1", "x.y@3", "x.y@2"])
    assert problems_of(other, known("none"), services=[choose("x.y@1", "o"), choose("q.q@1", "none")]) == [
        "mesh.json:2: 'o' does not provide x.y@1; it provides x.y@2, x.y@3 and a.a@1",
        "mesh.json:3: 'none' does not provide q.q@1; it provides none",
    ]


def test_a_selection_for_a_consumer_that_does_not_require_the_service_is_a_problem() -> None:
    consumer = known("c", requires=["x.y@2?"])
    assert problems_of(A, consumer, services=[choose("x.y@1", "a", "c")]) == [
        "mesh.json:2: 'c' does not require x.y@1; it requires x.y@2"
    ]


SELF = known("s", provides=["x.y@1"], requires=["x.y@1"])
REMEDY = "it needs an explicit consumer binding to another implementation"


def test_a_module_is_never_its_own_provider() -> None:
    assert problems_of(SELF) == [
        f"mesh.json: /services: s provides and requires x.y@1 and is the only provider: {REMEDY}"
    ]
    assert problems_of(SELF, A, services=[choose("x.y@1", "s")]) == [
        f"mesh.json:2: s provides and requires x.y@1 and is selected for itself: {REMEDY}"
    ]
    assert problems_of(SELF, A, services=[choose("x.y@1", "s", "s")]) == [
        f"mesh.json:2: s provides and requires x.y@1 and is selected for itself: {REMEDY}"
    ]


def test_a_module_is_no_candidate_for_its_own_requirement() -> None:
    assert graph(SELF, A).binding("s", "x.y", 1) == Binding("s", "x.y", 1, "a", "only provider")


def test_a_cycle_is_shown_as_the_whole_chain() -> None:
    ring = [
        known("p", provides=["p.p@1"], requires=["r.r@1"]),
        known("q", provides=["q.q@1"], requires=["p.p@1"]),
        known("r", provides=["r.r@1"], requires=["q.q@1?"]),
        known("tail", requires=["p.p@1"]),
    ]
    assert problems_of(*ring, services=[choose("q.q@1", "q")]) == [
        "mesh.json: /services: requirement cycle p → r → q → p: p requires r.r@1 of r (only provider); "
        "r requires q.q@1 of q (mesh.json:2); q requires p.p@1 of p (only provider)"
    ]


def test_every_separate_cycle_is_shown() -> None:
    pairs = [
        known(f"{name}{side}", provides=[f"{name}.{side}@1"], requires=[f"{name}.{other}@1"])
        for name in ("m", "n")
        for side, other in (("a", "b"), ("b", "a"))
    ]
    chains = [problem.split(": ")[2] for problem in problems_of(*pairs)]
    assert chains == ["requirement cycle ma → mb → ma", "requirement cycle na → nb → na"]


def test_a_delegation_needs_equal_schemas_for_the_methods_that_both_declare() -> None:
    outer = known(
        "deco",
        provides=["x.y@1"],
        requires=["x.y@1"],
        schemas={"read": "any.input.v1", "extra": "any.extra", "same": "any.same"},
    )
    inner = known(
        "a",
        provides=["x.y@1"],
        schemas={"read": "any.input.v2", "other": "any.other", "same": "any.same"},
    )
    message = (
        "deco delegates x.y@1 to a, but the input schema of method 'read' is any.input.v1 there "
        "and any.input.v2 in a"
    )
    assert problems_of(outer, inner) == [f"mesh.json: /services: {message}"]
    assert problems_of(outer, inner, services=[choose("x.y@1", "a", "deco")]) == [f"mesh.json:2: {message}"]


def test_schemas_of_a_provider_that_is_only_called_are_the_caller_s_own_affair() -> None:
    outer = known("deco", provides=["x.y@2"], requires=["x.y@1"], schemas={"read": "any.other"})
    assert problems_of(outer, A) == []


def test_every_problem_is_listed_at_once() -> None:
    found = problems_of(
        SELF,
        known("p", provides=["p.p@1"], requires=["q.q@1"]),
        known("q", provides=["q.q@1"], requires=["p.p@1"]),
        modules={"s": True, "p": True, "q": True, "gone": True},
        services=[choose("p.p@1", "nobody", "s")],
    )
    assert [problem.split(": ")[-1][:20] for problem in found] == [
        "no package offers mo",
        "no package offers pr",
        "'s' does not require"[:20],
        REMEDY[:20],
        "p requires q.q@1 of q (only"[:20],
    ]


def test_an_empty_composition_is_an_empty_graph() -> None:
    resolved = graph(A, modules={})
    assert (resolved.nodes, resolved.order, resolved.services) == ({}, (), {})
