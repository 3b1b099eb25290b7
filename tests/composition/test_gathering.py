"""The files of a composition: what they include, and the layers that they are of."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from router.composition.rejected import Rejected
from router.home import Home
from router.reading import COMMAND_LINE, gather, layers, user_file, workspace_file
from router.workspace import trust, untrust


def write(path: Path, **fields: object) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({"version": 4, **fields}))
    return path


def names(path: Path) -> list[str]:
    """The files that apply, the first first, beside the one that names them."""
    return [source.path.name for source in gather(path, COMMAND_LINE)]


def problems(path: Path) -> list[str]:
    with pytest.raises(Rejected) as rejected:
        gather(path, COMMAND_LINE)
    return [str(problem) for problem in rejected.value.problems]


# --- includes ---


def test_what_a_file_includes_applies_before_it_in_order(tmp_path: Path) -> None:
    write(tmp_path / "team" / "base.json")
    write(tmp_path / "team" / "tools.json", include=["./base.json"])
    write(tmp_path / "own.json")
    top = write(tmp_path / "top.json", include=["./team/tools.json", "./own.json"])
    assert names(top) == ["base.json", "tools.json", "own.json", "top.json"]


def test_a_file_that_is_included_twice_applies_once_where_it_came_first(tmp_path: Path) -> None:
    write(tmp_path / "base.json")
    write(tmp_path / "a.json", include=["./base.json"])
    write(tmp_path / "b.json", include=["./base.json"])
    top = write(tmp_path / "top.json", include=["a.json", "b.json", "./sub/../base.json"])
    assert names(top) == ["base.json", "a.json", "b.json", "top.json"]


def test_includes_that_lead_back_are_shown_as_the_whole_ring(tmp_path: Path) -> None:
    a, b, c = (tmp_path / f"{each}.json" for each in "abc")
    write(a, include=["./b.json"])
    write(b, include=["./c.json"])
    write(c, include=["./b.json"])
    ring = f"{b} → {c} → {b}"
    assert problems(a) == [f"{c}:1: /include/0: the includes lead back to where they began: {ring}"]


def test_an_include_that_cannot_be_read_says_where_it_is_asked_for(tmp_path: Path) -> None:
    (tmp_path / "dir").mkdir()
    top = write(tmp_path / "top.json", include=["./nowhere.json", "./dir"])
    assert problems(top) == [
        f"{top}:1: /include/0: {tmp_path}/nowhere.json cannot be read: No such file or directory",
        f"{top}:1: /include/1: {tmp_path}/dir cannot be read: Is a directory",
    ]


def test_a_pipe_is_not_included(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    top = write(tmp_path / "top.json", include=["./pipe"])
    assert problems(top) == [f"{top}:1: /include/0: {tmp_path}/pipe cannot be read: it is not a plain file"]


def test_a_file_that_is_no_document_is_told_with_the_problems_of_the_others(tmp_path: Path) -> None:
    bad = tmp_path / "bad.json"
    bad.write_text("{")
    top = write(tmp_path / "top.json", include=["./bad.json"], profile="x")
    sources = gather(top, COMMAND_LINE)
    assert [source.path for source in sources][-1] == top
    top.write_text(json.dumps({"version": 4, "include": ["./bad.json"]}))
    assert names(top) == ["bad.json", "top.json"]


# --- layers ---


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Home:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    home = Home.at(tmp_path / "home")
    home.make()
    return home


def test_the_layers_are_the_user_s_the_workspace_s_and_the_command_line_s(home: Home, tmp_path: Path) -> None:
    workspace = tmp_path / "workspace"
    write(user_file(), include=["./more.json"])
    write(user_file().with_name("more.json"))
    shared = write(workspace_file(workspace))
    given = write(tmp_path / "given.json")
    trust(home, shared, [shared.read_bytes()])
    found = layers(home, given, workspace)
    assert [(source.layer, source.path.name) for source in found.sources] == [
        ("user", "more.json"),
        ("user", "composition.json"),
        ("workspace", "composition.json"),
        ("command line", "given.json"),
    ]
    assert found.untrusted == ()
    assert found.composition.given == given


def test_a_workspace_s_file_is_ignored_until_it_is_trusted_as_it_is(home: Home, tmp_path: Path) -> None:
    workspace = tmp_path / "workspace"
    shared = write(workspace_file(workspace), include=["./more.json"])
    more = write(shared.with_name("more.json"))

    def applies() -> bool:
        found = layers(home, None, workspace)
        assert bool(found.sources) != bool(found.untrusted)
        return bool(found.sources)

    assert not applies()
    trust(home, shared, [more.read_bytes(), shared.read_bytes()])
    assert applies()
    write(more, profile="desktop")
    assert not applies()
    write(more)
    assert applies()
    assert untrust(home, shared)
    assert not applies()
    assert not untrust(home, shared)


def test_without_files_there_is_the_product_alone(home: Home, tmp_path: Path) -> None:
    found = layers(home, None, tmp_path)
    assert found.sources == ()
    assert list(found.composition.composed().modules) == ["wuu.state.sqlite"]
    assert layers(home, None, None) == found
