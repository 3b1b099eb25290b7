"""`check`: a composition, resolved and explained without a mesh."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from typing import Any

import pytest

from tests.cli.command import composed
from tests.support.composition import Entry, probe, select, shell
from tests.support.mesh import Mesh


@pytest.fixture(scope="module")
async def stopped() -> AsyncIterator[Mesh]:
    """A composition whose mesh never runs, and of which nothing is known at first."""
    async with composed(
        probe("provider", provides=["probe.low@1"]),
        probe("other", provides=["probe.low@1"]),
        probe("consumer", requires=["probe.low@1", "probe.maybe@1?", "wuu.mesh.contributions@1"]),
        probe("lonely", requires=["probe.nobody@1"]),
        probe("off", enabled=False),
        Entry(id="broken", manifest="{}"),
        services=[select("probe.low@1", "provider")],
    ) as mesh:
        yield mesh


def checked(mesh: Mesh, *options: str) -> tuple[int, dict[str, Any]]:
    """The exit code and the modules, by id."""
    answer = mesh.cli("check", "-c", mesh.composition, "--json", *options)
    document = json.loads(answer.stdout)
    assert document.keys() == {"modules", "services", "order"}
    return answer.returncode, {row["id"]: row for row in document["modules"]}


async def test_a_package_that_was_never_started_is_unknown(stopped: Mesh) -> None:
    _, modules = checked(stopped)
    states = {module: row["state"] for module, row in modules.items()}
    assert states == {
        "broken": "blocked",
        "consumer": "declaration unknown",
        "lonely": "declaration unknown",
        "off": "disabled",
        "other": "declaration unknown",
        "provider": "declaration unknown",
    }
    answer = stopped.cli("check", "-c", stopped.composition)
    assert "declaration unknown" in answer.stdout
    assert "--start" in answer.stdout + answer.stderr
    assert not stopped.recorded()


async def test_start_asks_every_package_and_activates_none(stopped: Mesh) -> None:
    code, modules = checked(stopped, "--start")
    assert code == 1
    assert {module: row["state"] for module, row in modules.items()} == {
        "broken": "blocked",
        "consumer": "ready",
        "lonely": "blocked",
        "off": "disabled",
        "other": "ready",
        "provider": "ready",
    }
    taken = [line.split() for line in stopped.recorded()]
    asked = sorted(module for module, step in taken if step == "initialize")
    assert asked == ["consumer", "lonely", "other", "provider"]
    assert {step for _, step in taken} == {"initialize", "shutdown"}
    assert stopped.announced is None


async def test_what_was_asked_once_is_remembered(stopped: Mesh) -> None:
    before = stopped.recorded()
    code, modules = checked(stopped)
    assert code == 1
    assert modules["consumer"]["state"] == "ready"
    assert stopped.recorded() == before


async def test_every_binding_is_explained_with_its_source(stopped: Mesh) -> None:
    _, modules = checked(stopped)
    (binding,) = modules["consumer"]["bindings"]
    source = binding.pop("source")
    assert binding == {"service": "probe.low", "major": 1, "provider": "provider"}
    assert source.startswith(f"{stopped.composition}:")
    (absent,) = modules["consumer"]["absent"]
    assert (absent["service"], absent["major"], absent["code"]) == (
        "probe.maybe",
        1,
        "service_optional_absent",
    )


async def test_a_blocked_module_says_why(stopped: Mesh) -> None:
    _, modules = checked(stopped)
    assert modules["lonely"]["error"]["code"] == "service_not_found"
    assert "probe.nobody@1" in modules["lonely"]["error"]["message"]
    assert modules["broken"]["error"]["code"] == "invalid_request"
    answer = stopped.cli("check", "-c", stopped.composition)
    assert "probe.nobody@1" in answer.stdout


async def test_for_people_it_is_said_in_tables(stopped: Mesh) -> None:
    answer = stopped.cli("check", "-c", stopped.composition)
    assert answer.returncode == 1
    lines = answer.stdout.splitlines()
    assert lines[:3] == ["module    state", "broken    blocked", "consumer  ready"]
    assert any(line.startswith("module lonely blocked: requires probe.nobody@1, which ") for line in lines)
    selected = f"provider  {stopped.composition}:"
    assert any(line.startswith(f"probe.low@1    everybody  {selected}") for line in lines)
    assert any(line.startswith(f"probe.low@1    consumer   {selected}") for line in lines)
    assert any(line.startswith("probe.maybe@1  consumer   nobody    consumer may use ") for line in lines)


async def test_a_selected_module_that_never_started_is_told_in_one_sentence() -> None:
    async with composed(
        probe("a", provides=["probe.a@1"]), shell("b", "exit 3"), services=[select("probe.a@1", "a")]
    ) as mesh:
        answer = mesh.cli("check", "-c", mesh.composition)
        source = f"{mesh.composition}:"
        (row,) = (line for line in answer.stdout.splitlines() if line.startswith("probe.a@1"))
        assert row.startswith(f"probe.a@1  everybody  a         {source}")
        assert row.endswith(", if it provides it: its declaration is unknown")
        assert "what a and b would declare is not known before a first start\n" in answer.stderr
        mesh.start()
        answer = mesh.cli("check", "-c", mesh.composition)
        assert answer.returncode == 0
        assert "a first start" not in answer.stderr
        said, remedy = answer.stderr.splitlines()
        assert said == "wuu-mesh: b has started before and not declared yet"
        assert remedy.startswith(f"  → `wuu-mesh logs --home {mesh.home} b` may say why.")
        _, modules = checked(mesh)
        assert modules["b"]["error"]["message"] == "it has started before and not declared yet"


async def test_a_selected_module_that_failed_serves_nobody(stopped: Mesh) -> None:
    selecting = stopped.directory / "selecting.json"
    document = json.loads(stopped.composition.read_text())
    document["services"] += [select("probe.x@1", "broken")]
    selecting.write_text(json.dumps(document))
    (row,) = (
        line
        for line in stopped.cli("check", "-c", selecting).stdout.splitlines()
        if line.startswith("probe.x@1")
    )
    assert "nobody" in row
    assert "selects broken, which is blocked: plugin.json: " in row


async def test_packages_that_cannot_be_used_are_told() -> None:
    async with composed(probe("a"), Entry(id="spoilt", manifest='{"id": "b",\n}')) as mesh:
        document = json.loads(mesh.composition.read_text())
        del document["modules"]["spoilt"]
        mesh.composition.write_text(json.dumps(document))
        manifest = (mesh.directory / "packages" / "spoilt" / "plugin.json").resolve()
        mistake = f"{manifest}:1:11: there is a trailing comma; JSON has none before }}"
        answer = mesh.cli("check", "-c", mesh.composition)
        assert answer.returncode == 0
        assert f"wuu-mesh: note: {mistake} (the package cannot be used)\n" in answer.stderr
        document["modules"]["other"] = True
        mesh.composition.write_text(json.dumps(document))
        for command in ("check", "up"):
            answer = mesh.cli(command, "-c", mesh.composition)
            assert (answer.returncode, answer.stdout) == (2, "")
            unknown, suspect, remedy = answer.stderr.splitlines()
            assert unknown == f"wuu-mesh: {mesh.composition}:1: no package offers module 'other'"
            assert suspect == f"wuu-mesh: {mistake} (the package cannot be used)"
            assert remedy == "  → Correct the composition."


async def test_for_programs_a_rejected_composition_is_an_object_with_its_problems(stopped: Mesh) -> None:
    rejected = stopped.directory / "rejected.json"
    rejected.write_text('{"version": 5, "modules": {"a": 3}}')
    answer = stopped.cli("check", "-c", rejected, "--json")
    assert answer.returncode == 2
    problems = json.loads(answer.stdout)["problems"]
    assert [problem["where"] for problem in problems] == [
        f"{rejected}:1: /version",
        f"{rejected}:1: /modules/a",
    ]
    assert all(f"{each['where']}: {each['message']}" in answer.stderr for each in problems)


async def test_where_nothing_is_blocked_it_ends_with_0_and_a_start_makes_all_known() -> None:
    async with composed(
        probe("provider", provides=["probe.low@1"]), probe("consumer", requires=["probe.low@1"])
    ) as mesh:
        code, modules = checked(mesh)
        assert code == 0
        assert {row["state"] for row in modules.values()} == {"declaration unknown"}
        mesh.start()
        code, modules = checked(mesh)
        assert code == 0
        assert {row["state"] for row in modules.values()} == {"ready"}


@pytest.mark.parametrize(
    ("document", "problems"),
    [
        (
            '{"version": 4, "modules": {"nobody": true, "none": true}}',
            [f":1: no package offers module '{name}'" for name in ("nobody", "none")],
        ),
        (
            '{"version": 5,\n "modules": {"a": 3}, "servces": []}',
            [":1: /version: ", ":2: /modules/a: ", ":2: /servces: "],
        ),
        ('{"version": 4,\n "modules": {"a": tru}}', [":2:19: "]),
        ("", [":1:1: "]),
    ],
)
async def test_a_rejected_composition_ends_with_2_and_every_problem(
    stopped: Mesh, document: str, problems: list[str]
) -> None:
    rejected = stopped.directory / "rejected.json"
    rejected.write_text(document)
    answer = stopped.cli("check", "-c", rejected)
    assert (answer.returncode, answer.stdout) == (2, "")
    *lines, remedy = answer.stderr.splitlines()
    assert len(lines) == len(problems)
    for problem in problems:
        assert any(line.startswith(f"wuu-mesh: {rejected}{problem}") for line in lines), problem
    assert remedy == "  → Correct the composition."


@pytest.mark.parametrize(
    ("command", "named", "why"),
    [
        ("check", ".", "Is a directory"),
        ("check", "no.json", "No such file"),
        ("up", "no.json", "No such file"),
    ],
)
async def test_a_composition_that_cannot_be_read_ends_with_2(
    stopped: Mesh, command: str, named: str, why: str
) -> None:
    answer = stopped.cli(command, "-c", named)
    assert (answer.returncode, answer.stdout) == (2, "")
    assert f"{why}" in answer.stderr
    assert "\n  → Name a composition with -c FILE.\n" in answer.stderr


async def test_the_products_own_composition_is_checked_without_a_file(stopped: Mesh) -> None:
    answer = stopped.cli("check", "--json")
    (module,) = json.loads(answer.stdout)["modules"]
    assert module["id"] == "wuu.state.sqlite"


async def test_the_running_mesh_is_left_alone(mesh: Mesh) -> None:
    code, modules = checked(mesh)
    assert code == 1
    assert modules["blocked"]["state"] == "blocked"
    assert modules["notes"]["state"] == "ready"
    generation = mesh.status()["generation"]
    assert (generation["id"], generation["state"]) == ("1", "active")
