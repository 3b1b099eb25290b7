"""Where packages are found, and what is said of those that cannot be used."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from router.composition.document import Document, parse_document
from router.composition.rejected import Rejected
from router.packages import directories_of, discover, discovery, first_party_directory
from tests.packages.making import write


def document(directory: Path, *patterns: str) -> Document:
    text = json.dumps({"version": 4, "packages": patterns})
    return parse_document(text.encode(), name=str(directory / "mesh.json"))


def test_a_directory_with_a_manifest_is_a_package(tmp_path: Path) -> None:
    root = write(tmp_path / "notes")
    write(root / "inner", id="inner")
    found = discover([root])
    assert {module: package.root for module, package in found.packages.items()} == {"example.notes": root}
    assert found.problems == ()


def test_any_other_directory_holds_packages_as_its_children(tmp_path: Path) -> None:
    write(tmp_path / "one", id="one")
    write(tmp_path / "two", id="two")
    write(tmp_path / "deep" / "three", id="three")
    (tmp_path / "file").write_text("")
    assert set(discover([tmp_path]).packages) == {"one", "two"}


def test_two_packages_with_one_id_are_a_problem_that_names_both(tmp_path: Path) -> None:
    first, second = write(tmp_path / "a" / "first", id="same"), write(tmp_path / "b" / "second", id="same")
    write(tmp_path / "b" / "other", id="other")
    found = discover([first.parent, second.parent])
    assert set(found.packages) == {"other"}
    (problem,) = found.problems
    assert str(problem) == (
        f"{first}: plugin.json: /id: 'same' is also the id of {second}; change an id, or take one of them out"
    )
    assert found.broken == {"same": problem}


def test_a_package_found_twice_is_one(tmp_path: Path) -> None:
    root = write(tmp_path / "real" / "notes")
    (tmp_path / "link").symlink_to(root)
    found = discover([root, root.parent, tmp_path / "link", tmp_path])
    assert found.packages["example.notes"].root == root
    assert found.problems == ()


def test_a_broken_package_hides_no_other_and_is_remembered(tmp_path: Path) -> None:
    write(tmp_path / "good", id="good")
    write(tmp_path / "bad", id="bad.version", version="1")
    (tmp_path / "unreadable").mkdir()
    (tmp_path / "unreadable" / "plugin.json").write_text("{")
    found = discover([tmp_path])
    assert set(found.packages) == {"good"}
    assert set(found.broken) == {"bad.version", "unreadable"}
    assert "/version: '1' is not a SemVer version" in str(found.broken["bad.version"])


def test_a_broken_package_does_not_stand_for_a_usable_one(tmp_path: Path) -> None:
    write(tmp_path / "good", id="same")
    write(tmp_path / "bad", id="same", version="1")
    found = discover([tmp_path])
    assert set(found.packages) == {"same"}
    assert len(found.problems) == 1
    assert found.broken == {}


def test_a_package_without_a_process_offers_no_module_and_says_so(tmp_path: Path) -> None:
    root = write(tmp_path / "themes", id="themes", runtime=None)
    write(tmp_path / "notes", id="notes")
    found = discover([tmp_path])
    assert set(found.packages) == {"notes"}
    assert set(found.declarative) == {"themes"}
    assert found.problems == ()
    why = "plugin.json: /runtime: is missing, so that the package offers no module; take it out of `modules`"
    assert (found.broken["themes"].root, found.broken["themes"].message) == (root, why)
    assert (found.offered["themes"].unavailable, found.offered["themes"].unavailable_code) == (
        why,
        "invalid_request",
    )


def test_a_package_that_got_or_lost_its_process_is_read_again_as_what_it_is(tmp_path: Path) -> None:
    write(tmp_path / "notes", id="notes")
    found = discover([tmp_path])
    write(tmp_path / "notes", id="notes", runtime=None)
    again = found.again(["notes"])
    assert (set(again.packages), set(again.declarative)) == (set(), {"notes"})


def test_the_first_party_directory_is_searched_two_levels_deep(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(discovery, "first_party_directory", lambda: tmp_path)
    write(tmp_path / "policy", id="policy")
    write(tmp_path / "state" / "sqlite", id="sqlite")
    write(tmp_path / "too" / "deep" / "down", id="down")
    assert set(discover([tmp_path]).packages) == {"policy", "sqlite"}


def test_a_directory_that_does_not_exist_holds_nothing(tmp_path: Path) -> None:
    assert discover([tmp_path / "gone"]).packages == {}


def test_the_first_party_directory_is_beside_the_router() -> None:
    assert first_party_directory() == Path(discovery.__file__).resolve().parents[2] / "providers"


def test_packages_are_directories_and_globs_relative_to_the_document(tmp_path: Path) -> None:
    one, two = write(tmp_path / "plugins" / "one"), write(tmp_path / "plugins" / "two")
    (tmp_path / "plugins" / "README").write_text("")
    (tmp_path / "base").mkdir()
    found = directories_of(
        document(tmp_path / "base", "../plugins/*", str(tmp_path / "plugins"), ".").packages
    )
    assert [path.resolve() for path in found] == [one, two, tmp_path / "plugins", tmp_path / "base"]


def test_a_pattern_that_matches_nothing_is_a_problem_with_its_pointer(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(Rejected) as rejected:
        directories_of(document(tmp_path, ".", "./plugins/*", "file", "a\0b").packages)
    why = f"matches no directory; it is relative to {tmp_path}"
    assert [str(problem) for problem in rejected.value.problems] == [
        f"{tmp_path}/mesh.json:1: /packages/1: './plugins/*' {why}",
        f"{tmp_path}/mesh.json:1: /packages/2: 'file' {why}",
        f"{tmp_path}/mesh.json:1: /packages/3: 'a\0b' {why}",
    ]
