"""The lifecycle: initialize → prepare → activate → shutdown, and the order among modules."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from tests.support.composition import probe, select
from tests.support.mesh import Mesh, running


@pytest.fixture(scope="module")
async def mesh() -> AsyncIterator[Mesh]:
    # Named against the order, which must come from the bindings alone.
    async with running(
        probe("a-consumer", provides=["probe.top@1"], requires=["probe.middle@1", "probe.other@1?"]),
        probe("b-middle", provides=["probe.middle@1"], requires=["probe.low@1"]),
        probe("c-provider", provides=["probe.low@1"]),
        probe("d-provider", provides=["probe.low@1"]),
        probe("e-alone"),
        services=[select("probe.low@1", "c-provider")],
    ) as mesh:
        yield mesh


def order(mesh: Mesh, step: str) -> list[str]:
    """The modules in the order in which they took a step."""
    return [line.split()[0] for line in mesh.recorded() if line.split()[1] == step]


async def test_every_module_is_initialized_prepared_and_activated_once(mesh: Mesh) -> None:
    everyone = ["a-consumer", "b-middle", "c-provider", "d-provider", "e-alone"]
    for step in ("initialize", "prepare", "activate"):
        assert sorted(order(mesh, step)) == everyone
    assert {row["state"] for row in mesh.status()["modules"]} == {"active"}
    assert mesh.status()["generation"]["state"] == "active"


async def test_no_module_prepares_before_all_have_declared(mesh: Mesh) -> None:
    steps = [line.split()[1] for line in mesh.recorded()]
    assert steps == ["initialize"] * 5 + ["prepare"] * 5 + ["activate"] * 5


@pytest.mark.parametrize("step", ["prepare", "activate"])
async def test_providers_come_before_their_consumers(mesh: Mesh, step: str) -> None:
    taken = order(mesh, step)
    assert taken.index("c-provider") < taken.index("b-middle") < taken.index("a-consumer")


async def test_a_module_is_told_where_its_requirements_lead(mesh: Mesh) -> None:
    assert await mesh.call("probe.middle@1", "bound") == [["probe.low@1", "c-provider"]]
    # An optional requirement that is not bound is left out.
    assert await mesh.call("probe.top@1", "bound") == [["probe.middle@1", "b-middle"]]


async def test_consumers_are_shut_down_before_their_providers(mesh: Mesh) -> None:
    await mesh.stop()
    taken = order(mesh, "shutdown")
    assert sorted(taken) == ["a-consumer", "b-middle", "c-provider", "d-provider", "e-alone"]
    assert taken.index("a-consumer") < taken.index("b-middle") < taken.index("c-provider")


async def test_a_second_start_in_the_same_home_is_a_later_generation(mesh: Mesh) -> None:
    mesh.start()
    assert mesh.status()["generation"] == {"id": "2", "state": "active"}
    assert (await mesh.call("probe.low@1", "context"))["generation"] == "2"
