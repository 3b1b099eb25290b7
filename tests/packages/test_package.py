"""A package's fingerprint and command."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from router.packages import BadPackage, Package, read_manifest
from tests.packages.making import RUNTIME, write


def package(root: Path, command: str = "node", **runtime: object) -> Package:
    write(root, runtime=RUNTIME | {"command": command} | runtime)
    return Package(root, read_manifest(root))


def test_equal_files_have_equal_fingerprints_wherever_they_are(tmp_path: Path) -> None:
    for root in (tmp_path / "here", tmp_path / "there"):
        package(root)
        (root / "dist").mkdir()
        (root / "dist" / "runtime.js").write_text("1")
    here, there = package(tmp_path / "here"), package(tmp_path / "there")
    assert here.fingerprint == there.fingerprint
    assert len(here.fingerprint) == 64


def test_any_change_of_a_byte_a_name_or_an_executable_bit_changes_the_fingerprint(tmp_path: Path) -> None:
    seen = [package(tmp_path).fingerprint]
    (tmp_path / "a").write_bytes(b"xy")
    seen.append(package(tmp_path).fingerprint)
    (tmp_path / "a").write_bytes(b"xz")
    seen.append(package(tmp_path).fingerprint)
    (tmp_path / "a").rename(tmp_path / "b")
    seen.append(package(tmp_path).fingerprint)
    (tmp_path / "b").write_bytes(b"")
    seen.append(package(tmp_path).fingerprint)
    (tmp_path / "b").chmod(0o755)
    seen.append(package(tmp_path).fingerprint)
    (tmp_path / "b").rename(tmp_path / ".b")
    seen.append(package(tmp_path).fingerprint)
    assert len(set(seen)) == len(seen)


def test_the_fingerprint_leaves_out_what_tools_put_beside_the_package(tmp_path: Path) -> None:
    before = package(tmp_path).fingerprint
    for name in (".git", "node_modules", "__pycache__", "src/__pycache__"):
        (tmp_path / name).mkdir(parents=True)
        (tmp_path / name / "x").write_text("x")
    (tmp_path / "node_modules" / "link").symlink_to("/")
    assert package(tmp_path).fingerprint == before


def test_what_others_may_do_with_a_file_is_not_in_the_fingerprint(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("x")
    (tmp_path / "a").chmod(0o644)
    before = package(tmp_path).fingerprint
    (tmp_path / "a").chmod(0o400)
    assert package(tmp_path).fingerprint == before


def test_the_fingerprint_is_that_of_the_first_look(tmp_path: Path) -> None:
    once = package(tmp_path)
    before = once.fingerprint
    (tmp_path / "a").write_text("x")
    assert once.fingerprint == before
    assert package(tmp_path).fingerprint != before


def refused(broken: Package) -> str:
    with pytest.raises(BadPackage) as bad:
        _ = broken.fingerprint
    assert bad.value.module == "example.notes"
    return bad.value.message


def test_a_symbolic_link_has_no_fingerprint(tmp_path: Path) -> None:
    linked = package(tmp_path / "p")
    (tmp_path / "p" / "src").mkdir()
    (tmp_path / "p" / "src" / "link").symlink_to(tmp_path)
    assert refused(linked) == "src/link: is a symbolic link; a package has plain files only"


def test_a_special_file_has_no_fingerprint(tmp_path: Path) -> None:
    special = package(tmp_path)
    os.mkfifo(tmp_path / "pipe")
    assert refused(special) == "pipe: is not a plain file; take it out of the package"


def test_a_package_without_a_process_has_nothing_to_run(tmp_path: Path) -> None:
    declarative = Package(tmp_path, read_manifest(write(tmp_path, runtime=None)))
    with pytest.raises(BadPackage, match="/runtime: is missing, so that the package offers no module"):
        declarative.argv()


def executable(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("#!/bin/sh\n")
    path.chmod(0o755)
    return path


def test_a_bare_name_is_looked_up_on_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = executable(tmp_path / "bin" / "some-tool")
    monkeypatch.setenv("PATH", str(found.parent))
    assert package(tmp_path / "p", "some-tool", args=["a", "b"]).argv() == (str(found), "a", "b")


def test_the_interpreter_of_the_mesh_comes_before_any_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(executable(tmp_path / "bin" / "python3").parent))
    (command,) = package(tmp_path / "p", "python3").argv()
    assert os.path.dirname(command) == os.path.dirname(sys.executable)


def test_a_path_is_within_the_package(tmp_path: Path) -> None:
    root = tmp_path / "p"
    run = executable(root / "bin" / "run")
    assert package(root, "./bin/run").argv() == (str(run),)


def test_an_absolute_path_stands_as_it_is(tmp_path: Path) -> None:
    tool = executable(tmp_path / "tool")
    assert package(tmp_path / "p", str(tool)).argv() == (str(tool),)


def test_a_command_that_cannot_be_run_says_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = tmp_path / "p"

    def why(command: str) -> str:
        with pytest.raises(BadPackage) as bad:
            package(root, command).argv()
        return bad.value.message.removeprefix("plugin.json: /runtime/command: ")

    monkeypatch.setenv("PATH", "")
    assert why("some-tool") == "'some-tool' is not on PATH; install it, or name another"
    assert why("./run") == f"{root / 'run'} is not a file; build the package, or correct the path"
    (root / "run").write_text("")
    assert why("./run") == f"{root / 'run'} is not executable; run chmod +x on it"
    (root / "link").symlink_to(executable(tmp_path / "outside"))
    assert why("./link") == "'./link' leads out of the package; write a path within it"
