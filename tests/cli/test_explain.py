"""`explain`: who serves a service, what chose it, what that overrode, and what would provide it."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from typing import Any

import pytest

from tests.cli.command import composed
from tests.support.composition import bare, probe, select
from tests.support.mesh import Mesh

ONE = probe("one", provides=["probe.word@1"])
TWO = probe("two", provides=["probe.word@1"])
FRONT = probe("front", provides=["probe.word@1"], requires=["probe.word@1"])
USER = probe("user", requires=["probe.word@1", "probe.absent@1?"])
OWN = probe("own", requires=["probe.word@1"])
ENTRIES = (ONE, TWO, FRONT, USER, OWN)
CHOICES = (
    select("probe.word@1", "one"),
    select("probe.word@1", "two", consumer="front"),
    select("probe.word@1", "two", consumer="own"),
)


@pytest.fixture(scope="module")
async def mesh() -> AsyncIterator[Mesh]:
    """A mesh in which a patch puts a module in front of what was selected before."""
    async with composed(*ENTRIES, services=CHOICES) as mesh:
        document = json.loads(mesh.composition.read_text())
        patch = {"services": [select("probe.word@1", "front")]}
        mesh.composition.write_text(json.dumps({**document, "patches": [patch]}, indent=1))
        mesh.up()
        yield mesh


def line_of(mesh: Mesh, entry: dict[str, object]) -> str:
    """FILE:LINE of a selection; they stand in their order."""
    document = json.loads(mesh.composition.read_text())
    chosen = [*document["services"], *document["patches"][0]["services"]]
    opened = [
        number
        for number, line in enumerate(mesh.composition.read_text().splitlines(), 1)
        if '"service": ' in line
    ]
    # A selection begins with its bracket, on the line before its first field.
    return f"{mesh.composition}:{opened[chosen.index(entry)] - 1}"


def explained(mesh: Mesh, *arguments: str) -> Any:
    answer = mesh.cli("explain", *arguments, "--json")
    return json.loads(answer.stdout)


async def test_it_says_who_serves_it_what_chose_it_and_what_that_overrode(mesh: Mesh) -> None:
    (served,) = explained(mesh, "probe.word@1")["services"]
    front = select("probe.word@1", "front")
    assert (served["provider"], served["state"]) == ("front", "active")
    assert served["source"] == line_of(mesh, front)
    assert served["overridden"] == [{"provider": "one", "source": line_of(mesh, CHOICES[0])}]
    assert served["delegates"] == [
        {
            "provider": "two",
            "source": line_of(mesh, CHOICES[1]),
            "overridden": [{"provider": "front", "source": line_of(mesh, front)}],
        }
    ]


async def test_it_says_what_each_consumer_gets_and_why(mesh: Mesh) -> None:
    (served,) = explained(mesh, "probe.word")["services"]
    consumers = {row["module"]: (row["provider"], row["source"]) for row in served["consumers"]}
    assert consumers == {
        "front": ("two", line_of(mesh, CHOICES[1])),
        "own": ("two", line_of(mesh, CHOICES[2])),
        "user": ("front", line_of(mesh, select("probe.word@1", "front"))),
    }


async def test_for_a_consumer_it_says_what_that_one_gets(mesh: Mesh) -> None:
    (served,) = explained(mesh, "probe.word@1", "--consumer", "own")["services"]
    assert served["provider"] == "two"
    assert [step["provider"] for step in served["overridden"]] == ["front"]
    answer = mesh.cli("explain", "probe.word@1", "--consumer", "user")
    assert answer.returncode == 0
    assert "probe.word@1 for user: front" in answer.stdout
    assert f"chosen by {line_of(mesh, select('probe.word@1', 'front'))}, for everybody" in answer.stdout
    assert "which stands in front of two" in answer.stdout


async def test_what_nobody_serves_is_told_with_its_code_and_ends_with_1(mesh: Mesh) -> None:
    answer = mesh.cli("explain", "probe.absent@1", "--consumer", "user")
    assert answer.returncode == 1
    assert "probe.absent@1 for user: nobody" in answer.stdout
    assert "service_optional_absent: user may use probe.absent@1" in answer.stdout
    answer = mesh.cli("explain", "probe.wodr@1")
    assert answer.returncode == 1
    assert "did you mean 'probe.word'?" in answer.stdout


async def test_a_name_that_is_none_ends_with_2_and_the_nearest(mesh: Mesh) -> None:
    answer = mesh.cli("explain", "probe.word@1", "--consumer", "usr")
    assert (answer.returncode, answer.stdout) == (2, "")
    assert "the composition has no module usr; did you mean 'user'?" in answer.stderr
    answer = mesh.cli("explain", "word@x")
    assert (answer.returncode, answer.stdout) == (2, "")


async def test_a_consumer_that_does_not_require_it_says_what_it_requires(mesh: Mesh) -> None:
    answer = mesh.cli("explain", "probe.other@1", "--consumer", "user")
    assert answer.returncode == 1
    assert "user does not require probe.other@1; it requires probe.word@1, probe.absent@1" in answer.stdout


async def test_a_composition_is_explained_without_a_mesh_from_what_was_declared_last(mesh: Mesh) -> None:
    document = json.loads(mesh.composition.read_text())
    del document["patches"]
    del document["modules"]["one"]
    document["services"] = document["services"][1:]
    other = mesh.directory / "other.json"
    other.write_text(json.dumps(document, indent=1))
    answer = mesh.cli("explain", "probe.word@1", "-c", str(other))
    assert answer.returncode == 1
    assert "(no mesh runs; this is what would)" in answer.stdout
    assert "service_ambiguous: front and two provide probe.word@1 and none is selected" in answer.stdout
    (served,) = json.loads(mesh.cli("explain", "probe.word@1", "-c", str(other), "--json").stdout)["services"]
    assert served["error"]["code"] == "service_ambiguous"


async def test_an_absent_service_says_which_package_would_provide_it() -> None:
    async with composed(bare("bare")) as mesh:
        document = json.loads(mesh.composition.read_text())
        mesh.composition.write_text(json.dumps({**document, "modules": {}}))
        fresh = explained(mesh, "bare.wire@1", "-c", str(mesh.composition))
        assert (fresh["services"], fresh["offers"]) == ([], [])
        assert "bare" in fresh["unknown"]
        mesh.composition.write_text(json.dumps(document))
        mesh.up()
        await mesh.stop()
        for modules, remedy in (
            ({}, 'add "bare": true to `modules` of the composition'),
            ({"bare": False}, "`wuu-mesh enable bare` starts it"),
        ):
            mesh.composition.write_text(json.dumps({**document, "modules": modules}))
            absent = explained(mesh, "bare.wire@1", "-c", str(mesh.composition))
            assert absent["services"] == []
            (offer,) = absent["offers"]
            assert (offer["module"], offer["service"], offer["remedy"]) == ("bare", "bare.wire@1.0.0", remedy)
            answer = mesh.cli("explain", "bare.wire@1", "-c", mesh.composition)
            assert f"  → {remedy}" in answer.stdout


async def test_a_removal_and_the_product_s_choice_are_told_as_what_was_overridden() -> None:
    async with composed() as mesh:
        patch = {"remove_services": [{"service": "state.documents", "major": 1}]}
        mesh.composition.write_text(
            json.dumps({"version": 4, "modules": {"wuu.state.sqlite": True}, "patches": [patch]}, indent=1)
        )
        mesh.up()
        (served,) = explained(mesh, "state.documents@1")["services"]
        assert (served["provider"], served["source"]) == ("wuu.state.sqlite", "only provider")
        assert [step["provider"] for step in served["overridden"]] == [None, "wuu.state.sqlite"]
        assert served["overridden"][1]["source"] == "profile headless"
