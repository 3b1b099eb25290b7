"""Versions of the document: the older ones are subsets, and read as such."""

from __future__ import annotations

import json
from typing import Any

import pytest

from router.composition.composed import compose
from router.composition.document import parse_document
from router.composition.rejected import Rejected

GLOBAL = {"service": "a.b", "major": 1, "provider": "p"}
LOCAL = {**GLOBAL, "consumer": "c"}
SINCE_2: dict[str, Any] = {
    "profile": "headless",
    "packages": ["./*"],
    "modules": {"a": True, "b": {"enabled": False, "config": {"x": 1}}},
    "services": [GLOBAL],
    "patches": [{"modules": {"c": True}, "services": [GLOBAL]}],
}


def problems(version: int, **fields: Any) -> list[str]:
    try:
        parse_document(json.dumps({"version": version, **fields}).encode(), name="mesh.json")
    except Rejected as rejected:
        return [problem.message for problem in rejected.problems]
    return []


@pytest.mark.parametrize("version", [2, 3])
def test_an_older_document_means_what_it_means_in_version_4(version: int) -> None:
    def composed(version: int) -> object:
        text = json.dumps({"version": version, **SINCE_2}).encode()
        return compose([parse_document(text, name="mesh.json")])

    assert composed(version) == composed(4)


@pytest.mark.parametrize(
    ("since", "fields"),
    [
        (3, {"bundles": []}),
        (3, {"patches": [{"remove_services": [{"service": "a.b", "major": 1}]}]}),
        (4, {"include": ["./a.json"]}),
        (4, {"services": [LOCAL]}),
        (4, {"patches": [{"services": [LOCAL]}]}),
        (4, {"patches": [{"remove_services": [{"service": "a.b", "major": 1, "consumer": "c"}]}]}),
        (4, {"modules": {"a": {"timeout": 5}}}),
        (4, {"modules": {"a": {"endpoint": "dns:///a:1"}}}),
    ],
)
def test_a_field_of_a_later_version_says_so_and_how_to_migrate(since: int, fields: dict[str, Any]) -> None:
    for version in (2, 3):
        found = problems(version, **fields)
        if version >= since:
            assert found == []
        else:
            assert found
            assert found[-1].startswith(f"is of version {since}, not {version}; ")
            assert found[-1].endswith("`wuu-mesh composition migrate` rewrites the file")
    assert problems(4, **fields) == []
