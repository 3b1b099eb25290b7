"""The JSON Schema that editors have says of a document what the reader says."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from router.composition.document import parse_document
from router.composition.rejected import Rejected
from router.composition.schema import document_schema

SCHEMA = document_schema()
VALIDATOR = jsonschema.Draft202012Validator(SCHEMA)
EDITORS = Path(__file__).parents[2] / "gen" / "composition.schema.json"

names = st.sampled_from(["a", "example.b", "c/d~e", ""])
services = st.sampled_from(["state.documents", "a.b-c", "State", "a", "", "a.b\n"])
majors = st.sampled_from([1, 2, 0, -1, "1", None, True])
odd = st.sampled_from([None, True, 0, 1, "", "x", [], {}, [1], {"a": 1}])
selections = st.fixed_dictionaries(
    {"service": services, "major": majors, "provider": names}, optional={"consumer": names, "more": odd}
)
removals = st.fixed_dictionaries({"service": services, "major": majors}, optional={"consumer": names})
entries = st.booleans() | st.fixed_dictionaries(
    {},
    optional={
        "enabled": st.booleans() | odd,
        "config": st.just({"x": [1]}) | odd,
        "timeout": st.sampled_from([1, 0.5, 0, -1, 86400, 86401, "5", True]),
        "endpoint": st.sampled_from(["dns:///a:1", "dns:///", "dns:///a:1\n", "a:1", 1]),
    },
)
modules = st.dictionaries(st.sampled_from(["a", "example.b"]), entries | odd, max_size=2)
patches = st.fixed_dictionaries(
    {},
    optional={
        "modules": modules | odd,
        "services": st.lists(selections | odd, max_size=1) | odd,
        "remove_services": st.lists(removals | odd, max_size=2) | odd,
    },
)
documents = st.fixed_dictionaries(
    {"version": st.sampled_from([4, 4, 4, 4, 5, "4", True])},
    optional={
        "profile": st.sampled_from(["headless", "desktop", "phone", None]),
        "bundles": st.lists(st.sampled_from(["wuu.base", "wuu.desktop", "x"]), max_size=2) | odd,
        "include": st.lists(st.sampled_from(["./a.json", "/a.json", "", 1]), max_size=2) | odd,
        "packages": st.lists(st.sampled_from(["./*", "", 1]), max_size=2) | odd,
        "modules": modules | odd,
        "services": st.lists(selections | odd, max_size=1) | odd,
        "patches": st.lists(patches | odd, max_size=2) | odd,
        "$schema": st.just("x") | odd,
        "more": odd,
    },
)


def is_read(document: Any) -> bool:
    try:
        parse_document(json.dumps(document).encode(), name="mesh.json")
    except Rejected:
        return False
    return True


@settings(max_examples=500)
@given(documents | odd)
def test_a_document_is_valid_by_the_schema_if_it_is_read_and_only_then(document: Any) -> None:
    assert VALIDATOR.is_valid(document) == is_read(document)


def test_the_schema_is_one() -> None:
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    assert json.loads(EDITORS.read_bytes()) == SCHEMA


@pytest.mark.parametrize("path", sorted((Path(__file__).parents[2] / "examples").glob("*.json")), ids=str)
def test_the_examples_are_valid_by_it(path: Path) -> None:
    VALIDATOR.validate(json.loads(path.read_bytes()))


def test_every_field_says_what_it_is() -> None:
    for form in (SCHEMA, *SCHEMA["$defs"].values()):
        for name, field in form["properties"].items():
            assert field.get("description"), name
