"""Installing, updating and removing, with everything that may go wrong on the way."""

from __future__ import annotations

import os
import stat
from dataclasses import replace
from pathlib import Path

import pytest

from contract.errors import MeshError
from router.home import Home
from router.packages import BadPackage, Package, read_manifest, snapshot
from router.packages.installation import inspect, install, remove, tidy
from router.packages.ledger import Ledger
from router.packages.snapshot import prune
from router.packages.source import Source
from router.packages.trust import untrust_module
from tests.packages.installing import mesh_of, put, quiet, renew, snapshots, whole
from tests.packages.making import write
from tests.packages.zipping import pack


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home.at(tmp_path / "home")


def refused(call: object) -> str:
    assert callable(call)
    with pytest.raises(MeshError) as error:
        call()
    assert error.value.code == "invalid_request"
    assert error.value.remedy
    return error.value.message


def test_what_is_installed_is_a_copy_that_nobody_changes(home: Home, tmp_path: Path) -> None:
    root = write(tmp_path / "notes")
    (root / "bin").mkdir()
    (root / "bin" / "run").write_text("1")
    (root / "bin" / "run").chmod(0o775)
    (root / "node_modules").mkdir()
    (root / "node_modules" / "x").write_text("1")
    changed = put(home, root)
    (root / "bin" / "run").write_text("2")
    made = changed.row.root
    assert (made / "bin" / "run").read_text() == "1"
    modes = {str(path.relative_to(made)): stat.S_IMODE(path.stat().st_mode) for path in made.rglob("*")}
    assert modes == {"plugin.json": 0o444, "bin": 0o555, "bin/run": 0o555}
    assert stat.S_IMODE(made.stat().st_mode) == 0o555
    assert whole(home)


def test_a_directory_and_its_archive_are_the_same_package(home: Home, tmp_path: Path) -> None:
    first = put(home, pack(tmp_path / "p.zip", ("x", "1")))
    root = write(tmp_path / "notes")
    (root / "x").write_text("1")
    assert inspect(home, Source.at(root), quiet).fingerprint == first.row.fingerprint
    assert first.row.source == f"zip:{tmp_path / 'p.zip'}"


def test_inspecting_leaves_the_home_as_it_is(home: Home, tmp_path: Path) -> None:
    inspection = inspect(home, Source.at(write(tmp_path / "notes", requires=["text"])), quiet)
    assert inspection.problems == ("it needs another package: text is not there",)
    assert (inspection.files, inspection.size) == (1, (tmp_path / "notes" / "plugin.json").stat().st_size)
    assert not home.root.exists()


def test_the_integrity_that_inspect_shows_is_held_to(home: Home, tmp_path: Path) -> None:
    root = write(tmp_path / "notes")
    shown = f"sha256:{inspect(home, Source.at(root), quiet).fingerprint}"
    write(root, description="another")
    assert "and not sha256:" in refused(lambda: put(home, root, shown))
    assert whole(home)
    assert not Ledger.read(home).rows
    write(root)
    put(home, root, shown)


def test_a_second_install_is_an_update(home: Home, tmp_path: Path) -> None:
    root = write(tmp_path / "notes")
    put(home, root)
    assert refused(lambda: put(home, root)) == "example.notes is installed already, in version 0.1.0"


@pytest.mark.parametrize(
    ("fields", "why"),
    [
        ({"minimum_wuu_version": "2999.1.0"}, "example.notes cannot run here: it needs Wuu 2999.1.0"),
        ({"platforms": ["plan9"]}, "example.notes cannot run here: it is for plan9"),
        ({"id": "wuu.state.sqlite"}, "the product has a package wuu.state.sqlite"),
        ({"requires": ["text"]}, "example.notes needs other packages: text is not there"),
    ],
)
def test_what_could_not_run_is_not_installed(
    home: Home, tmp_path: Path, fields: dict[str, object], why: str
) -> None:
    assert refused(lambda: put(home, write(tmp_path / "notes", **fields))).startswith(why)
    assert whole(home)


def test_a_required_dependency_is_there_enabled_trusted_and_in_the_range(home: Home, tmp_path: Path) -> None:
    text = write(tmp_path / "text", id="text", version="2.0.0")
    needs = [{"id": "text", "version": "^1.0.0"}, {"id": "draft", "optional": True}]
    notes = write(tmp_path / "notes", dependencies=needs)
    put(home, text)
    assert "in version 2.0.0, which '^1.0.0' does not admit" in refused(lambda: put(home, notes))
    renew(home, write(text, id="text", version="1.5.0"), "text")
    untrust_module(home, "text")
    assert "text may not run: it is installed and not trusted" in refused(lambda: put(home, notes))
    renew(home, text, "text", trust=True)
    ledger = Ledger.read(home)
    replace(ledger, rows=tuple(replace(row, enabled=False) for row in ledger.rows)).write()
    assert "text is disabled" in refused(lambda: put(home, notes))
    replace(ledger, rows=tuple(replace(row, enabled=True) for row in ledger.rows)).write()
    assert put(home, notes).trusted


def test_an_update_that_would_break_a_consumer_is_refused(home: Home, tmp_path: Path) -> None:
    text = write(tmp_path / "text", id="text", version="1.0.0")
    put(home, text)
    put(home, write(tmp_path / "notes", dependencies=[{"id": "text", "version": "^1.0.0"}]))
    write(text, id="text", version="2.0.0")
    why = refused(lambda: renew(home, text, "text"))
    assert why == "version 2.0.0 would break what needs it: example.notes needs text in '^1.0.0'"
    assert Ledger.read(home).installed["text"].version == "1.0.0"
    write(text, id="text", version="1.1.0")
    assert renew(home, text, "text").row.version == "1.1.0"
    assert remove(home, "text", waiting=lambda: None).notes == ("example.notes needs it",)


def test_enemies_are_told_and_nothing_is_done_to_them(home: Home, tmp_path: Path) -> None:
    put(home, write(tmp_path / "text", id="text", conflicts=["other"]))
    notes = put(home, write(tmp_path / "notes", breaks=["text"])).notes
    assert notes == ("it cannot run beside text, which is there; a composition can have one of them",)
    assert put(home, write(tmp_path / "other", id="other")).notes == (
        "it conflicts with text, which is there; nothing is disabled for that",
    )


def test_an_update_from_the_same_source_keeps_trust_and_whether_it_is_enabled(
    home: Home, tmp_path: Path
) -> None:
    root = write(tmp_path / "notes")
    put(home, root)
    ledger = Ledger.read(home)
    replace(ledger, rows=tuple(replace(row, enabled=False) for row in ledger.rows)).write()
    changed = renew(home, write(root, version="0.2.0"))
    assert (changed.trusted, changed.row.enabled, changed.row.version) == (True, False, "0.2.0")
    untrust_module(home, "example.notes")
    assert not renew(home, write(root, version="0.3.0")).trusted
    assert renew(home, write(root, version="0.4.0"), trust=True).trusted
    assert len(Ledger.read(home).trusted) == 1
    assert whole(home)


def test_an_update_from_another_source_is_the_operator_s_decision(home: Home, tmp_path: Path) -> None:
    root = write(tmp_path / "notes")
    put(home, root)
    other = write(tmp_path / "other", version="0.2.0")
    why = refused(lambda: renew(home, other))
    assert why == f"example.notes was installed from directory:{root} and this is directory:{other}"
    assert Ledger.read(home).installed["example.notes"].version == "0.1.0"
    assert renew(home, other, trust=True).row.source == f"directory:{other}"
    assert refused(lambda: renew(home, root)).startswith("example.notes was installed from")


def test_an_update_is_of_the_package_that_was_named(home: Home, tmp_path: Path) -> None:
    put(home, write(tmp_path / "notes"))
    other = write(tmp_path / "other", id="other")
    assert "is the package other and not" in refused(lambda: renew(home, other, trust=True))
    assert refused(lambda: renew(home, other, "gone")) == "gone is not installed"
    assert refused(lambda: remove(home, "gone", waiting=lambda: None)) == "gone is not installed"


def test_an_update_puts_right_what_was_changed_outside_of_it(home: Home, tmp_path: Path) -> None:
    root = write(tmp_path / "notes")
    made = put(home, root).row.root
    made.chmod(0o755)
    (made / "x").write_text("")
    renew(home, root)
    assert whole(home)
    assert not (made / "x").exists()


def test_a_directory_that_changes_while_it_is_copied_is_refused(home: Home, tmp_path: Path) -> None:
    root = write(tmp_path / "notes")
    (root / "z").write_text("1")

    def told(done: int, expected: int) -> None:
        (root / "z").write_text("2")

    with pytest.raises(MeshError, match="changed while it was copied"):
        install(home, Source.at(root), told=told, waiting=lambda: None)
    assert whole(home)
    assert not snapshots(home)


def test_a_file_that_becomes_a_link_while_it_is_copied_is_refused(home: Home, tmp_path: Path) -> None:
    root = write(tmp_path / "notes")
    (root / "z").write_text("1")
    (tmp_path / "secret").write_text("1")

    def told(done: int, expected: int) -> None:
        (root / "z").unlink()
        (root / "z").symlink_to(tmp_path / "secret")

    with pytest.raises(BadPackage, match="z: cannot be read: Too many levels of symbolic links"):
        install(home, Source.at(root), told=told, waiting=lambda: None)
    assert whole(home)


@pytest.mark.parametrize("name", ["a\\b", "new\nline"])
def test_a_name_that_no_archive_may_have_is_refused_in_a_directory_too(
    home: Home, tmp_path: Path, name: str
) -> None:
    root = write(tmp_path / "notes")
    (root / name).write_text("")
    with pytest.raises(BadPackage):
        put(home, root)


def test_a_directory_has_the_bounds_of_a_package(
    home: Home, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = write(tmp_path / "notes")
    (root / "a").write_bytes(b"x" * 2000)
    (root / "A").write_bytes(b"x")
    with pytest.raises(BadPackage, match="case or Unicode"):
        put(home, root)
    (root / "A").unlink()
    monkeypatch.setattr(snapshot, "SIZE_LIMIT", 1000)
    with pytest.raises(BadPackage, match="the package has more than 0 MiB"):
        put(home, root)
    monkeypatch.setattr(snapshot, "ENTRY_LIMIT", 1)
    with pytest.raises(BadPackage, match="the package has more than 1 files"):
        put(home, root)
    assert whole(home)


def test_a_file_that_grows_while_it_is_copied_ends_at_the_bound(
    home: Home, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = write(tmp_path / "notes")
    (root / "z").write_bytes(b"x" * 1000)
    monkeypatch.setattr(snapshot, "SIZE_LIMIT", 10_000)

    def told(done: int, expected: int) -> None:
        (root / "z").write_bytes(b"x" * 20_000)

    with pytest.raises(BadPackage, match="z: the package has more than"):
        install(home, Source.at(root), told=told, waiting=lambda: None)
    assert whole(home)


def test_a_tree_of_any_depth_is_told_and_not_followed_without_end(home: Home, tmp_path: Path) -> None:
    root = write(tmp_path / "notes")
    deep = root
    for _ in range(300):
        deep /= "d"
    deep.mkdir(parents=True)
    (deep / "x").write_text("")
    with pytest.raises(BadPackage, match="is longer than 1024 bytes, 64 parts"):
        put(home, root)


def test_prune_keeps_what_the_ledger_names_and_what_is_used(home: Home, tmp_path: Path) -> None:
    root = write(tmp_path / "notes")
    first = put(home, root).row.root
    with mesh_of(home):
        second = renew(home, write(root, version="0.2.0")).row.root
        third = renew(home, write(root, version="0.3.0")).row.root
        assert snapshots(home) == {first, second, third}
    prune(home, [first])
    assert snapshots(home) == {first, third}
    prune(home, [])
    assert snapshots(home) == {third}
    assert Package(third, read_manifest(third)).fingerprint == Ledger.read(home).rows[0].fingerprint


def test_what_others_have_put_among_the_snapshots_is_not_removed(home: Home, tmp_path: Path) -> None:
    kept = put(home, write(tmp_path / "notes")).row.root
    placed = write(home.packages / "placed", id="placed")
    (placed / "src").mkdir()
    outside = write(tmp_path / "outside" / "0123456789abcdef")
    (home.packages / "linked").symlink_to(outside.parent)
    (home.packages / ".staging-link").symlink_to(outside.parent)
    (home.packages / "file").write_text("")
    (kept.parent / "0123456789abcdef").symlink_to(outside)
    put(home, write(tmp_path / "other", id="other"))
    remove(home, "example.notes", waiting=lambda: None)
    assert (placed / "src").is_dir()
    assert (outside / "plugin.json").is_file()
    assert sorted(path.name for path in home.packages.iterdir()) == [
        "example.notes",
        "file",
        "linked",
        "other",
        "placed",
    ]
    assert not kept.exists()


def test_a_mesh_that_runs_keeps_what_it_may_use_and_another_does_not(home: Home, tmp_path: Path) -> None:
    root = write(tmp_path / "notes")
    first = put(home, root).row.root
    with mesh_of(home):
        remove(home, "example.notes", waiting=lambda: None)
        assert snapshots(home) == {first}
    tidy(home)
    assert snapshots(home) == set()


def test_what_is_no_source_says_so(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    (tmp_path / "empty").mkdir()
    for name, why in (
        ("gone", "cannot be read: No such file or directory; name a directory or a ZIP file"),
        ("fifo", "is neither a directory nor a file; name a directory or a ZIP file"),
        ("empty", "has no plugin.json; name the directory of a package"),
    ):
        with pytest.raises(BadPackage) as bad:
            Source.at(tmp_path / name)
        assert bad.value.message == why
