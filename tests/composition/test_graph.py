"""What a graph answers to those who ask it."""

from __future__ import annotations

from router.composition.graph import Absent, Binding, Graph, Selected
from tests.composition.making import choose, graph, known, unknown


def diamond() -> Graph:
    return graph(
        known("top", requires=["l.l@1", "r.r@1"]),
        known("left", provides=["l.l@1"], requires=["b.b@1"]),
        known("right", provides=["r.r@1"], requires=["b.b@1"]),
        known("bottom", provides=["b.b@1"]),
        known("alone"),
    )


def test_modules_start_in_levels_with_providers_first() -> None:
    assert diamond().levels() == (("alone", "bottom"), ("left", "right"), ("top",))
    assert diamond().order == ("alone", "bottom", "left", "right", "top")


def test_a_blocked_module_is_in_no_level() -> None:
    resolved = graph(known("a"), known("b", requires=["no.where@1"]))
    assert resolved.levels() == (("a",),)


def test_consumers_are_those_with_a_binding() -> None:
    assert diamond().consumers_of("bottom") == ("left", "right")
    assert diamond().consumers_of("top") == ()


def test_dependants_are_those_who_reach_a_module_over_bindings() -> None:
    assert diamond().dependants("bottom") == {"left", "right", "top"}
    assert diamond().dependants("left") == {"top"}
    assert diamond().dependants("alone") == frozenset()


def test_a_call_that_was_not_declared_is_not_authorized() -> None:
    outcome = diamond().binding("top", "b.b", 1)
    assert outcome == Absent("b.b", 1, "service_not_authorized", "top does not require b.b@1")
    other_major = diamond().binding("top", "l.l", 2)
    assert isinstance(other_major, Absent)


def test_a_declared_call_has_its_binding_or_its_reason() -> None:
    resolved = graph(known("c", requires=["b.b@1", "x.y@1"]), known("b", provides=["b.b@1"]))
    assert resolved.binding("c", "b.b", 1) == Binding("c", "b.b", 1, "b", "only provider")
    assert resolved.binding("c", "x.y", 1) == Absent(
        "x.y",
        1,
        "service_not_found",
        "c requires x.y@1, which no module of the composition provides",
    )


def test_the_operator_gets_the_selection_or_the_only_provider() -> None:
    a, b = known("a", provides=["x.y@1"]), known("b", provides=["x.y@1"])
    assert graph(a).default("x.y", None) == Selected("x.y", 1, "1.2.3", "a", "only provider")
    chosen = graph(a, b, services=[choose("x.y@1", "b")])
    assert chosen.default("x.y", 1) == Selected("x.y", 1, "1.2.3", "b", "mesh.json:2")
    assert graph(a, b).default("x.y", None) == Absent(
        "x.y", 1, "service_ambiguous", "a and b provide x.y@1 and none is selected"
    )


def test_a_selection_for_one_consumer_is_none_of_the_operator_s() -> None:
    offered = [known("a", provides=["x.y@1"]), known("b", provides=["x.y@1"]), known("c", requires=["x.y@1"])]
    outcome = graph(*offered, services=[choose("x.y@1", "a", "c")]).default("x.y", 1)
    assert isinstance(outcome, Absent)
    assert outcome.code == "service_ambiguous"


def test_the_operator_names_a_major_where_there_are_several() -> None:
    resolved = graph(known("a", provides=["x.y@1", "x.y@2"]))
    assert resolved.default("x.y", None) == Absent(
        "x.y", None, "service_ambiguous", "x.y has several majors: say x.y@1 or x.y@2"
    )
    assert resolved.default("x.y", 3) == Absent(
        "x.y",
        3,
        "service_version_mismatch",
        "no module of the composition provides x.y@3, only x.y@1, x.y@2",
    )


def test_the_operator_hears_the_nearest_name_of_an_unknown_service() -> None:
    resolved = graph(known("a", provides=["state.documents@1"]))
    assert resolved.default("state.document", None) == Absent(
        "state.document",
        None,
        "service_not_found",
        "no module of the composition provides state.document; did you mean 'state.documents'?",
    )


def test_the_operator_hears_why_a_provider_is_blocked() -> None:
    resolved = graph(
        known("a", provides=["x.y@1"], requires=["z.z@1"]),
        unknown("z", "exit status 2"),
        services=[choose("z.z@1", "z")],
    )
    assert resolved.default("x.y", None) == Absent(
        "x.y",
        1,
        "service_unavailable",
        "x.y@1 is served by a (only provider), which is blocked: "
        "requires z.z@1 of z (mesh.json:2), which failed: exit status 2",
    )
