"""Phases: what may be called in preparation, in active service, and in cleanup."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import msgspec
import pytest

from tests.support.composition import probe
from tests.support.mesh import Mesh, running
from tests.support.script import Action, NestedCall


def calling(service: str, method: str, then: tuple[str, str] | None = None) -> Action:
    """A step that calls a method, which makes a call itself if `then` says so."""
    params = msgspec.Raw(b"null")
    if then is not None:
        params = msgspec.Raw(msgspec.json.encode(NestedCall(service=then[0], method=then[1])))
    return Action(call=NestedCall(service=service, method=method, params=params))


EARLY = (
    calling("probe.low@1", "echo"),
    calling("probe.low@1", "peek"),
    calling("probe.middle@1", "peek-call", ("probe.low@1", "echo")),
    calling("probe.middle@1", "peek-call", ("probe.low@1", "peek")),
    calling("probe.low@1", "tidy"),
)
LATE = (
    calling("probe.low@1", "echo"),
    calling("probe.low@1", "peek"),
    calling("probe.low@1", "tidy"),
    calling("probe.middle@1", "tidy-call", ("probe.low@1", "echo")),
    calling("probe.middle@1", "tidy-call", ("probe.low@1", "tidy")),
)


@pytest.fixture(scope="module")
async def mesh() -> AsyncIterator[Mesh]:
    async with running(
        probe("low", provides=["probe.low@1"]),
        probe("middle", provides=["probe.middle@1"], requires=["probe.low@1"]),
        probe(
            "high",
            provides=["probe.high@1"],
            requires=["probe.low@1", "probe.middle@1"],
            steps={
                "initialize": calling("probe.low@1", "peek"),
                "prepare": EARLY,
                "activate": calling("probe.low@1", "echo"),
                "shutdown": LATE,
            },
        ),
    ) as mesh:
        yield mesh


@pytest.fixture(scope="module")
async def outcomes(mesh: Mesh) -> list[Any]:
    """What became of the calls that `high` made in its steps, in their order."""
    made: list[Any] = await mesh.call("probe.high@1", "outcomes")
    return made


async def test_initialize_only_declares_and_may_call_nobody(outcomes: list[Any]) -> None:
    assert outcomes[0]["error"]["code"] == "service_not_authorized"


async def test_in_prepare_only_preparation_methods_can_be_called(outcomes: list[Any]) -> None:
    assert outcomes[1]["error"]["code"] == "preparation_only"
    assert outcomes[1]["error"]["outcome"] == "not_dispatched"
    assert outcomes[2]["result"]["phase"] == "preparation"
    assert outcomes[5]["error"]["code"] == "preparation_only"


async def test_what_is_called_in_preparation_can_call_no_more_than_that_itself(outcomes: list[Any]) -> None:
    assert outcomes[3]["result"]["error"]["code"] == "preparation_only"
    nested = outcomes[4]["result"]
    assert nested["result"]["phase"] == "preparation"
    assert nested["result"]["parent"] == nested["context"]["execution"]


async def test_from_activate_on_every_method_can_be_called(mesh: Mesh, outcomes: list[Any]) -> None:
    assert outcomes[6] == {"result": None}
    for method in ("context", "peek", "tidy"):
        assert (await mesh.call("probe.low@1", method))["phase"] == "active"


async def test_in_shutdown_only_cleanup_methods_can_be_called_and_nested_too(mesh: Mesh) -> None:
    await mesh.stop()
    said = "high shutdown: "
    outcomes = [
        msgspec.json.decode(line.removeprefix(said)) for line in mesh.recorded() if line.startswith(said)
    ]
    assert outcomes[0]["error"]["code"] == "generation_closed"
    assert outcomes[1]["error"]["code"] == "generation_closed"
    assert outcomes[2]["result"]["phase"] == "cleanup"
    assert outcomes[3]["result"]["error"]["code"] == "generation_closed"
    assert outcomes[4]["result"]["result"]["phase"] == "cleanup"
