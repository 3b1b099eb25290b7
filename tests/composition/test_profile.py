"""What the product adds where the document leaves it open."""

from __future__ import annotations

import json

from router.composition import ModuleEntry, Selection, effective, parse_document

PROFILE_CHOICE = Selection("state.documents", 1, "wuu.state.sqlite", None, "profile headless")


def effects(**fields: object) -> tuple[dict[str, ModuleEntry], tuple[Selection, ...]]:
    text = json.dumps({"version": 4, **fields})
    modules, selections = effective(parse_document(text.encode(), name="mesh.json"))
    return dict(modules), selections


def test_headless_is_a_document_store_in_sqlite() -> None:
    assert effects() == ({"wuu.state.sqlite": ModuleEntry()}, (PROFILE_CHOICE,))


def test_the_modules_that_a_document_names_are_all_there_are() -> None:
    assert effects(modules={"a": True}) == ({"a": ModuleEntry()}, ())


def test_an_empty_set_of_modules_stays_empty() -> None:
    assert effects(modules={}) == ({}, ())


def test_the_profile_s_selection_holds_with_the_document_s_modules() -> None:
    modules = {"a": True, "wuu.state.sqlite": {"config": {}}}
    assert effects(modules=modules)[1] == (PROFILE_CHOICE,)


def test_the_profile_selects_no_disabled_module() -> None:
    assert effects(modules={"wuu.state.sqlite": False})[1] == ()


def test_a_selection_of_the_document_for_every_consumer_replaces_that_of_the_profile() -> None:
    choice = {"service": "state.documents", "major": 1, "provider": "wuu.state.postgres"}
    (selection,) = effects(services=[choice])[1]
    assert (selection.provider, selection.source) == ("wuu.state.postgres", "mesh.json:1")


def test_a_selection_for_one_consumer_leaves_that_of_the_profile_to_the_others() -> None:
    choice = {"service": "state.documents", "major": 1, "provider": "p", "consumer": "c"}
    local, profile = effects(services=[choice])[1]
    assert local.consumer == "c"
    assert profile == PROFILE_CHOICE


def test_another_major_is_another_service() -> None:
    choice = {"service": "state.documents", "major": 2, "provider": "p"}
    assert PROFILE_CHOICE in effects(services=[choice])[1]
