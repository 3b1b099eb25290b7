"""`composition`: what the files come to, their version, their schema, and the trust in a workspace's."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from tests.cli.command import bare, composed
from tests.support.composition import probe, select
from tests.support.mesh import Mesh

ONE, TWO = probe("one", provides=["probe.word@1"]), probe("two", provides=["probe.word@1"])


@pytest.fixture
async def mesh() -> AsyncIterator[Mesh]:
    """Two providers of one service; what is selected, a test says."""
    async with composed(ONE, TWO, services=[select("probe.word@1", "one")]) as mesh:
        yield mesh


def write(path: Path, **fields: Any) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({"version": 4, **fields}, indent=1))
    return path


def user_file(mesh: Mesh) -> Path:
    return mesh.directory / "config" / "wuu-mesh" / "composition.json"


def workspace_file(mesh: Mesh) -> Path:
    return mesh.directory / ".wuu" / "composition.json"


def patch(provider: str) -> dict[str, Any]:
    return {"patches": [{"services": [select("probe.word@1", provider)]}]}


async def provider(mesh: Mesh) -> str:
    context = await mesh.call("probe.word@1", "context")
    return str(context["audience"]).partition("@")[0]


# --- layers, through the mesh ---


async def test_the_command_line_s_file_wins_over_the_user_s(mesh: Mesh) -> None:
    write(user_file(mesh), **patch("two"))
    shown = json.loads(mesh.cli("composition", "show", "-c", mesh.composition, "--json").stdout)
    assert [each["layer"] for each in shown["sources"]] == ["user", "command line"]
    (service,) = shown["services"]
    assert service["provider"] == "one"
    assert [(step["provider"], step["source"]) for step in service["overridden"]] == [
        ("two", f"{user_file(mesh)}:6")
    ]
    mesh.up()
    assert await provider(mesh) == "one"
    assert mesh.status()["router"]["sources"] == [str(user_file(mesh)), str(mesh.composition)]


async def test_without_a_file_the_user_s_starts_in_a_fresh_home(mesh: Mesh) -> None:
    document = json.loads(mesh.composition.read_text())
    write(user_file(mesh), include=["./more.json"], **patch("two"))
    write(
        user_file(mesh).with_name("more.json"),
        packages=[str(mesh.directory / "packages" / "*")],
        modules=document["modules"],
    )
    started = mesh.cli("up", "--detach")
    assert started.returncode == 0, started.stderr
    assert await provider(mesh) == "two"
    assert mesh.status()["router"]["composition"] is None


async def test_apply_without_a_file_takes_the_files_of_what_runs_as_they_are_now(mesh: Mesh) -> None:
    mesh.up()
    document = json.loads(mesh.composition.read_text())
    document["services"] = [select("probe.word@1", "two")]
    mesh.composition.write_text(json.dumps(document))
    answer = mesh.cli("apply")
    assert answer.returncode == 0, answer.stderr
    assert "committed" in answer.stdout
    assert await provider(mesh) == "two"


async def test_a_workspace_s_file_is_ignored_until_it_is_trusted(mesh: Mesh) -> None:
    write(workspace_file(mesh), **patch("two"))
    document = json.loads(mesh.composition.read_text())
    del document["services"]
    write(user_file(mesh), **{**document, "packages": [str(mesh.directory / "packages" / "*")]})
    started = mesh.cli("up", "--detach")
    assert started.returncode == 0, started.stderr
    assert f"{workspace_file(mesh)} is ignored: it is not trusted as it is now" in started.stderr
    assert f"wuu-mesh composition trust --home {mesh.home}" in started.stderr
    assert (await mesh_failure(mesh)) == "service_ambiguous"
    trusted = mesh.cli("composition", "trust")
    assert trusted.returncode == 0, trusted.stderr
    assert str(workspace_file(mesh)) in trusted.stderr
    assert mesh.cli("apply").returncode == 0
    assert await provider(mesh) == "two"
    write(workspace_file(mesh), **patch("one"))
    answer = mesh.cli("apply")
    assert "is ignored: it is not trusted as it is now" in answer.stderr
    assert mesh.cli("composition", "untrust").returncode == 0
    again = mesh.cli("composition", "untrust")
    assert (again.returncode, again.stdout) == (2, "")


async def mesh_failure(mesh: Mesh) -> str:
    answer = mesh.cli("explain", "probe.word@1", "--json")
    code: str = json.loads(answer.stdout)["services"][0]["error"]["code"]
    return code


async def test_a_workspace_without_a_file_cannot_be_trusted(mesh: Mesh) -> None:
    answer = mesh.cli("composition", "trust", mesh.directory)
    assert (answer.returncode, answer.stdout) == (2, "")
    assert f"{workspace_file(mesh)}: No such file" in answer.stderr


async def test_a_problem_of_any_file_is_told_with_its_own_name(mesh: Mesh) -> None:
    write(user_file(mesh), profile="phone")
    answer = mesh.cli("check", "-c", mesh.composition)
    assert answer.returncode == 2
    assert f"{user_file(mesh)}:3: /profile: " in answer.stderr


# --- versions ---


def test_migrate_changes_the_version_and_no_other_byte(tmp_path: Path) -> None:
    text = b'\xef\xbb\xbf{ "profile" : "headless",\r\n\t"version" :  2 , "modules":{"a":true}}\n\n'
    file = tmp_path / "old.json"
    file.write_bytes(text)
    file.chmod(0o640)
    assert bare("composition", "migrate", str(file), "--check").returncode == 1
    assert file.read_bytes() == text
    answer = bare("composition", "migrate", str(file))
    assert answer.returncode == 0
    assert "is of version 4 now; it was of version 2" in answer.stderr
    assert file.read_bytes() == text.replace(b"2 ,", b"4 ,")
    assert file.stat().st_mode & 0o777 == 0o640
    assert list(tmp_path.iterdir()) == [file]
    again = bare("composition", "migrate", str(file), "--json")
    assert again.returncode == 0
    assert json.loads(again.stdout) == {"file": str(file), "before": 4, "after": 4}


def test_migrate_follows_a_link_and_keeps_it(tmp_path: Path) -> None:
    write(tmp_path / "there.json", version=3)
    link = tmp_path / "here.json"
    link.symlink_to("there.json")
    assert bare("composition", "migrate", str(link)).returncode == 0
    assert link.is_symlink()
    assert json.loads((tmp_path / "there.json").read_text())["version"] == 4


def test_migrate_of_what_is_no_composition_says_why_and_changes_nothing(tmp_path: Path) -> None:
    file = tmp_path / "bad.json"
    file.write_text('{"version": 2, "include": ["./a.json"], "more": 1}')
    answer = bare("composition", "migrate", str(file))
    assert answer.returncode == 2
    assert f"{file}:1: /more: unknown field" in answer.stderr
    assert "/include" not in answer.stderr
    assert json.loads(file.read_text())["version"] == 2
    assert bare("composition", "migrate", str(tmp_path / "nowhere.json")).returncode == 2


def test_migrate_takes_what_was_written_with_fields_of_a_later_version(tmp_path: Path) -> None:
    file = tmp_path / "ahead.json"
    file.write_text('{"version": 2, "bundles": []}')
    told = bare("check", "-c", str(file), "--home", str(tmp_path / "home"))
    assert "`wuu-mesh composition migrate` rewrites the file" in told.stderr
    assert bare("composition", "migrate", str(file)).returncode == 0
    assert file.read_text() == '{"version": 4, "bundles": []}'


# --- schema ---


def test_the_schema_is_printed_as_it_is_shipped() -> None:
    shipped = Path(__file__).parents[2] / "gen" / "composition.schema.json"
    assert bare("composition", "schema").stdout == shipped.read_text()
