"""The record of a home: what is installed, what is trusted, and what is said of everything else."""

from __future__ import annotations

import json
import stat
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from contract.errors import MeshError
from router.home import Home
from router.packages import Package, discover, first_party_directory, read_manifest
from router.packages.discovery import installed
from router.packages.installation import install
from router.packages.ledger import SHORT, Ledger, Trusted, authorize, locked
from router.packages.manifest import BadPackage
from router.packages.source import Source
from router.packages.trust import trust_in_place, trust_installed, untrust_directory, untrust_module
from tests.packages.making import write


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home.at(tmp_path / "home")


@pytest.fixture
def root(tmp_path: Path) -> Iterator[Path]:
    root = write(tmp_path / "src" / "notes")
    (root / "run").write_text("1")
    yield root


def package(root: Path) -> Package:
    return Package(root, read_manifest(root))


def installed_from(home: Home, root: Path) -> Package:
    changed = install(home, Source.at(root), told=lambda done, expected: None, waiting=lambda: None)
    return package(changed.row.root)


def verdict(home: Home, of: Package) -> str:
    return Ledger.read(home).verdict(Package(of.root, of.manifest))


def unlock(path: Path) -> Path:
    path.parent.chmod(0o755)
    if path.exists():
        path.chmod(0o644)
    return path


def test_a_home_without_a_record_has_nothing_and_gets_none_by_being_asked(home: Home, root: Path) -> None:
    ledger = Ledger.read(home)
    assert (ledger.installed, ledger.trusted, ledger.development) == ({}, (), ())
    assert ledger.verdict(package(root)) == (
        f"it is not trusted; look at it and run `wuu-mesh plugin trust {root}`"
    )
    assert not home.root.exists()


def test_the_record_is_nobody_else_s_to_read(home: Home, root: Path) -> None:
    installed_from(home, root)
    assert stat.S_IMODE(home.ledger.stat().st_mode) == 0o600
    assert [path.name for path in home.root.glob("packages.json*")] == ["packages.json"]


def test_an_installed_package_may_run(home: Home, root: Path) -> None:
    snapshot = installed_from(home, root)
    assert verdict(home, snapshot) == ""
    row = Ledger.read(home).installed["example.notes"]
    assert row.root == snapshot.root == home.packages / "example.notes" / row.fingerprint[:SHORT]
    assert (row.version, row.source, row.enabled) == ("0.1.0", f"directory:{root}", True)
    assert installed(Ledger.read(home)) == (row.root,)
    assert set(discover(installed(Ledger.read(home))).packages) == {"example.notes"}


@pytest.mark.parametrize("name", ["run", "new", "plugin.json", "node_modules", "src/__pycache__", ".git"])
def test_bytes_that_changed_outside_of_install_and_update_are_refused(
    home: Home, root: Path, name: str
) -> None:
    (root / "src").mkdir()
    (root / "src" / "x").write_text("")
    snapshot = installed_from(home, root)
    path = unlock(snapshot.root / name)
    if name in ("run", "new", "plugin.json"):
        path.write_text(path.read_text() + "\n" if path.exists() else "")
    else:
        path.mkdir()
    assert verdict(home, snapshot) == (
        "it was changed outside of install and update; "
        "`wuu-mesh plugin update example.notes DIR|ZIP` installs it anew"
    )
    with pytest.raises(MeshError) as refused:
        trust_installed(home, "example.notes")
    assert "was changed outside of install and update" in refused.value.message


def test_a_bit_that_makes_a_file_executable_is_a_change(home: Home, root: Path) -> None:
    snapshot = installed_from(home, root)
    (snapshot.root / "run").chmod(0o555)
    assert verdict(home, snapshot).startswith("it was changed outside of install and update")


def test_what_merely_lies_among_the_snapshots_is_not_installed(home: Home, root: Path) -> None:
    snapshot = installed_from(home, root)
    stranger = package(write(home.packages / "example.notes" / "0000000000000000"))
    other = package(write(home.packages / "other" / "0000000000000000", id="other"))
    assert verdict(home, snapshot) == ""
    assert verdict(home, stranger).startswith("it is not what is installed as example.notes")
    assert verdict(home, other).startswith("it is not what is installed as other")
    assert installed(Ledger.read(home)) == (snapshot.root,)


def test_untrust_keeps_the_installation_and_trust_gives_it_back(home: Home, root: Path) -> None:
    snapshot = installed_from(home, root)
    untrust_module(home, "example.notes")
    assert set(Ledger.read(home).installed) == {"example.notes"}
    assert verdict(home, snapshot) == (
        "it is installed and not trusted; `wuu-mesh plugin trust example.notes` grants that"
    )
    trust_installed(home, "example.notes")
    assert verdict(home, snapshot) == ""


def test_a_package_in_its_place_is_trusted_with_the_bytes_that_it_had(home: Home, root: Path) -> None:
    trust_in_place(home, root)
    assert verdict(home, package(root)) == ""
    (root / "run").write_text("2")
    assert verdict(home, package(root)) == (
        f"it has changed since it was trusted; look at it and run `wuu-mesh plugin trust {root}`"
    )
    (root / "run").write_text("1")
    assert verdict(home, package(root)) == ""
    untrust_directory(home, root)
    assert verdict(home, package(root)).startswith("it is not trusted")


def test_what_no_fingerprint_covers_is_not_run_from_a_place_of_its_own(home: Home, root: Path) -> None:
    (root / "node_modules").mkdir()
    with pytest.raises(BadPackage, match="node_modules is run with it and is no part of what is trusted"):
        trust_in_place(home, root)
    (root / "node_modules").rmdir()
    (root / ".git").mkdir()
    trust_in_place(home, root)
    assert verdict(home, package(root)) == ""
    (root / "src").mkdir()
    (root / "src" / "__pycache__").mkdir()
    assert verdict(home, package(root)).startswith("src/__pycache__ is run with it")


def test_trust_is_bound_to_its_source(home: Home, root: Path, tmp_path: Path) -> None:
    trust_in_place(home, root)
    copy = write(tmp_path / "copy")
    (copy / "run").write_text("1")
    assert package(copy).fingerprint == package(root).fingerprint
    assert verdict(home, package(copy)).startswith("it is not trusted")


def test_an_authorized_directory_is_trusted_whatever_its_bytes_are(home: Home, root: Path) -> None:
    authorize(home, root.parent)
    authorize(home, root.parent)
    (root / "run").write_text("2")
    assert verdict(home, package(root)) == ""
    assert len(Ledger.read(home).development) == 1
    sibling = write(root.parent.parent / "srcs" / "x")
    assert verdict(home, package(sibling)).startswith("it is not trusted")
    untrust_directory(home, root.parent)
    assert verdict(home, package(root)).startswith("it is not trusted")


def test_the_authorization_of_a_directory_is_no_trust_in_what_is_installed_from_it(
    home: Home, root: Path
) -> None:
    authorize(home, root.parent)
    snapshot = installed_from(home, root)
    untrust_module(home, "example.notes")
    assert "is installed and not trusted" in verdict(home, snapshot)


def test_what_ships_with_the_product_is_trusted(home: Home) -> None:
    for found in discover([first_party_directory()]).packages.values():
        assert Ledger.read(home).verdict(found) == ""


def test_a_package_with_a_link_is_told_as_what_it_is(home: Home, root: Path) -> None:
    (root / "link").symlink_to("/etc")
    assert Ledger.read(home).verdict(package(root)) == (
        "link: is a symbolic link; a package has plain files only"
    )


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "is damaged: "),
        ("{", "is damaged: "),
        ("[]", "is damaged: "),
        ('{"installed": []}', "is damaged: "),
        ('{"schema_version": 2, "new": 1}', "has schema_version 2, and this mesh knows 1"),
        ('{"schema_version": 1, "unknown": []}', "is damaged: "),
        (
            '{"schema_version": 1, "trusted": [{"id": "../x", "fingerprint": "", "source": ""}]}',
            "is damaged: ",
        ),
        ("\xff", "is damaged: "),
    ],
)
def test_a_record_that_cannot_be_read_is_an_error_and_never_empty(home: Home, text: str, why: str) -> None:
    home.make()
    home.ledger.write_bytes(text.encode("latin-1"))
    with pytest.raises(MeshError) as broken:
        Ledger.read(home)
    assert broken.value.code == "host_error"
    assert broken.value.message.startswith(f"{home.ledger} {why}")
    assert broken.value.remedy.startswith("Restore it")
    assert home.ledger.read_bytes() == text.encode("latin-1")


def test_a_package_that_is_recorded_twice_is_damage(home: Home, root: Path) -> None:
    installed_from(home, root)
    record = json.loads(home.ledger.read_text())
    home.ledger.write_text(json.dumps(record | {"installed": record["installed"] * 2}))
    with pytest.raises(MeshError, match="has a package twice"):
        Ledger.read(home)


def test_a_ledger_that_was_read_does_not_change(home: Home, root: Path) -> None:
    before = Ledger.read(home)
    installed_from(home, root)
    assert before.installed == {}
    after = Ledger.read(home)
    assert replace(after, trusted=()).trusts("example.notes", "", "") is False
    assert after.trusted == (
        Trusted("example.notes", after.installed["example.notes"].fingerprint, f"directory:{root}"),
    )


def test_who_waits_for_the_packages_of_a_home_hears_of_it_once(home: Home) -> None:
    heard = []
    with locked(home, lambda: heard.append("early")):
        assert heard == []


def test_untrusting_what_nobody_trusts_is_an_error(home: Home, root: Path) -> None:
    with pytest.raises(MeshError, match="no package x is trusted"):
        untrust_module(home, "x")
    with pytest.raises(MeshError, match="is neither trusted nor authorized"):
        untrust_directory(home, root)
