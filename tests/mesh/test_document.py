"""A document that cannot be used is refused as a whole: where it is wrong, and what may have been meant."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any

import pytest

from tests.support.composition import Entry, probe, select
from tests.support.mesh import Mesh

PROVIDER = probe("provider", provides=["probe.low@1"])
CONSUMER = probe("consumer", requires=["probe.low@1"], provides=["probe.high@1"])


@pytest.fixture(scope="module")
async def mesh() -> AsyncIterator[Mesh]:
    """A mesh that never starts."""
    mesh = Mesh(PROVIDER, CONSUMER)
    yield mesh
    await mesh.close()


def refused(mesh: Mesh, document: str | dict[str, Any]) -> str:
    """What `up` says of a document, having started nothing that still runs."""
    mesh.composition.write_text(document if isinstance(document, str) else json.dumps(document, indent=1))
    answer = mesh.cli("up", "--detach", "-c", mesh.composition)
    assert answer.returncode == 2, answer.stderr
    assert "Traceback" not in answer.stderr
    assert mesh.announced is None
    return answer.stderr


def document(**fields: Any) -> dict[str, Any]:
    """A document that would start."""
    return {
        "version": 4,
        "modules": {"provider": True, "consumer": True},
        "packages": ["packages/*"],
        **fields,
    }


async def test_a_composition_that_is_not_there(mesh: Mesh) -> None:
    answer = mesh.cli("up", "--detach", "-c", mesh.directory / "nowhere.json")
    assert answer.returncode == 2
    assert f"{mesh.directory / 'nowhere.json'}: No such file or directory" in answer.stderr
    assert "-c FILE" in answer.stderr


async def test_a_composition_that_is_a_directory(mesh: Mesh) -> None:
    answer = mesh.cli("up", "--detach", "-c", mesh.directory)
    assert answer.returncode == 2
    assert "Is a directory" in answer.stderr


@pytest.mark.parametrize(
    ("text", "line", "column"),
    [("", 1, 1), ("{", 1, 2), ('{\n "version": 4,\n "modules": {,}\n}', 3, 14), ("[1] x", 1, 5)],
)
async def test_what_is_not_json_is_told_with_line_and_column(
    mesh: Mesh, text: str, line: int, column: int
) -> None:
    assert f"{mesh.composition}:{line}:{column}: " in refused(mesh, text)


@pytest.mark.parametrize(
    ("fields", "where", "what"),
    [
        ({"version": 5}, "/version", "5 is not a known version; write version 4"),
        ({"version": "4"}, "/version", "is not a known version"),
        ({"profile": "headles"}, "/profile", "did you mean 'headless'?"),
        ({"module": {}}, "/module", "unknown field; did you mean 'modules'?"),
        ({"modules": {"provider": {"enable": True}}}, "/modules/provider/enable", "did you mean 'enabled'?"),
        ({"modules": {"provider": 1}}, "/modules/provider", "must be true, false or an object"),
        ({"modules": {"provider": {"timeout": 0}}}, "/modules/provider/timeout", "greater than 0"),
        ({"services": [{"service": "Low"}]}, "/services/0/service", "is not a service name"),
        ({"services": [{"service": "a.b", "major": "1"}]}, "/services/0/major", "must be an integer"),
        ({"packages": ["nowhere/*"]}, "/packages/0", "matches no directory"),
    ],
)
async def test_what_the_form_does_not_know_is_told_with_its_pointer(
    mesh: Mesh, fields: dict[str, Any], where: str, what: str
) -> None:
    said = refused(mesh, document(**fields))
    assert re.search(rf"{re.escape(str(mesh.composition))}:[0-9]+: {where}: .*{re.escape(what)}", said), said


async def test_a_key_that_is_given_twice_is_told_with_both_lines(mesh: Mesh) -> None:
    said = refused(mesh, '{"version": 4,\n "modules": {},\n "modules": {}}')
    assert "/modules: is given again on line 3; keep one" in said


async def test_every_problem_is_told_at_once(mesh: Mesh) -> None:
    said = refused(mesh, {"version": 1, "profil": 1, "modules": []})
    assert "/version" in said and "/profil" in said and "/modules" in said


async def test_an_unknown_module_is_told_with_the_nearest(mesh: Mesh) -> None:
    said = refused(mesh, document(modules={"providr": True}))
    assert f"{mesh.composition}:4: no package offers module" in said
    assert "no package offers module 'providr'; did you mean 'provider'?" in said


def refused_selection(mesh: Mesh, selection: dict[str, object], *entries: Entry) -> str:
    """What `up` says of a selection."""
    mesh.compose(*(entries or (PROVIDER, CONSUMER)), services=[selection])
    return refused(mesh, mesh.composition.read_text())


async def test_an_unknown_provider_is_told_with_its_line_and_the_nearest(mesh: Mesh) -> None:
    said = refused_selection(mesh, select("probe.low@1", "providr"))
    (line,) = re.findall(rf"{re.escape(str(mesh.composition))}:(\d+): ", said)
    assert mesh.composition.read_text().splitlines()[int(line)].strip() == '"service": "probe.low",'
    assert "no package offers provider 'providr'; did you mean 'provider'?" in said


async def test_an_unknown_consumer_is_told_with_the_nearest(mesh: Mesh) -> None:
    said = refused_selection(mesh, select("probe.low@1", "provider", consumer="consumr"))
    assert "no package offers consumer 'consumr'; did you mean 'consumer'?" in said


async def test_a_provider_that_does_not_provide_what_it_is_selected_for(mesh: Mesh) -> None:
    said = refused_selection(mesh, select("probe.high@1", "provider"))
    assert "'provider' does not provide probe.high@1; it provides probe.low@1" in said


async def test_a_provider_that_provides_another_major_of_it(mesh: Mesh) -> None:
    said = refused_selection(mesh, select("probe.low@2", "provider"))
    assert "'provider' does not provide probe.low@2; it provides probe.low@1" in said


async def test_a_consumer_that_does_not_require_what_is_selected_for_it(mesh: Mesh) -> None:
    said = refused_selection(mesh, select("probe.low@1", "provider", consumer="provider"))
    assert "'provider' does not require probe.low@1; it requires none" in said


async def test_a_provider_that_is_not_in_the_composition(mesh: Mesh) -> None:
    said = refused_selection(mesh, select("probe.low@1", "provider"), CONSUMER)
    assert "provider 'provider' is not in the composition; add it to modules" in said


async def test_a_provider_that_is_disabled(mesh: Mesh) -> None:
    disabled = replace(PROVIDER, enabled=False)
    said = refused_selection(mesh, select("probe.low@1", "provider"), disabled, CONSUMER)
    assert "provider 'provider' is disabled in modules" in said


async def test_a_cycle_is_told_as_a_chain(mesh: Mesh) -> None:
    mesh.compose(
        probe("a", provides=["probe.a@1"], requires=["probe.b@1"]),
        probe("b", provides=["probe.b@1"], requires=["probe.a@1"]),
    )
    said = refused(mesh, mesh.composition.read_text())
    assert "requirement cycle a → b → a: a requires probe.b@1 of b (only provider)" in said


async def test_a_self_route_is_told(mesh: Mesh) -> None:
    mesh.compose(probe("alone", provides=["probe.self@1"], requires=["probe.self@1"]))
    said = refused(mesh, mesh.composition.read_text())
    assert "alone provides and requires probe.self@1 and is the only provider" in said


async def test_what_is_refused_after_a_start_leaves_no_process(mesh: Mesh) -> None:
    """Selections are held to declarations, which are known once the modules were asked."""
    mesh.compose(PROVIDER, CONSUMER, services=[select("probe.high@1", "provider")])
    up = mesh.spawn("up", "--detach", "-c", mesh.composition, stderr=subprocess.PIPE)
    assert up.stderr is not None
    assert up.stderr.readline() == b"module provider starting\n"
    processes = [mesh.router, *mesh.router.descendants()]
    up.communicate()
    assert up.returncode == 2
    assert all(process.ends() for process in processes)
