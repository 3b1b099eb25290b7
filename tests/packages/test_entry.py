"""Names within a package."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from router.packages.entry import folded, problem_of_name, problem_of_names

PART = st.text(
    st.characters(exclude_categories=("Cs", "Cc"), exclude_characters="/\\:"), min_size=1, max_size=20
)


def files(*names: str) -> tuple[str, str] | None:
    return problem_of_names((name, False) for name in names)


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("/etc/passwd", "is absolute"),
        ("C:/x", "is absolute"),
        ("c:x", "is absolute"),
        ("../x", "has an empty part, . or .."),
        ("a/../../x", "has an empty part, . or .."),
        ("a/./x", "has an empty part, . or .."),
        ("a//x", "has an empty part, . or .."),
        ("", "has an empty part, . or .."),
        ("a\\..\\x", "has a backslash"),
        ("a\0b", "has a control character"),
        ("a\nb", "has a control character"),
        ("\udcff", "is not UTF-8"),
        ("a/" * 600 + "a", "is longer than"),
        ("a/" * 64 + "a", "is longer than"),
        ("ä" * 128, "is longer than"),
    ],
)
def test_a_name_that_leads_out_or_nowhere_is_refused(name: str, why: str) -> None:
    assert problem_of_name(name).startswith(why)


@pytest.mark.parametrize("name", ["plugin.json", "a/b.c", "..a", "a..", ".git", "ä/日本", "a b", "con"])
def test_a_plain_name_stands(name: str) -> None:
    assert problem_of_name(name) == ""


def test_names_that_some_file_system_takes_for_one_collide() -> None:
    same = "is the same as {} where case or Unicode forms do not count"
    assert files("a", "A") == ("A", same.format("a"))
    assert files("src/x", "SRC/y") == ("SRC/y", same.format("src"))
    assert files("straße", "STRASSE") == ("STRASSE", same.format("straße"))
    assert files("\u00e4", "a\u0308") == ("a\u0308", same.format("\u00e4"))
    assert files("a", "a") == ("a", "is there twice")
    assert files("a", "a/b") == ("a/b", "is a file and a directory")
    assert files("a/b", "a") == ("a", "is a file and a directory")
    assert problem_of_names([("a", True), ("a/b", False), ("A", True)]) == ("A", same.format("a"))
    assert files("a/b", "a/c", "b/b") is None


@given(PART, PART)
def test_two_names_collide_exactly_where_they_fold_to_one(one: str, other: str) -> None:
    if problem_of_name(one) or problem_of_name(other):
        return
    assert (files(one, other) is None) == (folded(one) != folded(other))


@given(PART)
def test_another_form_of_a_name_is_the_same(name: str) -> None:
    for form in (unicodedata.normalize("NFC", name), unicodedata.normalize("NFD", name)):
        assert folded(form) == folded(name)


@given(st.lists(PART, min_size=1, max_size=5))
def test_what_stands_never_leads_out(parts: list[str]) -> None:
    name = "/".join(parts)
    if problem_of_name(name) == "":
        assert ".." not in name.split("/")
        assert not name.startswith("/")
