"""`generations`: what ran, what runs, what keeps it, and what did not end well."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import suppress

import pytest

from contract.errors import MeshError
from tests.support.composition import probe
from tests.support.mesh import Mesh, running
from tests.support.script import Action

STUBBORN = probe("stubborn", provides=["probe.old@1"], steps={"shutdown": Action(hang=True)})
"""A module that never answers shutdown."""


@pytest.fixture(scope="module")
async def swapped() -> AsyncIterator[Mesh]:
    """A mesh in its third generation: the first is closed, the second is kept by an execution."""
    async with running(STUBBORN) as mesh:
        await mesh.apply(probe("middle", provides=["probe.middle@1"]))
        await mesh.happens("generation", "1", "closed")
        hanging = asyncio.create_task(mesh.call("probe.middle@1", "hang", {"key": "kept"}))
        await mesh.call("probe.middle@1", "hanging", {"key": "kept"})
        await mesh.reload("middle")
        yield mesh
        (execution,) = await mesh.executions()
        mesh.cli("cancel", execution.id)
        with suppress(MeshError):
            await hanging


async def test_they_are_listed_newest_first_with_what_they_were_built_for(swapped: Mesh) -> None:
    answer = swapped.cli("generations")
    assert (answer.returncode, answer.stderr) == (0, "")
    head, *rows = (line.split() for line in answer.stdout.splitlines())
    assert head == ["generation", "state", "cause", "committed", "executions", "leases", "diagnostics"]
    assert [row[:4] for row in rows[:2]] == [
        ["3", "active", "reload", "middle"],
        ["2", "retained", "apply", "composition.json"],
    ]
    assert rows[2][:3] == ["1", "closed", "up"]
    assert [row[-3:] for row in rows[:3]] == [["0", "0", "–"], ["1", "0", "–"], ["0", "0", "–"]]


async def test_an_unconfirmed_cleanup_is_told_below(swapped: Mesh) -> None:
    last = swapped.cli("generations").stdout.splitlines()[-1]
    assert last.startswith("generation 1: stubborn@")
    assert " did not confirm its cleanup (removed): " in last


async def test_programs_get_every_time_and_every_revocation(swapped: Mesh) -> None:
    newest, retained, closed = json.loads(swapped.cli("generations", "--json").stdout)
    times = [f"{step}_unix_ms" for step in ("created", "committed", "published", "retired", "closed")]
    assert (
        newest.keys()
        == retained.keys()
        == {
            "id",
            "state",
            "cause",
            *times,
            "diagnostics",
            "executions",
            "leases",
            "revocations",
        }
    )
    taken = [closed[time] for time in times]
    assert taken == sorted(taken)
    assert [newest["retired_unix_ms"], newest["closed_unix_ms"]] == [None, None]
    assert (retained["executions"], retained["closed_unix_ms"]) == (1, None)
    (revocation,) = closed["revocations"]
    assert (revocation["module"], revocation["cause"], revocation["confirmed"]) == (
        "stubborn",
        "removed",
        False,
    )
    assert revocation["message"]


async def test_a_limit_leaves_the_older_ones_out(swapped: Mesh) -> None:
    (newest,) = json.loads(swapped.cli("generations", "--limit", "1", "--json").stdout)
    assert newest["id"] == "3"


async def test_an_execution_of_a_generation_that_was_superseded_is_retained(swapped: Mesh) -> None:
    (execution,) = json.loads(swapped.cli("executions", "--json").stdout)
    assert (execution["generation"], execution["owner"], execution["retained"]) == ("2", "middle", True)
    (row,) = swapped.cli("executions").stdout.splitlines()[1:]
    assert " retained " in row
