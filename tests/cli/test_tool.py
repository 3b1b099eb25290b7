"""`tool`: what modules contribute, listed and run."""

from __future__ import annotations

import json

import pytest

from tests.support.mesh import Mesh


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
    assert "deadline_exceeded: no answer within 0.5 s" in answer.stderr


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


@pytest.mark.parametrize("tool", ["echo", "notes/"])
async def test_what_is_not_module_and_tool_is_a_mistake_of_usage(mesh: Mesh, tool: str) -> None:
    answer = mesh.cli("tool", "run", tool, "{}")
    assert (answer.returncode, answer.stdout) == (2, "")
    assert f"'{tool}' is not MODULE/TOOL\n  → `wuu-mesh tool list`" in answer.stderr


async def test_arguments_that_are_not_json(mesh: Mesh) -> None:
    answer = mesh.cli("tool", "run", "notes/echo", "{")
    assert answer.returncode == 1
    assert answer.stderr.startswith("wuu-mesh: invalid_params: ")
