"""Positions in a JSON text."""

from __future__ import annotations

import json
from collections.abc import Iterator

from hypothesis import given, settings
from hypothesis import strategies as st

from router.composition.position import locate, step

json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=4),
)


def members(value: object, pointer: str = "") -> Iterator[tuple[str, object]]:
    yield pointer, value
    if isinstance(value, list):
        for index, element in enumerate(value):
            yield from members(element, step(pointer, index))
    if isinstance(value, dict):
        for key, member in value.items():
            yield from members(member, step(pointer, key))


@settings(deadline=None)
@given(json_values, st.booleans(), st.sampled_from([None, 0, 1, "\t", "\r\n "]))
def test_every_value_is_found_where_it_stands(
    value: object, ascii_only: bool, indent: int | str | None
) -> None:
    text = "\n " + json.dumps(value, ensure_ascii=ascii_only, indent=indent)
    located = locate(text.encode())
    expected = dict(members(value))
    assert located.value == value
    assert located.repeated == ()
    assert located.spans.keys() == expected.keys()
    for pointer, member in expected.items():
        assert json.loads(located.raw(pointer)) == member
        start, _ = located.spans[pointer]
        assert located.line(pointer) == text.count("\n", 0, start) + 1


def test_quotes_and_brackets_within_strings_are_no_structure() -> None:
    text = rb'{"a\"}": "]\\", "\\": [",:{", {"x": "\""}]}'
    located = locate(text)
    assert located.raw('/a"}') == rb'"]\\"'
    assert located.raw("/\\/0") == b'",:{"'
    assert located.raw("/\\/1/x") == rb'"\""'
