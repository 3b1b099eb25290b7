"""`graph`: the modules, what they serve to whom, and the state of each, as a tree and as drawings."""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator
from xml.etree import ElementTree

import pytest

from tests.cli.command import composed
from tests.support.composition import probe, select
from tests.support.mesh import Mesh
from tests.support.script import Action

SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture(scope="module")
async def mesh() -> AsyncIterator[Mesh]:
    """A chain of three, a module that has nobody, and one that fails."""
    async with composed(
        probe("base", provides=["probe.word@1"]),
        probe("front", provides=["probe.word@1"], requires=["probe.word@1"]),
        probe("user", requires=["probe.word@1", "probe.absent@1?"]),
        probe("lonely", requires=["probe.nobody@1"]),
        probe("failing", provides=["probe.failing@1"], steps={"prepare": Action(error='no "way"')}),
        services=[
            select("probe.word@1", "front"),
            select("probe.word@1", "base", consumer="front"),
        ],
    ) as mesh:
        mesh.up()
        yield mesh


def drawn(mesh: Mesh, form: str) -> str:
    answer = mesh.cli("graph", "--format", form)
    assert answer.returncode == 0, answer.stderr
    return answer.stdout


async def test_the_tree_has_consumers_above_their_providers_and_the_state_of_each(mesh: Mesh) -> None:
    tree = drawn(mesh, "text")
    assert tree.startswith("generation 1 active\n")
    lines = [line.strip("│├└─ ") for line in tree.splitlines()]
    user = lines.index("user active")
    assert lines[user + 1].startswith("probe.word@1 → front active (")
    assert lines[user + 2] == "provides probe.word@1.0.0"
    assert lines[user + 3].startswith("probe.word@1 → base active (")
    absent = "probe.absent@1 → nobody: service_optional_absent"
    assert any(line.startswith(absent) for line in lines)
    assert any(line.startswith("lonely blocked: requires probe.nobody@1") for line in lines)
    assert any(line.startswith("failing failed: ") and 'no "way"' in line for line in lines)


async def test_for_programs_it_has_every_binding_with_its_source(mesh: Mesh) -> None:
    graph = json.loads(mesh.cli("graph", "--json").stdout)
    assert graph["generation"] == {"id": "1", "state": "active"}
    modules = {row["id"]: row for row in graph["modules"]}
    (binding,) = modules["front"]["bindings"]
    assert (binding["provider"], binding["local"]) == ("base", True)
    assert re.fullmatch(rf"{re.escape(str(mesh.composition))}:\d+", binding["source"])
    assert modules["lonely"]["error"]["code"] == "service_not_found"
    assert modules["lonely"]["bindings"][0]["error"]["code"] == "service_not_found"
    (word,) = [row for row in graph["services"] if row["service"] == "probe.word"]
    assert word["provider"] == "front"


async def test_mermaid_draws_every_module_and_every_edge(mesh: Mesh) -> None:
    text = drawn(mesh, "mermaid")
    assert "flowchart TB" in text
    assert "title: generation 1 active" in text
    names = dict(re.findall(r'(m\d+)\["([^<]+)<br/>', text))
    edges = re.findall(r'(m\d+) (==>|-->|-\.->)\|"([^"]+)"\| (m\d+)$', text, re.MULTILINE)
    assert {(names[one], arrow, service, names[other]) for one, arrow, service, other in edges} == {
        ("user", "-->", "probe.word@1", "front"),
        ("front", "==>", "probe.word@1", "base"),
    }
    assert 'service_not_found"' in text and 'service_optional_absent"' in text


async def test_dot_is_taken_by_graphviz_and_svg_is_its_drawing(mesh: Mesh) -> None:
    assert '"front" -> "base"' in drawn(mesh, "dot")
    svg = drawn(mesh, "svg")
    drawing = ElementTree.fromstring(svg)
    assert drawing.tag == f"{SVG}svg"
    said = {text.text for text in drawing.iter(f"{SVG}text")}
    assert {"user", "front", "base", "lonely", "failing", "active", "blocked", "failed"} <= said
    assert "generation 1 active" in said
    assert drawn(mesh, "svg") == svg


async def test_without_graphviz_it_says_what_to_install(mesh: Mesh) -> None:
    answer = mesh.cli("graph", "--format", "svg", env={"PATH": "/nowhere"})
    assert (answer.returncode, answer.stdout) == (1, "")
    assert "there is no `dot` on PATH" in answer.stderr
    assert "apt-get install graphviz" in answer.stderr


async def test_a_composition_is_drawn_without_a_mesh(mesh: Mesh) -> None:
    answer = mesh.cli("graph", "-c", mesh.composition)
    assert answer.returncode == 0
    assert answer.stdout.startswith("no mesh runs; this is what would\n")
    assert "front ready" in answer.stdout


async def test_an_unknown_form_is_a_mistake_of_usage(mesh: Mesh) -> None:
    answer = mesh.cli("graph", "--format", "png")
    assert (answer.returncode, answer.stdout) == (2, "")
    assert "mermaid" in answer.stderr
