"""What the documents of a composition come to, one over the other, and what the product adds."""

from __future__ import annotations

import json
from typing import Any

import pytest

from router.composition.composed import Composed, compose
from router.composition.document import ModuleEntry, Selection, parse_document
from router.composition.rejected import Rejected

DOCUMENTS = ("state.documents", 1)
PROFILE_CHOICE = Selection("state.documents", 1, "wuu.state.sqlite", None, "profile headless")


def composed(*documents: dict[str, Any]) -> Composed:
    """Documents that are named 1.json, 2.json and so on, the first applied first."""
    parsed = [
        parse_document(json.dumps({"version": 4, **fields}).encode(), name=f"{number}.json")
        for number, fields in enumerate(documents, 1)
    ]
    return compose(parsed)


def choice(provider: str, consumer: str | None = None, major: int = 1) -> dict[str, object]:
    selection: dict[str, object] = {"service": "state.documents", "major": major, "provider": provider}
    return selection if consumer is None else {**selection, "consumer": consumer}


def edge(consumer: str | None = None) -> dict[str, object]:
    removal: dict[str, object] = {"service": "state.documents", "major": 1}
    return removal if consumer is None else {**removal, "consumer": consumer}


def chosen(composed: Composed) -> dict[str | None, tuple[str, str]]:
    """The provider and the source of each selection of the document store, by consumer."""
    return {
        consumer: (each.provider, each.source)
        for (consumer, key), each in composed.selections.items()
        if key == DOCUMENTS
    }


# --- the product ---


def test_headless_is_a_document_store_in_sqlite() -> None:
    product = compose([])
    assert product.modules == {"wuu.state.sqlite": ModuleEntry()}
    assert list(product.selections.values()) == [PROFILE_CHOICE]
    assert composed({}).modules == product.modules


def test_desktop_stands_on_what_headless_has() -> None:
    desktop = composed({"profile": "desktop"})
    assert desktop.modules == compose([]).modules
    assert chosen(desktop) == {None: ("wuu.state.sqlite", "profile desktop")}


def test_bundles_that_are_named_stand_in_the_place_of_the_profile_s() -> None:
    assert composed({"bundles": []}).modules == {}
    named = composed({"profile": "desktop", "bundles": ["wuu.base"]})
    assert chosen(named) == {None: ("wuu.state.sqlite", "bundle wuu.base")}


def test_the_modules_that_a_document_names_are_all_there_are() -> None:
    only = composed({"modules": {"a": True}})
    assert only.modules == {"a": ModuleEntry()}
    assert only.selections == {}


def test_an_empty_set_of_modules_stays_empty() -> None:
    assert composed({"modules": {}}).modules == {}


def test_the_product_s_selection_holds_with_the_document_s_modules() -> None:
    named = composed({"modules": {"a": True, "wuu.state.sqlite": {"config": {}}}})
    assert list(named.selections.values()) == [PROFILE_CHOICE]


def test_the_product_selects_no_disabled_module() -> None:
    assert composed({"modules": {"wuu.state.sqlite": False}}).selections == {}


def test_a_selection_for_every_consumer_replaces_that_of_the_product() -> None:
    replaced = composed({"services": [choice("wuu.state.postgres")]})
    assert chosen(replaced) == {None: ("wuu.state.postgres", "1.json:1")}
    assert replaced.overridden[None, DOCUMENTS] == (PROFILE_CHOICE,)


def test_a_selection_for_one_consumer_leaves_that_of_the_product_to_the_others() -> None:
    both = composed({"services": [choice("p", "c")]})
    assert chosen(both) == {"c": ("p", "1.json:1"), None: ("wuu.state.sqlite", "profile headless")}
    assert list(both.selections.values())[-1] == PROFILE_CHOICE


def test_another_major_is_another_service() -> None:
    assert PROFILE_CHOICE in composed({"services": [choice("p", major=2)]}).selections.values()


# --- patches ---


def test_a_patch_adds_modules_to_those_of_the_product() -> None:
    patched = composed({"patches": [{"modules": {"a": True}}]})
    assert list(patched.modules) == ["wuu.state.sqlite", "a"]


def test_a_patch_changes_the_fields_that_it_names_and_no_others() -> None:
    modules = {"a": {"config": {"x": 1}, "timeout": 5}}
    patched = composed({"modules": modules, "patches": [{"modules": {"a": {"timeout": 9}}}]})
    assert patched.modules == {"a": ModuleEntry(True, b'{"x": 1}', 9.0)}
    disabled = composed({"modules": modules, "patches": [{"modules": {"a": False}}]})
    assert disabled.modules == {"a": ModuleEntry(False, b'{"x": 1}', 5.0)}


def test_a_patch_of_a_disabled_module_enables_it_only_if_it_says_so() -> None:
    modules = {"a": False}
    assert not composed({"modules": modules, "patches": [{"modules": {"a": {"timeout": 9}}}]}).enabled
    assert composed({"modules": modules, "patches": [{"modules": {"a": True}}]}).enabled == ["a"]


def test_patches_apply_in_order_after_the_services_of_their_document() -> None:
    patches = [{"services": [choice("second")]}, {"services": [choice("third")]}]
    patched = composed({"services": [choice("first")], "patches": patches})
    assert chosen(patched)[None][0] == "third"
    assert [step.provider for step in patched.overridden[None, DOCUMENTS] if isinstance(step, Selection)] == [
        "second",
        "first",
        "wuu.state.sqlite",
    ]


def test_a_removal_takes_exactly_that_one_selection() -> None:
    services = [choice("p"), choice("q", "c"), choice("q", "d")]
    patched = composed({"services": services, "patches": [{"remove_services": [edge("c")]}]})
    assert {consumer: provider for consumer, (provider, _) in chosen(patched).items()} == {
        None: "p",
        "d": "q",
    }


def test_a_removal_of_the_product_s_selection_leaves_none() -> None:
    removed = composed({"patches": [{"remove_services": [edge()]}]})
    assert removed.selections == {}
    assert [type(step).__name__ for step in removed.overridden[None, DOCUMENTS]] == ["Removal", "Selection"]


def test_a_removal_takes_the_explicit_selection_and_the_product_s_holds_again() -> None:
    patched = composed({"services": [choice("p")], "patches": [{"remove_services": [edge()]}]})
    assert chosen(patched) == {None: ("wuu.state.sqlite", "profile headless")}


def test_a_patch_removes_before_it_selects() -> None:
    patch = {"services": [choice("q", "c")], "remove_services": [edge("c")]}
    assert chosen(composed({"services": [choice("p", "c")], "patches": [patch]}))["c"][0] == "q"


@pytest.mark.parametrize(
    ("fields", "whom"),
    [
        ({"patches": [{"remove_services": [edge("c")]}]}, "consumer 'c'"),
        ({"bundles": [], "patches": [{"remove_services": [edge()]}]}, "every consumer"),
        ({"services": [choice("p", "d")], "patches": [{"remove_services": [edge("c")]}]}, "consumer 'c'"),
    ],
)
def test_a_removal_of_what_is_not_selected_rejects(fields: dict[str, Any], whom: str) -> None:
    with pytest.raises(Rejected) as rejected:
        composed(fields)
    assert [str(problem) for problem in rejected.value.problems] == [
        f"1.json:1: state.documents@1 is not selected for {whom}, so there is nothing to remove; "
        "take the removal out"
    ]


# --- layers ---


def test_what_a_later_document_says_wins() -> None:
    both = composed(
        {"profile": "desktop", "services": [choice("first")], "modules": {"a": True}},
        {"profile": "headless", "services": [choice("second")]},
    )
    assert both.profile == "headless"
    assert list(both.modules) == ["a"]
    assert chosen(both) == {None: ("second", "2.json:1")}
    assert both.name == "2.json"


def test_the_modules_of_a_later_document_are_all_there_are() -> None:
    assert list(composed({"modules": {"a": True}}, {"modules": {"b": True}}).modules) == ["b"]


def test_a_later_document_adds_modules_by_a_patch() -> None:
    assert list(composed({"modules": {"a": True}}, {"patches": [{"modules": {"b": True}}]}).modules) == [
        "a",
        "b",
    ]


def test_a_later_document_removes_what_an_earlier_one_selected() -> None:
    both = composed({"services": [choice("p", "c")]}, {"patches": [{"remove_services": [edge("c")]}]})
    assert "c" not in chosen(both)


def test_packages_of_every_document_are_searched_each_beside_its_own() -> None:
    both = composed({"packages": ["./a"]}, {"packages": ["./b"]})
    assert [(each.document, each.path) for each in both.packages] == [("1.json", "./a"), ("2.json", "./b")]


# --- what was switched since ---


def test_a_switch_comes_last_and_marks_what_is_revoked() -> None:
    base = composed({"modules": {"a": True, "b": False}})
    switched = base.switched({"a": False, "b": True, "gone": True})
    assert switched.enabled == ["b"]
    assert switched.revoked == {"a": "is disabled"}


def test_a_switch_takes_the_product_s_choice_away_and_brings_it_back() -> None:
    product = compose([])
    off = product.switched({"wuu.state.sqlite": False})
    assert off.selections == {}
    assert off.switched({"wuu.state.sqlite": True}).selections == product.selections
    disabled = composed({"modules": {"wuu.state.sqlite": False}})
    assert chosen(disabled.switched({"wuu.state.sqlite": True})) == {
        None: ("wuu.state.sqlite", "profile headless")
    }


def test_a_switch_leaves_a_choice_of_the_operator_s() -> None:
    explicit = composed({"services": [choice("wuu.state.sqlite")]})
    assert chosen(explicit.switched({"wuu.state.sqlite": False})) == {None: ("wuu.state.sqlite", "1.json:1")}
