"""`tool`: what modules contribute, listed and run."""

from __future__ import annotations

import json
import signal

import pytest

from contract.errors import MeshError
from tests.cli.command import begun, composed, heard
from tests.support.composition import probe
from tests.support.mesh import Mesh
from tests.support.script import Action


async def test_tools_are_listed_for_programs_as_they_are_declared(mesh: Mesh) -> None:
    answer = mesh.cli("tool", "list", "--json")
    assert (answer.returncode, answer.stderr) == (0, "")
    echo, error, _ = json.loads(answer.stdout)
    assert (echo["module"], echo["id"]) == ("notes", "echo")
    assert echo["description"] == "The method echo of a probe."
    assert echo["input_schema"] == {"type": "object"}
    assert echo["activity"]["read_only"] is True
    assert error["id"] == "error"


async def test_tools_are_listed_for_people(mesh: Mesh) -> None:
    answer = mesh.cli("tool", "list")
    assert (answer.returncode, answer.stderr) == (0, "")
    assert answer.stdout.splitlines()[:2] == [
        "tool         description                   activity",
        "notes/echo   The method echo of a probe.   read-only",
    ]


async def test_a_tool_prints_its_text(mesh: Mesh) -> None:
    answer = mesh.cli("tool", "run", "notes/echo", '{"a":1}')
    assert (answer.returncode, answer.stderr) == (0, "")
    assert answer.stdout.startswith('{"a":1}\n')


async def test_arguments_may_be_left_out(mesh: Mesh) -> None:
    assert mesh.cli("tool", "run", "notes/echo").stdout.startswith("{}\n")


async def test_a_tool_is_given_up_after_its_timeout(mesh: Mesh) -> None:
    answer = mesh.cli("tool", "run", "notes/hang", "--timeout", "0.5")
    assert answer.returncode == 1
    # The command's own clock or the router's, whichever is first.
    assert answer.stderr.startswith("wuu-mesh: deadline_exceeded: ")
    assert any(who in answer.stderr for who in ("no answer within 0.5 s", "notes did not answer"))


async def test_a_tool_prints_its_whole_result_for_programs(mesh: Mesh) -> None:
    answer = mesh.cli("tool", "run", "notes/echo", "-", "--json", stdin=b'{"a": 1.0}')
    assert answer.returncode == 0
    result = json.loads(answer.stdout)
    assert result["content"] == [{"type": "text", "text": '{"a": 1.0}'}]
    assert '"structured_content":{"a": 1.0}' in answer.stdout
    assert result["is_error"] is False


async def test_a_tool_that_says_that_it_failed_ends_with_1(mesh: Mesh) -> None:
    answer = mesh.cli("tool", "run", "notes/error", '{"code":"own_code","message":"no luck"}')
    assert answer.returncode == 1
    assert "no luck" in answer.stdout


async def test_a_tool_that_is_not_there(mesh: Mesh) -> None:
    for tool, code in (
        ("notes/nothing", "method_not_found"),
        ("nobody/echo", "invalid_request"),
        ("disabled/echo", "module_revoked"),
    ):
        answer = mesh.cli("tool", "run", tool, "{}")
        assert (answer.returncode, answer.stdout) == (1, ""), tool
        assert answer.stderr.startswith(f"wuu-mesh: {code}: "), answer.stderr


@pytest.mark.parametrize(
    ("tool", "said"),
    [
        (
            "notes/ech",
            "method_not_found: notes contributes no tool ech; did you mean 'echo'?; it has echo, error",
        ),
        ("note/echo", "invalid_request: there is no module note; did you mean 'notes'?"),
        ("other/echo", "method_not_found: other contributes no tool and no capability"),
        ("failed/echo", "service_unavailable: failed cannot be called: "),
    ],
)
async def test_a_tool_that_is_mistyped_names_the_nearest(mesh: Mesh, tool: str, said: str) -> None:
    answer = mesh.cli("tool", "run", tool)
    assert (answer.returncode, answer.stdout) == (1, "")
    assert answer.stderr.startswith(f"wuu-mesh: {said}"), answer.stderr
    assert "not_dispatched" in answer.stderr
    if tool == "notes/ech":
        assert f"  → `wuu-mesh tool list --home {mesh.home}` shows every tool.\n" in answer.stderr


@pytest.mark.parametrize("given", ["[]", "1", '"{}"', "null"])
async def test_arguments_that_are_no_object_are_a_mistake_of_usage(mesh: Mesh, given: str) -> None:
    answer = mesh.cli("tool", "run", "notes/echo", given)
    assert (answer.returncode, answer.stdout) == (2, "")
    assert answer.stderr.startswith("wuu-mesh: the arguments of a tool are one JSON object\n  → ")


async def test_the_tools_of_a_mesh_that_starts_are_not_known_yet() -> None:
    async with composed(probe("a", steps={"prepare": Action(hang=True)})) as mesh:
        with begun(mesh, "up", "-c", mesh.composition) as up:
            heard(up, "generation 1 building")
            for arguments in (("tool", "list"), ("tool", "run", "a/b"), ("call", "probe.a@1", "echo")):
                answer = mesh.cli(*arguments)
                assert (answer.returncode, answer.stdout) == (1, "")
                said, _, remedy = answer.stderr.splitlines()
                assert said == "wuu-mesh: service_unavailable: the mesh is still starting"
                assert remedy == "  → Wait until `up` says 'mesh is up'."


async def test_the_tools_of_a_mesh_that_stops_are_not_listed() -> None:
    async with composed(probe("a", steps={"shutdown": Action(hang=True)}, tools=["echo"])) as mesh:
        with begun(mesh, "up", "-c", mesh.composition) as up:
            heard(up, "mesh is up")
            session = mesh.session
            up.send_signal(signal.SIGTERM)
            heard(up, "mesh stopping")
            with pytest.raises(MeshError, match="generation_closed: the mesh is stopping"):
                session.tools()


@pytest.mark.parametrize("tool", ["echo", "notes/", "notes/e/e", "notes/ü"])
async def test_what_is_not_module_and_tool_is_a_mistake_of_usage(mesh: Mesh, tool: str) -> None:
    answer = mesh.cli("tool", "run", tool, "{}")
    assert (answer.returncode, answer.stdout) == (2, "")
    assert f"'{tool}' is not MODULE/TOOL\n  → `wuu-mesh tool list --home " in answer.stderr


async def test_arguments_that_are_not_json(mesh: Mesh) -> None:
    answer = mesh.cli("tool", "run", "notes/echo", "{")
    assert (answer.returncode, answer.stdout) == (2, "")
    assert answer.stderr.startswith("wuu-mesh: the argument is not JSON: ")
