"""What keeps a text from being JSON is said in words, at the place where it is corrected."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from router.composition.position import Malformed, locate


def mistake(text: str) -> str:
    with pytest.raises(Malformed) as malformed:
        locate(text.encode())
    return str(malformed.value)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "1:1: the file is empty"),
        (" \n\t\n", "1:1: the file is empty"),
        ('{\n "a": 1,\n}', "2:8: there is a trailing comma; JSON has none before }"),
        ("[1, 2,\n\n ]", "1:6: there is a trailing comma; JSON has none before ]"),
        ('{"a": 1,, "b": 2}', "1:9: there is one comma too many"),
        ("[,1]", "1:2: there is one comma too many"),
        ('{"a": 1, // one\n "b": 2}', "1:10: JSON has no comments"),
        ('{"a": 1 /* one */}', "1:9: JSON has no comments"),
        ("{}\n# end", "2:1: JSON has no comments"),
        ('{"a": 1\n "b": 2}', "2:2: a comma is missing before this"),
        ('{"a": [1}', "1:9: } does not close the bracket that is open here"),
        ('{"a" 1}', "1:6: a colon is missing between a name and its value"),
        ('{"a": }', "1:7: a value is missing here"),
        ("{1: 2}", "1:2: a name in double quotes is missing here"),
        ("{a: 1}", "1:2: a is not JSON; names and text stand in double quotes"),
        ("{'a': 1}", "1:2: JSON writes strings in double quotes"),
        ('{"a": True}', "1:7: True is not JSON; write true"),
        ('{"a": None}', "1:7: None is not JSON; write null"),
        ('{"a": "x', "1:7: the string that begins here has no end"),
        ('{"a": "x\ny"}', "1:9: a line break or a control character stands in a string; write \\n"),
        (r'{"a": "C:\dir"}', "1:10: the backslash escapes nothing; write \\\\ for one"),
        (r'["\u12"]', "1:4: \\u takes four hexadecimal digits"),
        ('{"a": {\n "b": 1', "2:8: the text ends before the JSON does"),
        ("{}}", "1:3: the JSON has ended before this"),
        ("[007]", "1:3: a number begins with no 0 before other digits"),
        ("[.5]", "1:2: a number has no + before it, and digits on both sides of its point"),
        ('{"a":\n ' + "9" * 5000 + "}", "2:2: the number has too many digits"),
        ("[\n" * 5000, "5000:1: this is nested too deeply"),
        ("\ufeff\ufeff{}", "1:1: this is not JSON"),
    ],
)
def test_a_mistake_is_named_where_it_is_corrected(text: str, said: str) -> None:
    assert mistake(text) == said


@given(st.text(alphabet="{}[],:\"\\ \nabn019.-+/*#'", max_size=12))
def test_every_mistake_has_a_place_in_the_text_and_words_of_our_own(text: str) -> None:
    try:
        json.loads(text)
    except json.JSONDecodeError as malformed:
        said = mistake(text)
        assert malformed.msg not in said
        line, column, _ = said.split(":", 2)
        assert 1 <= int(line) <= text.count("\n") + 1
        assert 1 <= int(column) <= len(text.split("\n")[int(line) - 1]) + 1
