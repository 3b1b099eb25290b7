"""Relations between packages, and the ranges of versions that they are bound to."""

from __future__ import annotations

from pathlib import Path

import pytest
import semver
from hypothesis import given
from hypothesis import strategies as st

from router.packages import read_manifest
from router.packages.relation import Relation, admits, check_range, relations, unmet
from tests.packages.making import write

# What npm says of its ranges, one row each: the range, what it admits, what it does not.
NPM = [
    ("1.2.3", ["1.2.3", "1.2.3+build"], ["1.2.4", "1.2.3-rc.1", "2.0.0"]),
    ("=1.2.3", ["1.2.3"], ["1.2.2", "1.2.4"]),
    (">1.2.3", ["1.2.4", "2.0.0"], ["1.2.3", "1.3.0-rc.1"]),
    (">=1.2.7", ["1.2.7", "1.2.8", "2.5.3", "1.3.9"], ["1.2.6", "1.1.0"]),
    ("<2.0.0", ["1.9.9", "0.0.0"], ["2.0.0", "2.0.0-rc.1"]),
    ("<=2.0.0", ["2.0.0"], ["2.0.1", "2.0.0-rc.1"]),
    (">=1.2.7 <1.3.0", ["1.2.7", "1.2.8", "1.2.99"], ["1.2.6", "1.3.0", "1.1.0"]),
    (">=1.2.0 <2.0.0", ["1.2.0", "1.99.0"], ["2.0.0", "2.0.0-rc.1", "1.1.9"]),
    ("1.2.7 || >=1.2.9 <2.0.0", ["1.2.7", "1.2.9", "1.4.6"], ["1.2.8", "2.0.0"]),
    ("1.2.3 - 2.3.4", ["1.2.3", "2.3.4"], ["1.2.2", "2.3.5"]),
    ("1.2 - 2.3.4", ["1.2.0"], ["1.1.9"]),
    ("1.2.3 - 2.3", ["2.3.99"], ["2.4.0"]),
    ("1.2.3 - 2", ["2.99.0"], ["3.0.0", "3.0.0-rc.1"]),
    ("*", ["0.0.0", "9.9.9"], ["1.0.0-rc.1"]),
    ("1.x", ["1.0.0", "1.99.0"], ["2.0.0"]),
    ("1.2.x", ["1.2.0", "1.2.99"], ["1.3.0"]),
    ("1", ["1.0.0", "1.9.9"], ["2.0.0", "0.9.9"]),
    ("~1.2.3", ["1.2.3", "1.2.99"], ["1.3.0", "1.2.2"]),
    ("~1.2", ["1.2.0", "1.2.99"], ["1.3.0"]),
    ("~1", ["1.0.0", "1.99.0"], ["2.0.0"]),
    ("~0.2.3", ["0.2.3", "0.2.9"], ["0.3.0"]),
    ("~1.2.3-beta.2", ["1.2.3-beta.2", "1.2.3-beta.4", "1.2.3", "1.2.4"], ["1.2.4-beta.2", "1.2.3-beta.1"]),
    ("^1.2.3", ["1.2.3", "1.99.0"], ["2.0.0", "2.0.0-rc.1", "1.2.2", "1.3.0-rc.1"]),
    ("^0.2.3", ["0.2.3", "0.2.9"], ["0.3.0"]),
    ("^0.0.3", ["0.0.3"], ["0.0.4"]),
    ("^1.2.3-beta.2", ["1.2.3-beta.2", "1.2.3-beta.11", "1.2.3", "1.9.0"], ["1.2.4-beta.2", "1.2.3-beta.1"]),
    ("^0.0.3-beta", ["0.0.3-beta", "0.0.3-pr.2", "0.0.3"], ["0.0.4", "0.0.3-alpha"]),
    ("^1.2.x", ["1.2.0", "1.9.0"], ["2.0.0"]),
    ("^0.0", ["0.0.9"], ["0.1.0"]),
    ("^0.x", ["0.9.0"], ["1.0.0"]),
    (">1.2.3-alpha.3", ["1.2.3-alpha.7", "1.2.3", "3.4.5"], ["3.4.5-alpha.9", "1.2.3-alpha.3"]),
    (">1.2.3-alpha.3 <1.5.0-beta", ["1.2.3-alpha.7", "1.5.0-alpha", "1.4.0"], ["1.4.0-alpha", "1.5.0"]),
    ("<=1.2.3-beta", ["1.2.3-beta", "1.2.3-alpha", "1.2.2"], ["1.2.3", "1.2.3-rc.1", "1.2.2-alpha"]),
    ("1.2.3-rc.1", ["1.2.3-rc.1"], ["1.2.3", "1.2.3-rc.2"]),
    (">= 1.2.3", ["1.2.3"], ["1.2.2"]),
]

NUMBER = st.integers(0, 30)
RELEASE = st.tuples(NUMBER, NUMBER, NUMBER)
PRERELEASE = st.sampled_from(["alpha", "alpha.1", "beta.2", "rc.1", "0"])


def text(release: tuple[int, int, int]) -> str:
    return ".".join(map(str, release))


@pytest.mark.parametrize(("range", "within", "without"), NPM)
def test_a_range_means_what_npm_says(range: str, within: list[str], without: list[str]) -> None:  # noqa: A002
    assert check_range(range) == ""
    assert [version for version in within if not admits(range, version)] == []
    assert [version for version in without if admits(range, version)] == []


@pytest.mark.parametrize(
    "range", ["latest", "^a", "1.2.3.4", "file:../x", ">>1.0.0", "1..2", "01.0.0", "!1.0.0"]
)
def test_what_is_no_range_is_refused(range: str) -> None:  # noqa: A002
    assert check_range(range) == f"'{range}' is not a range of SemVer versions"
    with pytest.raises(ValueError, match="is not a range"):
        admits(range, "1.0.0")


def test_a_range_without_bounds_is_refused() -> None:
    assert check_range("1.0.0 || " * 40) == "has more than 256 characters"
    assert check_range("^9999999999999999.0.0").endswith("has a number of more than 15 digits")


def test_without_a_range_every_version_will_do() -> None:
    assert admits("", "0.0.1")
    assert admits("", "1.0.0-rc.1")
    assert not admits("*", "1.0.0-rc.1")


@given(RELEASE, RELEASE)
def test_a_caret_keeps_the_leftmost_number_that_is_not_zero(
    base: tuple[int, int, int], release: tuple[int, int, int]
) -> None:
    fixed = next((place for place, number in enumerate(base) if number), 2)
    within = release >= base and release[: fixed + 1] == base[: fixed + 1]
    assert admits(f"^{text(base)}", text(release)) == within


@given(RELEASE, RELEASE)
def test_a_tilde_keeps_the_minor_number(base: tuple[int, int, int], release: tuple[int, int, int]) -> None:
    assert admits(f"~{text(base)}", text(release)) == (release >= base and release[:2] == base[:2])


@given(st.sampled_from(["<", "<=", ">", ">=", "="]), RELEASE, PRERELEASE, RELEASE, PRERELEASE)
def test_a_prerelease_is_admitted_only_beside_one_of_its_own_version(
    operator: str,
    bound: tuple[int, int, int],
    bound_pre: str,
    release: tuple[int, int, int],
    pre: str,
) -> None:
    assert not admits(f"{operator}{text(bound)}", f"{text(release)}-{pre}")
    compared = semver.Version.parse(f"{text(release)}-{pre}").compare(f"{text(bound)}-{bound_pre}")
    holds = {
        "<": compared < 0,
        "<=": compared <= 0,
        ">": compared > 0,
        ">=": compared >= 0,
        "=": compared == 0,
    }
    admitted = admits(f"{operator}{text(bound)}-{bound_pre}", f"{text(release)}-{pre}")
    assert admitted == (holds[operator] and bound == release)


@given(st.text(max_size=40))
def test_any_text_is_a_range_or_is_told_why_not(range: str) -> None:  # noqa: A002
    why = check_range(range)
    if why:
        assert "range" in why or "digits" in why
    else:
        assert isinstance(admits(range, "1.0.0"), bool)


def test_requires_and_dependencies_are_one(tmp_path: Path) -> None:
    dependencies = [
        {"id": "text", "version": "^1.0.0"},
        {"id": "draft", "version": ">=1.2.0 <2.0.0", "optional": True},
        {"id": "any"},
    ]
    manifest = read_manifest(write(tmp_path, requires=["old", "text"], dependencies=dependencies))
    assert relations(manifest) == (
        Relation("old", "", False),
        Relation("text", "^1.0.0", False),
        Relation("draft", ">=1.2.0 <2.0.0", True),
        Relation("any", "", False),
    )


def test_what_is_unmet_says_why() -> None:
    relation = Relation("text", "^1.0.0", False)
    assert unmet(relation, {}) == "text is not there"
    assert (
        unmet(relation, {"text": "2.0.0"}) == "text is there in version 2.0.0, which '^1.0.0' does not admit"
    )
    assert unmet(relation, {"text": "1.4.0"}) == ""
