"""`wuu-mesh plugin`, as it is typed."""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from router.home import Home
from router.packages.ledger import Ledger, locked
from tests.packages.making import write
from tests.packages.zipping import entry, pack
from tests.support.mesh import WUU_MESH
from tests.support.process import PATIENCE
from tests.support.terminal import Terminal

FAMILY = {"family": {"id": "example.writing", "name": "Writing"}}


class Shell:
    """Commands on a home of their own."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.home = Home.at(directory / "home")
        self.env: Mapping[str, str] = {
            **os.environ,
            "WUU_MESH_HOME": str(self.home.root),
            "XDG_RUNTIME_DIR": str(directory),
        }

    def __call__(self, *arguments: object) -> subprocess.CompletedProcess[str]:
        """Runs `wuu-mesh plugin ARGUMENTS` to its end."""
        command = [WUU_MESH, "plugin", *map(str, arguments)]
        return subprocess.run(
            command, capture_output=True, text=True, check=False, timeout=60, env=self.env, cwd=self.directory
        )

    def done(self, *arguments: object) -> str:
        """What a command that went well printed."""
        ended = self(*arguments)
        assert (ended.returncode, ended.stderr) == (0, "")
        return ended.stdout

    def json(self, *arguments: object) -> Any:
        """The JSON that a command printed."""
        return json.loads(self.done(*arguments, "--json"))

    def failed(self, code: int, *arguments: object) -> str:
        """What a command said that ended with a code."""
        ended = self(*arguments)
        assert (ended.returncode, ended.stdout) == (code, ""), ended.stderr
        return ended.stderr

    def at_terminal(self, *arguments: object) -> Terminal:
        """A command with a person before it."""
        return Terminal([WUU_MESH, "plugin", *map(str, arguments)], env=self.env, cwd=self.directory)


@pytest.fixture
def shell(tmp_path: Path) -> Shell:
    return Shell(tmp_path)


@pytest.fixture
def notes(tmp_path: Path) -> Path:
    return write(tmp_path / "notes", interface=FAMILY)


def test_a_package_goes_its_whole_way(shell: Shell, notes: Path) -> None:
    assert shell.done("list") == "nothing is installed; `wuu-mesh plugin install DIR|ZIP` does that\n"
    inspected = shell.json("inspect", notes)
    assert inspected["integrity"] == f"sha256:{inspected['fingerprint']}"
    installed = shell.json("install", notes, "--integrity", inspected["integrity"])
    assert installed | {"root": ""} == {
        "id": "example.notes",
        "version": "0.1.0",
        "fingerprint": inspected["fingerprint"],
        "source": f"directory:{notes}",
        "trusted": True,
        "enabled": True,
        "root": "",
        "before": None,
        "notes": [],
    }
    assert (Path(installed["root"]) / "plugin.json").read_bytes() == (notes / "plugin.json").read_bytes()
    write(notes, version="0.2.0")
    assert shell.done("update", "example.notes", notes) == (
        "updated 0.1.0 to example.notes 0.2.0, trusted, enabled\n"
    )
    assert shell.done("update", "example.notes", notes) == "example.notes is the same, trusted, enabled\n"
    assert shell.done("remove", "example.notes") == "removed example.notes 0.2.0\n"
    assert shell.json("list") == {"installed": [], "trusted": [], "development": []}
    assert list(shell.home.packages.iterdir()) == []


def test_list_says_what_may_run_and_why_not(shell: Shell, notes: Path, tmp_path: Path) -> None:
    shell.done("install", notes)
    shell.done("install", write(tmp_path / "other", id="other"))
    placed = write(tmp_path / "placed", id="placed")
    assert shell.done("trust", placed) == f"placed from directory:{placed} is trusted\n"
    shell.done("trust", "--development", tmp_path)
    shell.done("untrust", "other")
    (placed / "x").write_text("")
    root = Ledger.read(shell.home).installed["example.notes"].root
    root.chmod(0o755)
    (root / "x").write_text("")
    listed = shell.json("list")
    assert [(each["id"], each["trusted"], each["enabled"]) for each in listed["installed"]] == [
        ("example.notes", True, True),
        ("other", False, True),
    ]
    assert listed["installed"][0]["family"]["name"] == "Writing"
    assert "changed outside of install and update" in listed["installed"][0]["problem"]
    assert listed["development"] == [str(tmp_path)]
    assert listed["trusted"][0]["id"] == "placed"
    rows = [line.split() for line in shell.done("list").splitlines()]
    assert ["example.notes", "0.1.0", "changed", "enabled", f"directory:{notes}", "Writing"] in rows
    assert rows[2][:4] == ["other", "0.1.0", "untrusted", "enabled"]


def test_what_a_package_says_of_itself_is_nothing_that_a_terminal_obeys(shell: Shell, tmp_path: Path) -> None:
    family = {"family": {"id": "x", "name": "\x1b]0;evil\x07"}}
    shell.done("install", write(tmp_path / "notes", name="\x1b[2J", interface=family))
    said = shell.done("list") + shell.done("inspect", tmp_path / "notes")
    assert "\x1b" not in said
    assert "\x07" not in said


def test_inspect_shows_a_package_and_what_is_in_its_way(shell: Shell, tmp_path: Path) -> None:
    dependencies = [{"id": "text", "version": "^1.0.0"}, {"id": "draft", "optional": True}]
    root = write(
        tmp_path / "notes",
        description="For \x1b[31mnotes.",
        dependencies=dependencies,
        breaks=["enemy"],
        platforms=["plan9"],
        interface=FAMILY,
        requested_permissions=["network"],
    )
    lines = shell.done("inspect", root).splitlines()
    assert lines[0] == "example.notes 0.1.0: Notes"
    assert "description: For \N{REPLACEMENT CHARACTER}[31mnotes." in lines
    assert "runs: node dist/runtime.js" in lines
    assert "family: Writing" in lines
    assert "asks for: network" in lines
    assert "needs: text ^1.0.0 (text is not there)" in lines
    assert "uses: draft (draft is not there)" in lines
    assert "breaks: enemy" in lines
    assert "problem: it needs another package: text is not there" in lines
    assert any(line.startswith("problem: it is for plan9 and not for ") for line in lines)
    assert not shell.home.root.exists()


def test_a_declarative_package_is_installed_and_is_no_module(shell: Shell, tmp_path: Path) -> None:
    themes = write(tmp_path / "themes", id="themes", runtime=None)
    assert "runs: nothing; it is no module" in shell.done("inspect", themes)
    shell.done("install", themes)
    assert shell.json("list")["installed"][0]["problem"] is None


def test_an_archive_is_a_package(shell: Shell, tmp_path: Path) -> None:
    archive = pack(tmp_path / "notes.zip", ("x", "1"))
    assert shell.json("install", archive)["source"] == f"zip:{archive}"
    assert shell.done("update", "example.notes", archive) == "example.notes is the same, trusted, enabled\n"


def test_a_bad_package_is_a_bad_file(shell: Shell, tmp_path: Path) -> None:
    bad = write(tmp_path / "bad", dependencies=[{"id": "text", "version": "latest"}])
    for verb in ("inspect", "install"):
        assert shell.failed(2, verb, bad) == (
            f"wuu-mesh: {bad}: plugin.json: /dependencies/0/version: 'latest' is not a range of SemVer "
            'versions; write a range such as "^1.0.0" or ">=1.2.0 <2.0.0", or leave it out\n'
        )
    evil = pack(tmp_path / "evil.zip", (entry("../x"), "1"))
    assert f"wuu-mesh: {evil}: ../x: has an empty part" in shell.failed(2, "install", evil)
    assert "cannot be read: No such file" in shell.failed(2, "install", tmp_path / "gone")
    assert "is no ZIP file" in shell.failed(2, "install", bad / "plugin.json")
    assert not (tmp_path / "x").exists()
    assert not shell.home.packages.exists() or list(shell.home.packages.iterdir()) == []


def test_what_cannot_be_done_says_what_to_do(shell: Shell, notes: Path, tmp_path: Path) -> None:
    assert "is no integrity" in shell.failed(2, "install", notes, "--integrity", "sha512:x")
    other = f"sha256:{'0' * 64}"
    assert f"and not {other}" in shell.failed(1, "install", notes, "--integrity", other)
    shell.done("install", notes)
    assert f"Use `wuu-mesh plugin update example.notes {notes}`." in shell.failed(1, "install", notes)
    copy = write(tmp_path / "copy")
    said = shell.failed(1, "update", "example.notes", copy)
    assert "invalid_request: example.notes was installed from" in said
    assert "decide with --trust" in said
    assert shell.json("update", "example.notes", copy, "--trust")["source"] == f"directory:{copy}"
    assert "gone is not installed" in shell.failed(1, "remove", "gone")
    assert "gone is not installed" in shell.failed(1, "trust", "gone")
    assert "no package gone is trusted" in shell.failed(1, "untrust", "gone")
    assert "is no directory" in shell.failed(2, "trust", "./gone")
    assert "name one of ID, DIR and --development DIR" in shell.failed(2, "trust")
    assert "name one of" in shell.failed(2, "trust", "example.notes", "--development", tmp_path)
    assert "is no directory" in shell.failed(2, "trust", "--development", tmp_path / "gone")


def test_the_home_that_was_given_is_in_the_commands_that_are_told(
    shell: Shell, notes: Path, tmp_path: Path
) -> None:
    home = tmp_path / "other"
    shell.done("install", notes, "--home", home)
    told = shell.failed(1, "install", notes, "--home", home)
    assert f"`wuu-mesh plugin update --home {home} example.notes" in told
    assert f"`wuu-mesh plugin install --home {home}2 DIR|ZIP`" in shell.done("list", "--home", f"{home}2")


def test_a_damaged_record_is_told_and_left(shell: Shell, notes: Path) -> None:
    shell.home.make()
    shell.home.ledger.write_text("{")
    for arguments in (("list",), ("install", notes), ("trust", notes)):
        assert "host_error: " in shell.failed(1, *arguments)
    assert shell.home.ledger.read_text() == "{"


def test_a_home_that_cannot_be_written_is_told(shell: Shell, notes: Path) -> None:
    shell.home.root.write_text("")
    assert "File exists" in shell.failed(2, "install", notes)


def test_untrusting_a_directory_takes_back_what_was_given_there(shell: Shell, notes: Path) -> None:
    shell.done("trust", notes)
    shell.done("trust", "--development", notes.parent)
    assert shell.done("untrust", notes) == "example.notes is no longer trusted\n"
    assert shell.json("untrust", notes.parent) == {"untrusted": [str(notes.parent)]}
    assert "is neither trusted nor authorized" in shell.failed(1, "untrust", notes)


def test_at_a_terminal_another_source_is_asked_about(shell: Shell, notes: Path, tmp_path: Path) -> None:
    shell.done("install", notes)
    copy = write(tmp_path / "copy", version="0.2.0")
    with shell.at_terminal("update", "example.notes", copy) as terminal:
        assert f"was installed from directory:{notes}" in terminal.until("[y/N]")
        terminal.press("n\n")
        assert "decide with --trust" in terminal.end()
    assert terminal.process.returncode == 1
    with shell.at_terminal("update", "example.notes", copy) as terminal:
        terminal.until("[y/N]")
        terminal.press("y\n")
        assert "updated 0.1.0 to example.notes 0.2.0" in terminal.end()
    assert Ledger.read(shell.home).installed["example.notes"].source == f"directory:{copy}"


def test_an_interrupted_install_leaves_nothing(shell: Shell, notes: Path) -> None:
    with locked(shell.home):
        command = subprocess.Popen(
            [WUU_MESH, "plugin", "install", notes], env=shell.env, stderr=subprocess.PIPE, text=True
        )
        assert command.stderr is not None
        assert select.select([command.stderr], [], [], PATIENCE)[0]
        said = command.stderr.readline()
        assert said == (
            f"wuu-mesh: another command changes the packages of {shell.home.root}; waiting for it\n"
        )
        command.send_signal(signal.SIGINT)
        assert command.wait(PATIENCE) == 130
        assert command.stderr.read() == ""
        command.stderr.close()
    assert not shell.home.ledger.exists()
    assert not shell.home.packages.exists()


def test_a_shell_is_offered_the_packages_without_a_mesh(shell: Shell, notes: Path) -> None:
    shell.done("install", notes)
    ended = subprocess.run(
        [WUU_MESH],
        env={
            **shell.env,
            "_WUU_MESH_COMPLETE": "complete_bash",
            "COMP_WORDS": "wuu-mesh\nplugin\nupdate\nex",
            "COMP_CWORD": "3",
        },
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert ended.stdout.split() == ["example.notes"]
