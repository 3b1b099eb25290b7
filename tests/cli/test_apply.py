"""`apply`: another composition, while the mesh runs."""

from __future__ import annotations

import json
import signal
from collections.abc import AsyncIterator

import pytest

from tests.cli.command import begun, end, heard
from tests.support.composition import probe, shell
from tests.support.mesh import Mesh, running
from tests.support.process import PATIENCE
from tests.support.script import Action

LOW = probe("low", provides=["probe.low@1"])
HIGH = probe("high", requires=["probe.low@1"])
APART = probe("apart", provides=["probe.apart@1"])
LOWER = probe("lower", provides=["probe.low@1"])
SLOW = probe("slow", steps={"initialize": Action(hang=True)}, timeout=2)
"""A module that never answers initialize, so that whoever adds it is dropped after two seconds."""


@pytest.fixture
async def mesh() -> AsyncIterator[Mesh]:
    async with running(LOW, HIGH, APART) as mesh:
        yield mesh


@pytest.fixture(scope="module")
async def untouched() -> AsyncIterator[Mesh]:
    """The same mesh for every test that changes nothing of it."""
    async with running(LOW, HIGH, APART) as mesh:
        yield mesh


@pytest.fixture
def unchanged(untouched: Mesh) -> Mesh:
    """That mesh, and in its file the composition that runs."""
    untouched.compose(LOW, HIGH, APART)
    return untouched


def instances(mesh: Mesh) -> dict[str, str]:
    return {row["id"]: row["instance"] for row in mesh.status()["modules"]}


async def test_progress_goes_to_stderr_and_the_difference_to_stdout(mesh: Mesh) -> None:
    mesh.compose(LOWER, HIGH, APART, probe("off", enabled=False))
    answer = mesh.cli("apply", mesh.composition)
    assert answer.returncode == 0
    heading, *difference = answer.stdout.splitlines()
    assert heading.startswith("committed in ")
    assert heading.endswith(": generation 2 active")
    assert difference == [
        "added: lower",
        "removed: low",
        "replaced: high",
        "carried over: apart",
        "bindings changed:",
        "  everybody: probe.low@1 low → lower",
        "  high: probe.low@1 low → lower",
        "not running:",
        "  module off: module_revoked: disabled in the composition",
    ]
    told = answer.stderr.splitlines()
    # What happened before is not told again.
    assert told[0] == "transition apply composition.json running"
    assert told.index("module lower starting") < told.index("generation 2 active")
    assert "transition apply composition.json committed" in told


async def test_a_dry_run_says_what_would_be_and_changes_nothing(mesh: Mesh) -> None:
    before = instances(mesh)
    mesh.compose(LOWER, HIGH, APART)
    answer = mesh.cli("apply", mesh.composition, "--dry-run", "--json")
    assert answer.returncode == 0
    transition = json.loads(answer.stdout)
    assert transition.pop("took_ms") >= transition.pop("start_ms") > 0
    assert transition == {
        "outcome": "resolved",
        "generation": {"id": "1", "state": "active", "diagnostics": []},
        "difference": {
            "added": ["lower"],
            "removed": ["low"],
            "replaced": ["high"],
            "carried": ["apart"],
            "bindings": [
                {"consumer": consumer, "service": "probe.low", "major": 1, "before": "low", "after": "lower"}
                for consumer in (None, "high")
            ],
            "blocked": [],
        },
        "problems": [],
    }
    assert instances(mesh) == before
    assert not {"lower prepare", "lower activate"} & set(mesh.recorded())
    assert "a dry run, nothing was changed" in mesh.cli("apply", mesh.composition, "--dry-run").stdout


async def test_the_composition_that_runs_needs_nothing_done(unchanged: Mesh) -> None:
    before = unchanged.recorded()
    answer = unchanged.cli("apply", unchanged.composition)
    assert answer.returncode == 0
    assert answer.stdout == "unchanged: nothing was to be done and nothing was started; generation 1 active\n"
    assert unchanged.recorded() == before


async def test_a_rejected_composition_ends_with_2_and_every_problem(unchanged: Mesh) -> None:
    unchanged.composition.write_text('{"version": 5, "modules": {"a": 3}}')
    answer = unchanged.cli("apply", "composition.json", "--json")
    assert answer.returncode == 2
    transition = json.loads(answer.stdout)
    assert (transition["outcome"], transition["generation"]["id"]) == ("rejected", "1")
    version, module, remedy = answer.stderr.splitlines()[-3:]
    assert version.startswith(f"wuu-mesh: {unchanged.composition}:1: /version: ")
    assert module.startswith(f"wuu-mesh: {unchanged.composition}:1: /modules/a: ")
    assert remedy == "  → Correct the composition."
    for problem, line in zip(transition["problems"], (version, module), strict=True):
        assert line == f"wuu-mesh: {problem['where']}: {problem['message']}"
    assert unchanged.cli("apply", "composition.json").stdout == ""


async def test_a_dropped_candidate_ends_with_1_and_what_to_do_and_the_old_one_goes_on(mesh: Mesh) -> None:
    mesh.compose(LOW, HIGH, APART, shell("broken", "echo the last words >&2; exit 3"))
    answer = mesh.cli("apply", mesh.composition)
    assert (answer.returncode, answer.stdout) == (1, "")
    failed, remedy, kept = answer.stderr.splitlines()[-3:]
    assert failed.startswith("wuu-mesh: module broken: service_unavailable: broken exited with status 3")
    assert remedy.endswith(f"`wuu-mesh logs --home {mesh.home} broken`.")
    assert kept == "wuu-mesh: the candidate was dropped before its commit; generation 1 goes on as it was"
    assert await mesh.call("probe.low@1", "echo", "still here") == "still here"


async def test_what_is_committed_and_degraded_ends_with_1_and_its_diagnostics(mesh: Mesh) -> None:
    failing = probe("failing", steps={"activate": Action(error="out of ink")})
    mesh.compose(LOW, HIGH, APART, failing)
    answer = mesh.cli("apply", mesh.composition)
    assert answer.returncode == 1
    assert answer.stdout.splitlines()[0].endswith(": generation 2 degraded")
    diagnostic, committed, remedy = answer.stderr.splitlines()[-3:]
    assert diagnostic.startswith("wuu-mesh: failing: ")
    assert "out of ink" in diagnostic
    assert committed == "wuu-mesh: generation 2 is committed and degraded"
    assert f"`wuu-mesh rollback --home {mesh.home}`" in remedy


async def test_an_interrupted_command_leaves_the_transition_to_its_end(mesh: Mesh) -> None:
    mesh.compose(LOW, HIGH, APART, SLOW)
    with begun(mesh, "apply", mesh.composition) as apply:
        heard(apply, "module slow starting")
        apply.send_signal(signal.SIGINT)
        code, said = end(apply)
    assert code == 130
    # A line that is being printed when the interrupt comes may come twice.
    assert "\nwuu-mesh: the transition goes on without this command\n  → `wuu-mesh events " in f"\n{said}"
    await mesh.happens("transition", "apply composition.json", "dropped")
    # The next has its turn.
    assert (await mesh.apply(LOW, HIGH, APART)).outcome == "unchanged"


async def test_a_mesh_that_is_taken_down_tells_who_waits_for_a_transition(mesh: Mesh) -> None:
    mesh.compose(LOW, HIGH, APART, SLOW)
    with begun(mesh, "apply", mesh.composition) as apply:
        heard(apply, "module slow starting")
        await mesh.stop()
        code, said = end(apply)
    assert code == 1
    assert "wuu-mesh: generation_closed: the mesh is stopping\n" in said


async def test_a_mesh_that_dies_leaves_the_transition_unknown(mesh: Mesh) -> None:
    mesh.compose(LOW, HIGH, APART, SLOW)
    with begun(mesh, "apply", mesh.composition) as apply:
        heard(apply, "module slow starting")
        mesh.router.kill()
        code, said = end(apply)
    assert code == 3
    assert said.startswith(
        f"wuu-mesh: the mesh in {mesh.home} went away before the transition was over\n  → "
    )


async def test_a_terminal_sees_it_go_on_too(mesh: Mesh) -> None:
    mesh.compose(LOWER, HIGH, APART)
    with mesh.terminal("apply", mesh.composition) as terminal:
        terminal.until("the transition is on its way")
        shown = terminal.end()
        assert terminal.process.wait(PATIENCE) == 0
    for line in ("module lower active", "generation 2 active", "added: lower"):
        assert line in shown


@pytest.mark.parametrize(("named", "why"), [(".", "Is a directory"), ("no.json", "No such file")])
async def test_a_file_that_cannot_be_read_ends_with_2(unchanged: Mesh, named: str, why: str) -> None:
    answer = unchanged.cli("apply", named)
    assert (answer.returncode, answer.stdout) == (2, "")
    assert answer.stderr.startswith(f"wuu-mesh: {named}: {why}")
    assert answer.stderr.endswith("\n  → Name a composition as FILE.\n")
