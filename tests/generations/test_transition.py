"""The transition: what it carries over, what it starts anew, and what a bad candidate changes: nothing."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest

from tests.support.caller import failure
from tests.support.composition import Entry, probe, select
from tests.support.mesh import Mesh, running
from tests.support.process import Process
from tests.support.script import Action, NestedCall

BASE = probe("base", provides=["probe.base@1"])
ONE = probe("one", provides=["probe.word@1"], requires=["probe.base@1"])
TWO = probe("two", provides=["probe.word@1"], requires=["probe.base@1"])
TOP = probe("top", provides=["probe.top@1"], requires=["probe.word@1"])
ASIDE = probe(
    "aside", provides=["probe.aside@1"], methods=["context", "peek", "echo", "wait", "let", "hanging"]
)
ENTRIES = (BASE, ONE, TWO, TOP, ASIDE)


@pytest.fixture
async def mesh() -> AsyncIterator[Mesh]:
    async with running(*ENTRIES, services=[select("probe.word@1", "one")]) as mesh:
        yield mesh


@pytest.fixture(scope="module")
async def untouched() -> AsyncIterator[Mesh]:
    """The same mesh for every test that changes nothing of it."""
    async with running(*ENTRIES, services=[select("probe.word@1", "one")]) as mesh:
        yield mesh


@pytest.fixture
def unchanged(untouched: Mesh) -> Iterator[Mesh]:
    """That mesh. What a test puts beside the packages that run goes with it."""
    yield untouched
    for package in (untouched.directory / "packages").iterdir():
        if package.name not in {entry.id for entry in ENTRIES}:
            shutil.rmtree(package)


def pids(mesh: Mesh) -> dict[str, int]:
    return {row["id"]: row["pid"] for row in mesh.status()["modules"]}


async def test_what_would_change_nothing_says_so_and_starts_nothing(mesh: Mesh) -> None:
    before = pids(mesh)
    ended = await mesh.apply(*ENTRIES, services=[select("probe.word@1", "one")])
    assert (ended.outcome, ended.generation.id) == ("unchanged", "1")
    assert pids(mesh) == before
    assert list(await mesh.generations()) == ["1"]


async def test_new_work_goes_to_the_new_selection_and_only_who_is_bound_to_it_starts_anew(mesh: Mesh) -> None:
    before = pids(mesh)
    ended = await mesh.apply(*ENTRIES, services=[select("probe.word@1", "two")])
    assert (ended.outcome, ended.generation.id, ended.generation.state) == ("committed", "2", "active")
    changes = ended.difference
    assert (list(changes.replaced), list(changes.carried)) == (["top"], ["aside", "base", "one", "two"])
    assert [(c.consumer, c.service, c.before, c.after) for c in changes.bindings] == [
        ("", "probe.word", "one", "two"),
        ("top", "probe.word", "one", "two"),
    ]
    after = pids(mesh)
    assert {module for module in after if after[module] != before[module]} == {"top"}
    answer = await mesh.call("probe.top@1", "call", {"service": "probe.word@1", "method": "context"})
    assert answer["result"]["audience"].startswith("two@")
    assert answer["result"]["generation"] == "2"


async def test_a_provider_that_is_replaced_takes_its_dependants_with_it_and_nobody_else(mesh: Mesh) -> None:
    ended = await mesh.reload("one")
    assert (list(ended.difference.replaced), list(ended.difference.carried)) == (
        ["one", "top"],
        ["aside", "base", "two"],
    )
    ended = await mesh.reload("base")
    assert list(ended.difference.replaced) == ["base", "one", "top", "two"]
    ended = await mesh.reload()
    assert list(ended.difference.carried) == []


async def test_another_configuration_is_another_instance(mesh: Mesh) -> None:
    changed = probe("aside", provides=["probe.aside@2"])
    ended = await mesh.apply(BASE, ONE, TWO, TOP, changed, services=[select("probe.word@1", "one")])
    assert list(ended.difference.replaced) == ["aside"]
    assert await mesh.call("probe.aside@2", "echo", 1) == 1


async def test_a_package_whose_files_changed_is_another_instance(mesh: Mesh) -> None:
    (mesh.directory / "packages" / "aside" / "more.txt").write_text("more")
    ended = await mesh.apply(*ENTRIES, services=[select("probe.word@1", "one")])
    assert (ended.outcome, list(ended.difference.replaced)) == ("committed", ["aside"])


async def test_consumers_stop_before_their_providers(mesh: Mesh) -> None:
    await mesh.reload("base")
    await mesh.happens("generation", "1", "closed")
    stops = [line.partition(" ")[0] for line in mesh.recorded() if line.endswith(" shutdown")]
    assert sorted(stops) == ["base", "one", "top", "two"]
    assert stops.index("top") < stops.index("one") < stops.index("base") > stops.index("two")


async def test_one_transition_runs_at_a_time_and_later_ones_wait_their_turn(mesh: Mesh) -> None:
    ended = await asyncio.gather(mesh.reload("aside"), mesh.reload("two"), mesh.reload("one"))
    assert sorted(each.generation.id for each in ended) == ["2", "3", "4"]
    states = [event.state for event in await mesh.events() if event.kind == "transition"]
    assert states.count("queued") == 2
    ran = [state for state in states if state != "queued"]
    assert ran == ["running", "committed"] * 3


async def test_a_dry_run_tells_the_difference_and_prepares_nothing(mesh: Mesh) -> None:
    changed = probe("one", provides=["probe.word@1"], requires=["probe.base@1"], tools=["echo"])
    prepared = [line for line in mesh.recorded() if line.endswith(" prepare")]
    ended = await mesh.apply(BASE, changed, TWO, TOP, services=[select("probe.word@1", "one")], dry_run=True)
    assert (ended.outcome, ended.generation.id) == ("resolved", "1")
    changes = ended.difference
    assert (list(changes.removed), list(changes.replaced)) == (["aside"], ["one", "top"])
    assert [line for line in mesh.recorded() if line.endswith(" prepare")] == prepared
    assert list(await mesh.generations()) == ["1"]
    assert await mesh.call("probe.aside@1", "echo", 1) == 1


RING = (
    probe("ring", provides=["probe.ring@1"], requires=["probe.gnir@1"]),
    probe("gnir", provides=["probe.gnir@1"], requires=["probe.ring@1"]),
)
WRITER = probe(
    "writer", requires=["probe.aside@1"], steps={"prepare": Action(call=NestedCall(service="probe.aside@1"))}
)
STRICT = probe(
    "writer",
    requires=["probe.aside@1"],
    steps={"prepare": Action(demand=NestedCall(service="probe.aside@1"))},
)
CHOICE = select("probe.word@1", "one")
BAD: dict[str, tuple[tuple[Entry, ...], list[dict[str, object]], str, str, str]] = {
    "a cycle": ((*ENTRIES, *RING), [CHOICE], "rejected", "/services", "requirement cycle"),
    "a missing requirement": (
        (*ENTRIES, probe("needy", requires=["probe.nowhere@1"])),
        [CHOICE],
        "dropped",
        "module needy",
        "which no module of the composition provides",
    ),
    "two providers without a selection": (ENTRIES, [], "dropped", "module top", "and none is selected"),
    "a broken package": (
        (*ENTRIES, Entry(id="broken", argv=("true",), manifest="{")),
        [CHOICE],
        "dropped",
        "module broken",
        "plugin.json:1:2",
    ),
    "a command that does not exist": (
        (*ENTRIES, Entry(id="absent", argv=("no-such-command",))),
        [CHOICE],
        "dropped",
        "module absent",
        "is not on PATH",
    ),
    "an unknown module": (
        (*ENTRIES, Entry(id="unknown")),
        [CHOICE],
        "rejected",
        "composition.json:",
        "no package offers module 'unknown'",
    ),
    "a prepare that tries to write": (
        (*ENTRIES, STRICT),
        [CHOICE],
        "dropped",
        "module writer",
        "preparation_only: probe.aside@1 echo may not be called during preparation",
    ),
}


@pytest.mark.parametrize("case", BAD)
async def test_a_bad_candidate_says_what_and_where_and_changes_nothing(unchanged: Mesh, case: str) -> None:
    mesh = unchanged
    entries, services, outcome, where, message = BAD[case]
    before = pids(mesh)
    children = {process.pid for process in mesh.router.descendants()}
    ended = await mesh.apply(*entries, services=services)
    assert ended.outcome == outcome
    assert any(where in each.where and message in each.message for each in ended.problems), ended.problems
    assert (ended.generation.id, ended.generation.state) == ("1", "active")
    assert pids(mesh) == before
    assert {process.pid for process in mesh.router.descendants()} == children
    answer = await mesh.call("probe.top@1", "call", {"service": "probe.word@1", "method": "context"})
    assert answer["result"]["audience"].startswith("one@")


async def test_a_call_in_prepare_that_is_not_marked_so_is_refused(mesh: Mesh) -> None:
    ended = await mesh.apply(*ENTRIES, WRITER, services=[CHOICE])
    assert ended.outcome == "committed"
    (refused,) = [line for line in mesh.recorded() if line.startswith("writer prepare:")]
    assert "preparation_only" in refused


async def test_a_document_that_is_none_is_rejected_with_line_and_column(unchanged: Mesh) -> None:
    unchanged.composition.write_text('{"version": 4,\n "modules": ')
    ended = await unchanged.apply_file()
    assert ended.outcome == "rejected"
    assert [each.where.rpartition("/")[2] for each in ended.problems] == ["composition.json:2:12"]


async def test_a_module_that_no_composition_has_is_refused_with_the_nearest_name(unchanged: Mesh) -> None:
    for asked in (unchanged.reload("asside"), unchanged.switch("asside", enabled=False)):
        error = await failure(asked)
        assert error.code == "invalid_request"
        assert error.message == "the composition has no module asside; did you mean 'aside'?"


async def test_a_reload_of_what_is_disabled_says_so(mesh: Mesh) -> None:
    await mesh.switch("aside", enabled=False)
    error = await failure(mesh.reload("aside"))
    assert (error.code, error.message) == ("invalid_request", "aside is disabled")
    assert error.remedy == "`wuu-mesh enable aside` starts it."


async def test_a_failed_activate_leaves_the_new_generation_degraded_and_nothing_goes_back(mesh: Mesh) -> None:
    failing = probe("aside", provides=["probe.aside@1"], steps={"activate": Action(error="no effect")})
    ended = await mesh.apply(BASE, ONE, TWO, TOP, failing, services=[CHOICE])
    assert (ended.outcome, ended.generation.id, ended.generation.state) == ("committed", "2", "degraded")
    assert list(ended.generation.diagnostics) == ["aside: activate: no effect"]
    error = await failure(mesh.call("probe.aside@1", "echo"))
    assert error.code == "service_unavailable"
    assert (await mesh.generations())["2"].state == "degraded"


async def test_what_failed_before_and_did_not_change_holds_nothing_up(mesh: Mesh) -> None:
    exits = Entry(id="exits", argv=("sh", "-c", "exit 3"))
    await mesh.stop()
    mesh.compose(*ENTRIES, exits, services=[CHOICE])
    mesh.start()
    assert mesh.module("exits")["state"] == "failed"
    starts = mesh.log("exits")
    ended = await mesh.apply(*ENTRIES, exits, services=[select("probe.word@1", "two")])
    assert ended.outcome == "committed"
    assert mesh.module("exits")["state"] == "failed"
    assert mesh.log("exits") == starts


async def test_what_never_started_is_disabled_and_removed_like_everything_else(mesh: Mesh) -> None:
    exits = Entry(id="exits", argv=("sh", "-c", "exit 3"))
    await mesh.stop()
    mesh.compose(*ENTRIES, exits, services=[CHOICE])
    mesh.start()
    before = pids(mesh)
    assert (await mesh.switch("exits", enabled=False)).outcome == "committed"
    assert mesh.module("exits")["state"] == "disabled"
    assert (await mesh.apply(*ENTRIES, services=[CHOICE])).outcome == "committed"
    del before["exits"]
    assert pids(mesh) == before


async def test_a_client_that_goes_away_leaves_the_transition_to_its_end(mesh: Mesh) -> None:
    asked: asyncio.Task[Any] = asyncio.create_task(mesh.reload("base"))
    await mesh.happens("transition", "reload base", "running")
    asked.cancel()
    await asyncio.wait((asked,))
    await mesh.happens("transition", "reload base", "committed")


async def test_a_stop_during_a_transition_leaves_no_process(mesh: Mesh) -> None:
    slow = probe("slow", steps={"prepare": Action(hang=True)})
    asked = asyncio.create_task(failure(mesh.apply(*ENTRIES, slow, services=[CHOICE])))
    await mesh.happens("generation", "2", "building")
    processes = [Process(each.pid) for each in mesh.router.descendants()]
    (router := mesh.router).signal(15)
    assert router.ends(5)
    assert all(each.ends(2) for each in processes)
    assert (await asked).code in ("generation_closed", "service_unavailable")


@pytest.mark.parametrize("moment", [("generation", "2", "building"), ("module", "slow", "failed")])
async def test_a_stop_while_a_candidate_is_dropped_goes_through(
    mesh: Mesh, moment: tuple[str, str, str]
) -> None:
    slow = probe("slow", steps={"prepare": Action(error="no"), "shutdown": Action(hang=True)})
    asked = asyncio.create_task(failure(mesh.apply(*ENTRIES, slow, services=[CHOICE])))
    await mesh.happens(*moment)
    (router := mesh.router).signal(15)
    assert router.ends(5)
    assert (await asked).code in ("generation_closed", "service_unavailable")
