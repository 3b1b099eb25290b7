"""`graph`: what runs, or would, as a tree and as drawings."""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator
from typing import Any
from xml.etree import ElementTree

import pytest
from pygraphviz import AGraph

from router.cli.graph.dot import dot
from router.cli.graph.drawing import drawing
from router.cli.graph.form import Form
from router.cli.graph.mermaid import mermaid
from router.cli.graph.svg import svg
from router.cli.graph.tree import tree
from router.cli.terminal import console
from tests.cli.command import composed
from tests.support.composition import Entry, probe, select
from tests.support.mesh import Mesh, running
from tests.support.script import Action
from wuu.mesh.v1.control_pb2 import GetGraphResponse
from wuu.mesh.v1.graph_pb2 import GraphEdge, GraphNode, GraphService

SVG = "{http://www.w3.org/2000/svg}"

WRITTEN = {"mermaid": mermaid, "dot": dot, "svg": svg}

ODD = "a \"b\" <c> & 'd' \\ #e; `f`"
"""Text with what the languages of drawings take for their own."""


def shown(mesh: Mesh, *options: str) -> list[str]:
    """The lines of the tree."""
    answer = mesh.cli("graph", *options)
    assert answer.returncode == 0, answer.stderr
    return answer.stdout.splitlines()


def written(mesh: Mesh, form: Form) -> str:
    answer = mesh.cli("graph", "--format", form)
    assert (answer.returncode, answer.stderr) == (0, "")
    return answer.stdout


def document(mesh: Mesh, *options: str) -> dict[str, Any]:
    answer = mesh.cli("graph", "--json", *options)
    assert answer.returncode == 0, answer.stderr
    found: dict[str, Any] = json.loads(answer.stdout)
    return found


def line_of(mesh: Mesh, text: str, behind: int = 0) -> str:
    """FILE:LINE of where a text first stands in the composition, or of so many lines behind it."""
    lines = mesh.composition.read_text().splitlines()
    first = next(number for number, line in enumerate(lines, 1) if text in line)
    return f"{mesh.composition}:{first + behind}"


# --- a tree ---


async def test_the_tree_of_a_mesh_begins_with_its_generation_and_has_every_state(mesh: Mesh) -> None:
    lines = shown(mesh)
    assert lines[0] == "generation 1 active"
    modules = [line[4:] for line in lines if line.startswith(("├── ", "└── "))]
    assert [line.partition(":")[0] for line in modules] == [
        "blocked blocked",
        "borrower active",
        "disabled disabled",
        "failed failed",
        "notes active",
        "wuu.state.sqlite active",
        "for everybody nobody serves",
    ]
    assert "the last words" in next(line for line in modules if line.startswith("failed"))


async def test_a_provider_stands_below_its_consumer_with_what_chose_it(mesh: Mesh) -> None:
    lines = [line.lstrip("│├└─ ") for line in shown(mesh)]
    # The one selection begins on the line behind this one.
    chosen = line_of(mesh, '"services": [', behind=1)
    assert f"probe.twice@1 → other active ({chosen}, for it alone)" in lines
    assert "probe.other@1? → other active (only provider) …" in lines
    assert "provides probe.other@1.0.0 for everybody (only provider)" in lines
    assert "provides state.documents@1.0.0 for everybody (profile headless)" in lines
    assert "named by " + line_of(mesh, '"notes": {') in lines


async def test_a_module_is_told_in_full_once(mesh: Mesh) -> None:
    lines = shown(mesh)
    assert len([line for line in lines if " other active" in line]) == 2
    assert len([line for line in lines if "provides probe.other@1.0.0" in line]) == 1


async def test_what_nobody_serves_is_in_the_tree_with_its_code(mesh: Mesh) -> None:
    lines = [line.lstrip("│├└─ ") for line in shown(mesh)]
    assert "probe.nobody@1 → nobody: service_not_found" in lines
    assert any(line.startswith("probe.absent@1? → nobody: service_optional_absent: notes ") for line in lines)
    assert any(line.startswith("probe.twice@1: service_ambiguous: ") for line in lines)


async def test_nothing_is_cut_off_on_a_narrow_terminal(mesh: Mesh) -> None:
    lines = shown(mesh)
    assert max(map(len, lines)) > 120
    with mesh.terminal("graph") as terminal:
        terminal.end()
    assert terminal.text.splitlines() == lines
    assert "\x1b[32mactive" in terminal.raw


def test_a_tree_is_as_deep_as_its_longest_chain() -> None:
    out = console()
    with out.capture() as captured:
        out.print(tree(chain(1500), "deep"), soft_wrap=True)
    assert len(re.findall(r"→ m\.\d+ active", captured.get())) == 1499


# --- providers in front of providers ---


@pytest.fixture(scope="module")
async def fronted() -> AsyncIterator[Mesh]:
    """A chain of three, a module that has nobody, and one that fails."""
    async with composed(
        probe("base", provides=["probe.word@1"]),
        probe("front", provides=["probe.word@1"], requires=["probe.word@1"]),
        probe("user", requires=["probe.word@1", "probe.absent@1?"]),
        probe("lonely", requires=["probe.nobody@1"]),
        probe("failing", provides=["probe.failing@1"], steps={"prepare": Action(error='no "way"')}),
        services=[select("probe.word@1", "front"), select("probe.word@1", "base", consumer="front")],
    ) as mesh:
        mesh.start()
        yield mesh


async def test_a_provider_stands_below_what_stands_in_front_of_it(fronted: Mesh) -> None:
    tree = written(fronted, Form.TEXT)
    assert tree.startswith("generation 1 active\n")
    lines = [line.lstrip("│├└─ ") for line in tree.splitlines()]
    first, second = (line_of(fronted, '"services": [', behind) for behind in (1, 6))
    user = lines.index("user active")
    assert lines[user + 1].startswith(f"named by {fronted.composition}:")
    assert lines[user + 2].startswith("probe.absent@1? → nobody: service_optional_absent: ")
    assert lines[user + 3] == f"probe.word@1 → front active ({first})"
    assert lines[user + 4].startswith(f"named by {fronted.composition}:")
    assert lines[user + 5] == f"provides probe.word@1.0.0 for everybody ({first})"
    assert lines[user + 6] == f"probe.word@1 → base active ({second}, for it alone)"
    assert any(line.startswith("lonely blocked: requires probe.nobody@1") for line in lines)
    assert any(line.startswith("failing failed: ") and 'no "way"' in line for line in lines)


async def test_every_edge_of_a_chain_is_drawn(fronted: Mesh) -> None:
    text = written(fronted, Form.MERMAID)
    named = dict(re.findall(r'(v\d+)\W+"(.*)<br/>', text))
    edges = re.findall(r"(v\d+) (==>|-->|-\.->) (v\d+)$", text, re.MULTILINE)
    joined = {(named[one], arrow, named[other]) for one, arrow, other in edges}
    assert {
        ("user", "-->", "probe.word@1"),
        ("probe.word@1", "-->", "front"),
        ("front", "==>", "probe.word@1"),
        ("probe.word@1", "-->", "base"),
        ("lonely", "-->", "probe.nobody@1"),
        ("user", "-.->", "probe.absent@1"),
    } <= joined
    assert "service_not_found" in text
    assert "service_optional_absent" in text
    # The choice for everybody and that of the one in front stand apart.
    assert list(named.values()).count("probe.word@1") == 2


async def test_the_svg_of_a_chain_says_what_failed(fronted: Mesh) -> None:
    root = ElementTree.fromstring(written(fronted, Form.SVG))
    said = {text.text for text in root.iter(f"{SVG}text")}
    assert {"user", "front", "base", "lonely", "failing", "active", "blocked", "failed"} <= said
    assert "generation 1 active" in said
    assert any('no "way"' in (title.text or "") for title in root.iter(f"{SVG}title"))


async def test_every_binding_of_a_chain_has_its_source(fronted: Mesh) -> None:
    graph = document(fronted)
    modules = {row["id"]: row for row in graph["modules"]}
    (binding,) = modules["front"]["bindings"]
    assert (binding["provider"], binding["local"]) == ("base", True)
    assert re.fullmatch(rf"{re.escape(str(fronted.composition))}:\d+", binding["source"])
    assert modules["lonely"]["bindings"][0]["error"]["code"] == "service_not_found"
    (word,) = [row for row in graph["services"] if row["service"] == "probe.word"]
    assert word["provider"] == "front"


# --- what changes ---


async def test_the_graph_follows_the_generation_that_runs() -> None:
    async with running(
        probe("consumer", requires=["probe.low@1?"]), probe("provider", provides=["probe.low@1"])
    ) as mesh:
        before = document(mesh)
        assert before["generation"] == {"id": "1", "state": "active"}
        assert mesh.cli("disable", "provider").returncode == 0
        after = document(mesh)
        assert after["generation"] == {"id": "2", "state": "active"}
        states = {row["id"]: row["state"] for row in after["modules"]}
        assert states == {"consumer": "active", "provider": "disabled"}
        assert shown(mesh)[0] == "generation 2 active"


async def test_a_file_that_is_named_is_drawn_as_it_would_run(mesh: Mesh) -> None:
    lines = shown(mesh, "-c", str(mesh.composition))
    assert lines[0] == f"{mesh.composition}, as it would run"
    assert any(line[4:].startswith("notes ready") or "→ notes ready" in line for line in lines)
    assert document(mesh, "-c", str(mesh.composition))["generation"] is None


async def test_without_a_mesh_what_never_started_is_unknown() -> None:
    async with composed(probe("notes", provides=["probe.notes@1"])) as mesh:
        answer = mesh.cli("graph", "-c", mesh.composition)
        assert answer.returncode == 0
        assert "notes declaration unknown" in answer.stdout
        assert not mesh.recorded()
        # Without a file it is what `up` would find.
        assert shown(mesh)[0].startswith("no mesh runs")


# --- drawings ---


async def test_mermaid_names_what_it_joins_and_nothing_by_its_id(mesh: Mesh) -> None:
    head, *lines = written(mesh, Form.MERMAID).partition("flowchart TB\n")[::2]
    assert head == "---\ntitle: 'generation 1 active'\n---\n"
    body = [line.strip() for line in lines[0].splitlines()]
    named = {found[1]: found[2] for line in body if (found := re.match(r'(v\d+)\W+"(.*)"', line))}
    assert "wuu.state.sqlite<br/>active" in named.values()
    assert "probe.absent@1<br/>nobody: service_optional_absent" in named.values()
    joined = [re.fullmatch(r"(v\d+) (-->|==>|-\.->) (v\d+)", line) for line in body]
    drawn = {(named[found[1]], found[2], named[found[3]]) for found in joined if found}
    assert ("notes<br/>active", "-.->", "probe.other@1<br/>only provider") in drawn
    assert ("probe.other@1<br/>only provider", "-->", "other<br/>active") in drawn
    assert [start for start, arrow, _ in drawn if arrow == "==>"] == ["borrower<br/>active"]


async def test_graphviz_reads_what_dot_writes(mesh: Mesh) -> None:
    read = AGraph(string=written(mesh, Form.DOT))
    assert read.graph_attr["label"] == "generation 1 active"
    modules = {"blocked", "borrower", "disabled", "failed", "notes", "other", "wuu.state.sqlite"}
    assert modules <= set(read.nodes())
    pairs = {(tail.split(" ")[0], head.split(" ")[0]) for tail, head in read.edges()}
    assert {("notes", "probe.other@1"), ("probe.other@1", "other"), ("blocked", "probe.nobody@1")} <= pairs


async def test_the_svg_has_every_module_with_its_state_and_the_generation(mesh: Mesh) -> None:
    root = ElementTree.fromstring(written(mesh, Form.SVG))
    assert root.tag == f"{SVG}svg"
    assert root.findtext(f"{SVG}title") == "generation 1 active"
    boxes = {
        tuple(text.text for text in group.iter(f"{SVG}text")): group.find(f"{SVG}rect")
        for group in root.iter(f"{SVG}g")
        if group.find(f"{SVG}rect") is not None
    }
    looks = {said: box.get("class") for said, box in boxes.items() if box is not None}
    assert looks["notes", "active"] == "box good"
    assert looks["failed", "failed"] == "box bad"
    assert looks["disabled", "disabled"] == "box off"
    assert looks["probe.nobody@1", "nobody: service_not_found"] == "missing"
    assert looks["state.documents@1", "profile headless"] == "service"
    style = root.findtext(f"{SVG}style") or ""
    assert "prefers-color-scheme: dark" in style


async def test_the_svg_tells_of_every_line_what_chose_it(mesh: Mesh) -> None:
    root = ElementTree.fromstring(written(mesh, Form.SVG))
    told = {path.findtext(f"{SVG}title"): path.get("class") for path in root.iter(f"{SVG}path")}
    assert told["other (only provider, for everybody)"] == "line optional"
    local = [title for title, look in told.items() if look == "line requires local"]
    assert len(local) == 1
    assert str(local[0]).startswith(f"other ({mesh.composition}:")


@pytest.mark.parametrize("form", [Form.MERMAID, Form.DOT, Form.SVG])
async def test_a_drawing_is_the_same_each_time(mesh: Mesh, form: Form) -> None:
    assert written(mesh, form) == written(mesh, form)


async def test_a_drawing_needs_nothing_on_the_path(mesh: Mesh) -> None:
    answer = mesh.cli("graph", "--format", "svg", env={"PATH": "/nowhere", "LC_ALL": "C"})
    assert (answer.returncode, answer.stdout) == (0, written(mesh, Form.SVG))


async def test_a_file_of_any_name_is_drawn() -> None:
    async with composed(Entry(id="wuu.state.sqlite")) as mesh:
        odd = mesh.directory / "a \"b\" <c> & 'd'.json"
        chosen = select("state.documents@1", "wuu.state.sqlite")
        odd.write_text(
            json.dumps({"version": 4, "modules": {"wuu.state.sqlite": True}, "services": [chosen]})
        )
        assert mesh.cli("check", "--start", "-c", odd).returncode == 0
        for form in WRITTEN:
            answer = mesh.cli("graph", "--format", form, "-c", odd)
            assert answer.returncode == 0, answer.stderr
            if form == "svg":
                texts = [each.text for each in ElementTree.fromstring(answer.stdout).iter(f"{SVG}text")]
                assert f"{odd}, as it would run" in texts
                assert f"{odd.name}:1" in texts
            if form == "dot":
                read = AGraph(string=answer.stdout)
                assert read.graph_attr["label"] == f"{odd}, as it would run"


def test_odd_text_stays_text() -> None:
    node = GraphNode(module="a.b-c", state="failed", reason=ODD, reason_code="host_error", source=f"/{ODD}:1")
    picture = GetGraphResponse(nodes=[node], services=[service("end", "a.b-c", f"/{ODD}:1")])
    drawn = drawing(picture, ODD)
    texts = [each.text for each in ElementTree.fromstring(svg(drawn)).iter(f"{SVG}text")]
    assert texts == [ODD, "a.b-c", "failed", "end@1", f"{ODD}:1"]
    (label,) = re.findall(r'\(\["(end.*)"\]\)', mermaid(drawn))
    assert re.sub(r"#(\d+);", lambda code: chr(int(code[1])), label) == f"end@1<br/>{ODD}:1"
    read = AGraph(string=dot(drawn))
    assert read.graph_attr["label"].replace("\\\\", "\\") == ODD


@pytest.mark.parametrize("form", WRITTEN)
def test_five_hundred_modules_are_drawn_without_one_missing(form: str) -> None:
    drawn = drawing(dense(500), "large")
    text = WRITTEN[form](drawn)
    for index in range(500):
        assert re.search(rf"m\.{index}\b", text)
    assert len(drawn.lines) == 500 + sum(min(index, 5) for index in range(500))


def test_consumers_of_one_choice_share_what_stands_for_it() -> None:
    drawn = drawing(dense(10), "")
    assert len([each for each in drawn.vertices if each.kind == "service"]) == 10


def test_what_starts_after_another_is_joined_to_it() -> None:
    nodes = [GraphNode(module="a", state="active", after=["b"]), GraphNode(module="b", state="active")]
    drawn = drawing(GetGraphResponse(nodes=nodes), "")
    (line,) = drawn.lines
    assert (line.start, line.end, line.kind) == (0, 1, "after")
    assert 'v0 -. "starts after" .- v1' in mermaid(drawn)
    assert "style=dotted" in dot(drawn)


# --- what is refused ---


async def test_a_rejected_composition_has_no_graph() -> None:
    async with composed(probe("a"), services=[select("probe.a@1", "nobody")]) as mesh:
        answer = mesh.cli("graph", "-c", mesh.composition)
        assert (answer.returncode, answer.stdout) == (2, "")
        assert f"{mesh.composition}:" in answer.stderr
        machine = mesh.cli("graph", "-c", mesh.composition, "--json")
        assert machine.returncode == 2
        assert json.loads(machine.stdout).keys() == {"problems"}


async def test_json_and_a_drawing_exclude_each_other(mesh: Mesh) -> None:
    answer = mesh.cli("graph", "--json", "--format", "svg")
    assert (answer.returncode, answer.stdout) == (2, "")
    assert "--json and --format svg exclude each other" in answer.stderr


async def test_a_form_that_does_not_exist_is_refused_with_those_that_do(mesh: Mesh) -> None:
    answer = mesh.cli("graph", "--format", "png")
    assert (answer.returncode, answer.stdout) == (2, "")
    assert all(form in answer.stderr for form in Form)


async def test_a_file_that_does_not_exist_is_refused(mesh: Mesh) -> None:
    answer = mesh.cli("graph", "-c", "nowhere.json")
    assert (answer.returncode, answer.stdout) == (2, "")
    assert "nowhere.json" in answer.stderr


# --- for programs ---


async def test_json_has_modules_bindings_and_services_with_sources(mesh: Mesh) -> None:
    found = document(mesh)
    assert found.keys() == {"generation", "modules", "services", "notes"}
    modules = {row["id"]: row for row in found["modules"]}
    (twice,) = modules["borrower"]["bindings"]
    assert (twice["provider"], twice["local"], twice["optional"], twice["error"]) == (
        "other",
        True,
        False,
        None,
    )
    assert twice["source"].startswith(f"{mesh.composition}:")
    bindings = {(each["service"], each["optional"]): each for each in modules["notes"]["bindings"]}
    assert bindings["probe.absent", True]["error"]["code"] == "service_optional_absent"
    assert modules["blocked"]["error"]["code"] == "service_not_found"
    assert modules["notes"]["source"] == line_of(mesh, '"notes": {')
    services = {row["service"]: row for row in found["services"]}
    assert services["state.documents"]["source"] == "profile headless"
    assert services["probe.twice"]["error"]["code"] == "service_ambiguous"


def service(name: str, provider: str, source: str) -> GraphService:
    return GraphService(service=name, major=1, version="1.0.0", provider=provider, source=source)


def chain(length: int) -> GetGraphResponse:
    """Modules of which each requires the next."""
    return woven(length, 1)


def dense(length: int) -> GetGraphResponse:
    """Modules of which each requires the five before it."""
    return woven(length, 5)


def woven(length: int, required: int) -> GetGraphResponse:
    def edge(index: int) -> GraphEdge:
        return GraphEdge(service=f"s.{index}", major=1, provider=f"m.{index}", source="c.json:1")

    nodes = [
        GraphNode(
            module=f"m.{index}",
            state="active",
            source="c.json:1",
            edges=[edge(other) for other in range(max(0, index - required), index)],
        )
        for index in range(length)
    ]
    services = [service(f"s.{index}", f"m.{index}", "c.json:1") for index in range(length)]
    return GetGraphResponse(nodes=nodes, services=services)
