"""`reload`, `enable`, `disable`, `rollback`: transitions that need no file."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Sequence
from typing import Any

import pytest

from tests.support.composition import probe
from tests.support.mesh import Mesh, running

LOW = probe("low", provides=["probe.low@1"])
HIGH = probe("high", requires=["probe.low@1"])
APART = probe("apart", provides=["probe.apart@1"])


@pytest.fixture
async def mesh() -> AsyncIterator[Mesh]:
    async with running(LOW, HIGH, APART) as mesh:
        yield mesh


@pytest.fixture(scope="module")
async def unchanged() -> AsyncIterator[Mesh]:
    """The same mesh for every test that changes nothing of it."""
    async with running(LOW, HIGH, APART) as mesh:
        yield mesh


def changed(mesh: Mesh, *command: str) -> Any:
    """The difference that a transition makes which is committed."""
    answer = mesh.cli(*command, "--json")
    transition = json.loads(answer.stdout)
    assert (answer.returncode, transition["outcome"]) == (0, "committed")
    return transition["difference"]


async def test_reload_starts_a_module_anew_with_what_depends_on_it(mesh: Mesh) -> None:
    difference = changed(mesh, "reload", "low")
    assert (difference["replaced"], difference["carried"]) == (["high", "low"], ["apart"])
    assert changed(mesh, "reload")["replaced"] == ["apart", "high", "low"]


async def test_disable_takes_a_module_out_with_who_requires_it_and_enable_brings_them_back(
    mesh: Mesh,
) -> None:
    difference = changed(mesh, "disable", "low")
    assert difference["removed"] == ["high", "low"]
    assert {each["where"]: each["code"] for each in difference["blocked"]} == {
        "module high": "service_not_found",
        "module low": "module_revoked",
    }
    assert {"consumer": "high", "service": "probe.low", "major": 1, "before": "low", "after": None} in (
        difference["bindings"]
    )
    assert changed(mesh, "enable", "low")["added"] == ["high", "low"]


async def test_rollback_goes_back_to_the_composition_before(mesh: Mesh) -> None:
    await mesh.apply(LOW, HIGH)
    answer = mesh.cli("rollback")
    assert answer.returncode == 0
    assert "added: apart" in answer.stdout.splitlines()
    assert mesh.status()["generation"] == {"id": "3", "state": "active"}


@pytest.mark.parametrize("command", [["reload", "lo"], ["disable", "lo"], ["rollback"]])
async def test_what_cannot_be_asked_for_ends_with_1(unchanged: Mesh, command: Sequence[str]) -> None:
    answer = unchanged.cli(*command)
    assert (answer.returncode, answer.stdout) == (1, "")
    assert "\nwuu-mesh: invalid_request: " in answer.stderr
    assert ("did you mean" in answer.stderr) == (command != ["rollback"])


async def test_what_is_no_id_of_a_module_is_a_mistake_of_usage(unchanged: Mesh) -> None:
    answer = unchanged.cli("enable", "No!")
    assert (answer.returncode, answer.stdout) == (2, "")
    assert answer.stderr.startswith("wuu-mesh: 'No!' is not the id of a module\n")
