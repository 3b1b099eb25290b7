"""`status`: the mesh as it is now, for people and for programs."""

from __future__ import annotations

import json
from typing import Any

import pytest

from contract.errors import MeshError
from tests.support.mesh import Mesh
from tests.support.terminal import Terminal
from wuu.mesh.v1.control_pb2 import ListEventsRequest


@pytest.fixture(scope="module")
def status(mesh: Mesh) -> Any:
    answer = mesh.cli("status", "--json")
    assert (answer.returncode, answer.stderr) == (0, "")
    return json.loads(answer.stdout)


def row(status: Any, module: str) -> Any:
    return next(row for row in status["modules"] if row["id"] == module)


async def test_the_generation_has_an_id_and_a_state(status: Any) -> None:
    assert status["generation"] == {"id": "1", "state": "active"}
    said = "failed: failed exited with status 3 before it listened; it last said: the last words"
    assert status["diagnostics"] == [said]


async def test_every_module_of_the_composition_is_listed_by_id(status: Any) -> None:
    ids = [row["id"] for row in status["modules"]]
    assert ids == ["blocked", "borrower", "disabled", "failed", "notes", "other", "wuu.state.sqlite"]
    states = {row["id"]: row["state"] for row in status["modules"]}
    assert states == {
        "blocked": "blocked",
        "borrower": "active",
        "disabled": "disabled",
        "failed": "failed",
        "notes": "active",
        "other": "active",
        "wuu.state.sqlite": "active",
    }


async def test_a_module_that_runs_has_a_process(status: Any) -> None:
    notes = row(status, "notes")
    assert notes["version"] == "1.2.3"
    assert notes["pid"] > 0
    assert notes["rss_bytes"] > 1_000_000
    assert notes["provides"] == ["probe.notes@1.0.0", "probe.twice@1.0.0"]
    assert notes["requires"] == ["probe.other@1?", "probe.absent@1?"]
    assert notes["error"] is None
    assert notes["instance"].startswith("notes@")


async def test_a_module_that_does_not_run_has_none_and_says_why(status: Any) -> None:
    failed, blocked = row(status, "failed"), row(status, "blocked")
    for module in (failed, blocked):
        assert (module["pid"], module["rss_bytes"]) == (None, None)
    assert failed["error"]["code"] == "service_unavailable"
    assert "exited with status 3" in failed["error"]["message"]
    assert blocked["error"]["code"] == "service_not_found"
    assert "probe.nobody@1" in blocked["error"]["message"]


async def test_every_provided_service_is_listed_with_what_selected_it(status: Any) -> None:
    services = {(row["service"], row["provider"]): row for row in status["services"]}
    documents = services["state.documents", "wuu.state.sqlite"]
    assert documents == {
        "service": "state.documents",
        "major": 1,
        "version": "1.0.0",
        "provider": "wuu.state.sqlite",
        "source": "profile headless",
    }
    assert services["probe.notes", "notes"]["source"] == "only provider"
    assert services["probe.streams", "other"]["major"] == 2
    # Two provide it and neither is selected for everybody.
    assert services["probe.twice", "notes"]["source"] is None
    assert services["probe.twice", "other"]["source"] is None


async def test_the_router_tells_of_itself(mesh: Mesh, status: Any) -> None:
    router = status["router"]
    assert router["pid"] == mesh.router.pid
    assert router["home"] == str(mesh.home)
    assert router["composition"] == str(mesh.composition)
    assert router["executions"] == 0
    assert router["rss_bytes"] > 1_000_000


async def test_people_see_the_same(mesh: Mesh) -> None:
    answer = mesh.cli("status")
    assert (answer.returncode, answer.stderr) == (0, "")
    assert "generation 1 active" in answer.stdout
    for word in ("notes", "1.2.3", "blocked", "exited with status 3", "probe.nobody@1", "profile headless"):
        assert word in answer.stdout
    assert "\x1b[" not in answer.stdout


async def test_a_narrow_terminal_still_reads_well(mesh: Mesh) -> None:
    with Terminal(mesh.command("status"), env={**mesh.env, "COLUMNS": "60"}, cwd=mesh.directory) as terminal:
        lines = [line.rstrip() for line in terminal.end().splitlines()]
    assert "module            version  state     pid" in " ".join(lines)
    assert "module blocked blocked: service_not_found: requires" in lines
    assert [line for line in lines if len(line) > 60 and not line.startswith("home ")] == []


async def test_people_see_the_code_of_a_failure(mesh: Mesh) -> None:
    lines = mesh.cli("status").stdout.splitlines()
    assert any(line.startswith("module failed failed: service_unavailable: failed exited ") for line in lines)
    assert any(line.startswith("module blocked blocked: service_not_found: requires ") for line in lines)


async def test_a_cursor_that_no_response_had_is_refused(mesh: Mesh) -> None:
    for cursor in ("9" * 20, "9" * 5000, "-1", "x"):
        with pytest.raises(MeshError, match="is not a cursor of a response") as refused:
            mesh.session.ask(mesh.session.control.ListEvents, ListEventsRequest(cursor=cursor))
        assert refused.value.code == "invalid_request"


async def test_a_terminal_sees_colours(mesh: Mesh) -> None:
    with mesh.terminal("status") as terminal:
        assert "generation 1 active" in terminal.end()
        assert "\x1b[32mactive\x1b[0m" in terminal.raw
