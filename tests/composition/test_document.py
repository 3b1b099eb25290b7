"""The composition document: what it says, and what is said of a bad one."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from router.composition.document import Document, ModuleEntry, Selection, parse_document
from router.composition.rejected import Rejected


def problems(text: str | bytes) -> list[str]:
    raw = text.encode() if isinstance(text, str) else text
    with pytest.raises(Rejected) as rejected:
        parse_document(raw, name="mesh.json")
    assert str(rejected.value) == "\n".join(str(problem) for problem in rejected.value.problems)
    return [str(problem) for problem in rejected.value.problems]


def problems_with(**fields: object) -> list[str]:
    return problems(json.dumps({"version": 4, **fields}))


def test_the_least_document_is_a_version_and_leaves_the_rest_to_the_profile() -> None:
    document = parse_document(b'{"version": 4}', name="mesh.json")
    assert document == Document(version=4, name="mesh.json")


def test_a_document_says_modules_selections_and_packages() -> None:
    text = """{
      "version": 4,
      "profile": "headless",
      "packages": ["./plugins/*", "/opt/plugins"],
      "modules": {
        "a.on": true,
        "a.off": false,
        "a.configured": {"enabled": false, "config": {"n": 1.50, "s": "\\u00e9"}, "timeout": 2}
      },
      "services": [
        {"service": "state.documents", "major": 1, "provider": "a.on"},
        {"consumer": "a.on",
         "service": "state.documents", "major": 1, "provider": "a.configured"}
      ]
    }"""
    document = parse_document(text.encode(), name="mesh.json")
    assert [each.path for each in document.packages] == ["./plugins/*", "/opt/plugins"]
    assert [each.where for each in document.packages] == [
        "mesh.json:4: /packages/0",
        "mesh.json:4: /packages/1",
    ]
    assert document.modules == {
        "a.on": ModuleEntry(),
        "a.off": ModuleEntry(enabled=False),
        "a.configured": ModuleEntry(False, b'{"n": 1.50, "s": "\\u00e9"}', 2.0),
    }
    assert document.services == (
        Selection("state.documents", 1, "a.on", None, "mesh.json:11"),
        Selection("state.documents", 1, "a.configured", "a.on", "mesh.json:12"),
    )


def test_an_empty_set_of_modules_is_not_the_same_as_none() -> None:
    document = parse_document(b'{"version": 4, "modules": {}}', name="mesh.json")
    assert document.modules == {}


def test_a_configuration_keeps_its_exact_bytes() -> None:
    config = '{ "big": 12345678901234567890123,\n "e": 1e2, "é": "\\/", "": [ ] }'
    text = f'{{"version": 4, "modules": {{"a~b/c": {{"config":{config}}}}}}}'
    document = parse_document(text.encode(), name="mesh.json")
    assert document.modules is not None
    assert document.modules["a~b/c"].config == config.encode()


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "mesh.json:1:1: the file is empty"),
        (
            '{"version": 4,\n  "modules": {"a": tru}}',
            "mesh.json:2:20: tru is not JSON; names and text stand in double quotes",
        ),
        ('{"version": 4}\n}', "mesh.json:2:1: the JSON has ended before this"),
        ('{"version": 4,\n "x": [1, NaN]}', "mesh.json:2:11: NaN is not JSON"),
        ('{"version": 4, "x": -Infinity}', "mesh.json:1:21: -Infinity is not JSON"),
        ('{"version": 4,\n "x": "\\ud800"}', "mesh.json:2:7: the string has half of a surrogate pair"),
        ('{"\\udfff": 4}', "mesh.json:1:2: the string has half of a surrogate pair"),
        (b'{\n "\xff": 4}', "mesh.json:2:3: this is not UTF-8"),
    ],
)
def test_a_text_that_is_not_json_is_shown_with_line_and_column(text: str | bytes, problem: str) -> None:
    assert problems(text) == [problem]


def test_a_byte_order_mark_is_no_part_of_the_text() -> None:
    assert parse_document(b'\xef\xbb\xbf{"version": 4}', name="mesh.json").version == 4


@pytest.mark.parametrize("text", ["[" * 100_000, '{"version": ' + "9" * 5000 + "}"])
def test_a_text_past_the_parser_s_bounds_is_a_problem(text: str) -> None:
    (problem,) = problems(text)
    assert problem.startswith("mesh.json:1:")


def test_a_key_given_twice_is_a_problem_with_its_pointer_and_line() -> None:
    text = '{"version": 4,\n "modules": {"a": {"config": {"x/y": 1,\n "x/y": 2}},\n "a": true}}'
    assert problems(text) == [
        "mesh.json:3: /modules/a/config/x~1y: is given again on line 3; keep one",
        "mesh.json:4: /modules/a: is given again on line 4; keep one",
    ]


def test_an_unknown_field_is_answered_with_the_nearest_one() -> None:
    assert problems_with(module={}) == [
        "mesh.json:1: /module: unknown field; did you mean 'modules'?",
    ]
    assert problems_with(zzz=1) == [
        "mesh.json:1: /zzz: unknown field; known: version, profile, bundles, include, packages, "
        "modules, services, patches, $schema",
    ]
    assert problems_with(modules={"a": {"enable": True}}) == [
        "mesh.json:1: /modules/a/enable: unknown field; did you mean 'enabled'?",
    ]
    selection = {"service": "a.b", "major": 1, "provder": "x"}
    assert problems_with(services=[selection]) == [
        "mesh.json:1: /services/0/provder: unknown field; did you mean 'provider'?",
        "mesh.json:1: /services/0/provider: is required",
    ]


@pytest.mark.parametrize("version", ["1", "5", '"4"', "4.0", "true", "null"])
def test_any_other_version_is_told_to_be_4(version: str) -> None:
    assert problems(f'{{"version": {version}}}') == [
        f"mesh.json:1: /version: {version} is not a known version; write version 4"
    ]


def test_a_document_without_a_version_is_told_to_write_it() -> None:
    assert problems("{}") == ['mesh.json:1: /version: is required: write "version": 4']


def test_a_profile_is_one_that_is_known() -> None:
    assert problems_with(profile="headles") == [
        "mesh.json:1: /profile: \"headles\" is not a profile; did you mean 'headless'?"
    ]
    known = "known: headless, desktop"
    assert problems_with(profile="phone") == [f'mesh.json:1: /profile: "phone" is not a profile; {known}']
    assert problems_with(profile=None) == [f"mesh.json:1: /profile: null is not a profile; {known}"]


@pytest.mark.parametrize(
    ("fields", "problem"),
    [
        ({"modules": []}, "/modules: must be an object, not []"),
        ({"modules": {"a": 1}}, "/modules/a: must be true, false or an object, not 1"),
        ({"modules": {"a": {"enabled": 1}}}, "/modules/a/enabled: must be true or false, not 1"),
        ({"modules": {"a": {"config": [1]}}}, "/modules/a/config: must be an object, not [1]"),
        (
            {"modules": {"a": {"timeout": 0}}},
            "/modules/a/timeout: must be seconds, greater than 0 and at most 86400, not 0",
        ),
        (
            {"modules": {"a": {"timeout": True}}},
            "/modules/a/timeout: must be seconds, greater than 0 and at most 86400, not true",
        ),
        (
            {"modules": {"a": {"timeout": 86_401}}},
            "/modules/a/timeout: must be seconds, greater than 0 and at most 86400, not 86401",
        ),
        (
            {"modules": {"a": {"timeout": 10**400}}},
            f"/modules/a/timeout: must be seconds, greater than 0 and at most 86400, not 1{'0' * 58}…",
        ),
        ({"services": {}}, "/services: must be an array, not {}"),
        ({"services": ["x"]}, '/services/0: must be an object, not "x"'),
        ({"packages": "x"}, '/packages: must be an array, not "x"'),
        ({"packages": [""]}, '/packages/0: must be a directory or a glob such as "./plugins/*", not ""'),
    ],
)
def test_a_value_of_the_wrong_kind_is_shown_with_its_rule(fields: dict[str, object], problem: str) -> None:
    assert f"mesh.json:1: {problem}" in problems_with(**fields)


@pytest.mark.parametrize(
    ("field", "value", "problem"),
    [
        ("service", "State", "/services/0/service: 'State' is not a service name such as state.documents"),
        ("service", "a.b\n", "/services/0/service: 'a.b\n' is not a service name such as state.documents"),
        ("service", 1, "/services/0/service: must be a string that is not empty, not 1"),
        ("major", 0, "/services/0/major: must be an integer of at least 1, not 0"),
        ("major", 1.0, "/services/0/major: must be an integer of at least 1, not 1.0"),
        ("major", True, "/services/0/major: must be an integer of at least 1, not true"),
        ("provider", "", '/services/0/provider: must be a string that is not empty, not ""'),
        ("consumer", None, "/services/0/consumer: must be a string that is not empty, not null"),
    ],
)
def test_a_selection_names_a_service_a_major_and_a_provider(field: str, value: object, problem: str) -> None:
    selection = {"service": "a.b", "major": 1, "provider": "x", field: value}
    assert problems_with(services=[selection]) == [f"mesh.json:1: {problem}"]


def test_two_selections_for_one_edge_are_a_problem_that_names_both() -> None:
    text = """{"version": 4, "services": [
      {"service": "a.b", "major": 1, "provider": "x"},
      {"service": "a.b", "major": 2, "provider": "x"},
      {"service": "a.b", "major": 1, "provider": "x", "consumer": "c"},
      {"service": "a.b", "major": 1, "provider": "y"},
      {"service": "a.b", "major": 1, "provider": "y", "consumer": "c"}
    ]}"""
    assert problems(text) == [
        "mesh.json:5: /services/3: a.b@1 is selected twice for every consumer: "
        "'x' at mesh.json:2 and 'y' at mesh.json:5; keep one",
        "mesh.json:6: /services/4: a.b@1 is selected twice for consumer 'c': "
        "'x' at mesh.json:4 and 'y' at mesh.json:6; keep one",
    ]


def test_a_document_that_is_no_object_has_no_pointer() -> None:
    assert problems("[]") == [
        "mesh.json:1: must be an object, not []",
        'mesh.json:1: /version: is required: write "version": 4',
    ]


def test_every_problem_is_listed_at_once() -> None:
    found = problems('{"version": 1, "profile": 1, "modules": 1, "services": 1, "packages": 1, "more": 1}')
    assert [problem.split(": ")[1] for problem in found] == [
        "/more",
        "/version",
        "/profile",
        "/modules",
        "/services",
        "/packages",
    ]


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)
fields = st.sampled_from(
    ["version", "profile", "modules", "services", "packages", "config", "service", "major"]
)
shaped_values = st.recursive(
    json_values, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(fields, inner, max_size=5)
)


@settings(deadline=None)
@given(shaped_values.map(json.dumps).map(str.encode) | st.binary())
def test_any_text_is_a_document_or_rejected(raw: bytes) -> None:
    try:
        parse_document(raw, name="mesh.json")
    except Rejected as rejected:
        assert rejected.problems
        str(rejected).encode()
