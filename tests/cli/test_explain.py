"""`explain`: who serves a service, what chose it, what that overrode, and what would provide it."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from tests.cli.command import composed
from tests.support.composition import bare, probe, select
from tests.support.mesh import Mesh, running
from tests.support.script import Action

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
        mesh.start()
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
            "error": None,
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
    assert "probe.wodr@1 for everybody: nobody" in answer.stdout
    assert "service_not_found: no module of the composition provides probe.wodr@1" in answer.stdout
    assert "did you mean 'probe.word'?" in answer.stdout
    (absent,) = explained(mesh, "probe.absent")["services"]
    assert (absent["major"], absent["error"]["code"]) == (1, "service_not_found")
    (consumer,) = absent["consumers"]
    assert (consumer["module"], consumer["optional"]) == ("user", True)
    assert consumer["error"]["code"] == "service_optional_absent"


async def test_another_major_of_what_is_provided_is_told(mesh: Mesh) -> None:
    (absent,) = explained(mesh, "probe.word@2")["services"]
    assert absent["error"] == {
        "code": "service_version_mismatch",
        "message": "no module of the composition provides probe.word@2, only probe.word@1",
    }


async def test_what_the_router_serves_itself_is_served(mesh: Mesh) -> None:
    for asked in (["wuu.mesh.leases"], ["wuu.mesh.leases@1", "--consumer", "user"]):
        answer = mesh.cli("explain", *asked)
        assert answer.returncode == 0
        assert "the router itself, which serves it to every module that requires it" in answer.stdout


async def test_a_name_that_is_none_ends_with_2_and_the_nearest(mesh: Mesh) -> None:
    answer = mesh.cli("explain", "probe.word@1", "--consumer", "usr")
    assert (answer.returncode, answer.stdout) == (2, "")
    assert "the composition has no module usr; did you mean 'user'?" in answer.stderr
    answer = mesh.cli("explain", "word@x")
    assert (answer.returncode, answer.stdout) == (2, "")


async def test_a_consumer_that_does_not_require_it_says_what_it_requires(mesh: Mesh) -> None:
    answer = mesh.cli("explain", "probe.other@1", "--consumer", "user")
    assert answer.returncode == 1
    assert "service_not_authorized: user does not require probe.other@1" in answer.stdout
    assert "it requires probe.word@1 and probe.absent@1" in answer.stdout


async def test_a_composition_is_explained_without_a_mesh_from_what_was_declared_last(mesh: Mesh) -> None:
    document = json.loads(mesh.composition.read_text())
    del document["patches"]
    del document["modules"]["one"]
    document["services"] = document["services"][1:]
    other = mesh.directory / "other.json"
    other.write_text(json.dumps(document, indent=1))
    answer = mesh.cli("explain", "probe.word@1", "-c", str(other))
    assert answer.returncode == 1
    # The mesh runs something else.
    assert f"({other}, as it would run)" in answer.stdout
    assert "service_ambiguous: front and two provide probe.word@1 and none is selected" in answer.stdout
    (served,) = json.loads(mesh.cli("explain", "probe.word@1", "-c", str(other), "--json").stdout)["services"]
    assert served["error"]["code"] == "service_ambiguous"


async def test_of_several_that_provide_it_each_has_the_line_that_selects_it(mesh: Mesh) -> None:
    document = json.loads(mesh.composition.read_text())
    del document["patches"], document["modules"]["front"]
    document["services"] = [select("probe.word@1", "one", consumer="own")]
    other = mesh.directory / "several.json"
    other.write_text(json.dumps(document, indent=1))
    offers = explained(mesh, "probe.word@1", "-c", str(other))["offers"]
    assert [(each["module"], each["why"]) for each in offers] == [
        ("one", "is not selected"),
        ("two", "is not selected"),
    ]
    for offer in offers:
        added = mesh.directory / "added.json"
        added.write_text(written_in(other, offer))
        (served,) = explained(mesh, "probe.word@1", "-c", str(added))["services"]
        assert served["provider"] == offer["module"]
        assert explained(mesh, "probe.word@1", "--consumer", "user", "-c", str(added))["offers"] == []
    (offer, _) = explained(mesh, "probe.word@1", "--consumer", "user", "-c", str(other))["offers"]
    assert json.loads(offer["line"])["consumer"] == "user"


def written_in(file: Path, offer: dict[str, Any]) -> str:
    """The file with the line of an offer added where the offer says."""
    remedy, _, line = offer["remedy"].rpartition(":")
    assert remedy.startswith("add to ")
    assert remedy.endswith(f" at {file}")
    lines = file.read_text().splitlines()
    at = int(line) - 1
    opened = max(lines[at].rfind("{"), lines[at].rfind("["))
    head, tail = lines[at][: opened + 1], lines[at][opened + 1 :]
    lines[at] = f"{head} {offer['line']}, {tail}"
    return "\n".join(lines)


async def test_an_absent_service_says_which_package_would_provide_it() -> None:
    async with composed(bare("bare"), bare("other")) as mesh:
        document = json.loads(mesh.composition.read_text())
        document["modules"] = {"other": False}
        mesh.composition.write_text(json.dumps(document, indent=1))
        fresh = explained(mesh, "bare.wire@1", "-c", str(mesh.composition))
        assert fresh["services"][0]["error"]["code"] == "service_not_found"
        assert fresh["offers"] == []
        assert {"bare", "other"} <= set(fresh["unknown"])
        mesh.composition.write_text(json.dumps({**document, "modules": {"bare": True, "other": True}}))
        assert mesh.cli("check", "--start", "-c", mesh.composition).returncode == 0
        mesh.composition.write_text(json.dumps(document, indent=1))

        added, enabled = explained(mesh, "bare.wire@1", "-c", str(mesh.composition))["offers"]
        assert (added["module"], added["service"], added["why"]) == (
            "bare",
            "bare.wire@1.0.0",
            "is not in the composition",
        )
        assert added["line"] == '"bare": true'
        assert (enabled["module"], enabled["why"], enabled["line"]) == (
            "other",
            "is disabled",
            '"other": true',
        )
        line = int(enabled["remedy"].rpartition(":")[2])
        assert mesh.composition.read_text().splitlines()[line - 1].strip() == '"other": false'
        shown = mesh.cli("explain", "bare.wire@1", "-c", mesh.composition)
        assert f"  → {added['remedy']}: {added['line']}" in shown.stdout
        mesh.composition.write_text(written_in(mesh.composition, added))
        (served,) = explained(mesh, "bare.wire@1", "-c", str(mesh.composition))["services"]
        assert served["provider"] == "bare"


async def test_a_file_without_modules_is_told_a_patch() -> None:
    async with composed(bare("bare")) as mesh:
        assert mesh.cli("check", "--start", "-c", mesh.composition).returncode == 0
        document = {"version": 4, "packages": ["packages/*"]}
        mesh.composition.write_text(json.dumps(document))
        (offer,) = explained(mesh, "bare.wire@1", "-c", str(mesh.composition))["offers"]
        assert offer["remedy"] == f"write into {mesh.composition}"
        # What the profile brings stays.
        mesh.composition.write_text(json.dumps({**document, **json.loads(f"{{{offer['line']}}}")}))
        for service in ("bare.wire@1", "state.documents@1"):
            (served,) = explained(mesh, service, "-c", str(mesh.composition))["services"]
            assert served["error"] is None or "never started" in served["error"]["message"]


async def test_a_package_that_may_not_run_is_told_with_what_lets_it() -> None:
    async with composed(bare("bare")) as mesh:
        assert mesh.cli("check", "--start", "-c", mesh.composition).returncode == 0
        assert mesh.cli("plugin", "untrust", mesh.directory).returncode == 0
        answer = mesh.cli("explain", "bare.wire@1", "-c", mesh.composition)
        assert answer.returncode == 1
        assert "which may not run: it is not trusted" in answer.stdout
        assert f"wuu-mesh plugin trust --home {mesh.home} {mesh.directory}/packages/bare" in answer.stdout


async def test_of_a_mesh_that_runs_what_was_switched_is_known_and_its_file_is_not_read_again() -> None:
    consumer = probe("consumer", requires=["bare.wire@1"])
    async with running(bare("bare"), consumer) as mesh:
        assert mesh.cli("disable", "bare").returncode == 0
        mesh.composition.write_text("nothing that can be read")
        answer = mesh.cli("explain", "bare.wire@1", "--json")
        assert (answer.returncode, answer.stderr) == (1, "")
        found = json.loads(answer.stdout)
        assert found["generation"] == "2"
        (offer,) = found["offers"]
        assert (offer["module"], offer["why"]) == ("bare", "is disabled")
        assert offer["remedy"] == "`wuu-mesh enable bare` starts it"
        shown = mesh.cli("explain", "bare.wire@1").stdout
        assert "(generation 2 active)" in shown
        assert (
            "consumer requires it and has nobody: service_not_found: consumer requires bare.wire@1" in shown
        )
        (revoked,) = explained(mesh, "probe.any@1", "--consumer", "bare")["services"]
        assert revoked["error"]["code"] == "module_revoked"
        assert mesh.cli("enable", "bare").returncode == 0
        assert mesh.cli("explain", "bare.wire@1").returncode == 0


async def test_a_provider_that_failed_serves_nobody_and_its_reason_is_told() -> None:
    failing = probe("failing", provides=["probe.low@1"], steps={"activate": Action(exit=3)})
    async with running(failing) as mesh:
        mesh.without_packages()
        answer = mesh.cli("explain", "probe.low@1", "--json")
        assert answer.returncode == 1
        (served,) = json.loads(answer.stdout)["services"]
        assert served["error"]["code"] == "service_unavailable"
        assert "failing, which " in served["error"]["message"]
        # Its package is gone: what else would provide it is not known, and that is told.
        assert "what would provide it is not known" in answer.stderr


async def test_a_removal_and_the_product_s_choice_are_told_as_what_was_overridden() -> None:
    async with composed() as mesh:
        patch = {"remove_services": [{"service": "state.documents", "major": 1}]}
        mesh.composition.write_text(
            json.dumps({"version": 4, "modules": {"wuu.state.sqlite": True}, "patches": [patch]}, indent=1)
        )
        mesh.start()
        (served,) = explained(mesh, "state.documents@1")["services"]
        assert (served["provider"], served["source"]) == ("wuu.state.sqlite", "only provider")
        assert [step["provider"] for step in served["overridden"]] == [None, "wuu.state.sqlite"]
        assert served["overridden"][1]["source"] == "profile headless"
