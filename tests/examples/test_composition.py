"""The example composition, as an operator runs it and swaps its store by one line."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.examples.mesh import Mesh, RefusedError

TEXT = "The quick brown fox jumps over the lazy dog"


@pytest.fixture(scope="module")
def mesh() -> Iterator[Mesh]:
    with Mesh() as mesh:
        mesh.up()
        yield mesh


def test_every_module_of_the_composition_is_active(mesh: Mesh) -> None:
    assert {row["id"]: row["state"] for row in mesh.status()["modules"]} == {
        "example.word-count": "active",
        "example.writing-report": "active",
        "wuu.state.jsonl": "active",
        "wuu.state.sqlite": "active",
    }


def test_word_count_analyses_a_text(mesh: Mesh) -> None:
    answer = mesh.call("example.text.analysis@1", "analyze", {"text": "Ein Löwe, zwei Löwen 🦁"})
    assert answer == {"words": 4, "characters": 22, "longest": "Löwen"}


def test_word_count_refuses_what_is_not_a_text_and_says_where(mesh: Mesh) -> None:
    with pytest.raises(RefusedError, match="invalid_params: /text: must be a string"):
        mesh.call("example.text.analysis@1", "analyze", {"text": 3})


def test_the_report_tells_its_effects_truthfully(mesh: Mesh) -> None:
    listed = mesh.run("tool", "list", "--json")
    assert '"read_only": false' in listed
    assert '"concurrency_safe": false' in listed


def test_a_report_is_analysed_by_one_provider_and_kept_by_the_other(mesh: Mesh) -> None:
    before = mesh.tool("example.writing-report/report", {"text": ""})["structured_content"]["totals"]
    said = mesh.tool("example.writing-report/report", {"text": TEXT})
    totals = {"reports": before["reports"] + 1, "words": before["words"] + 9}
    assert said["structured_content"] == {"words": 9, "characters": 43, "longest": "quick", "totals": totals}
    assert said["content"][0]["text"].startswith("9 words, 43 characters, longest word: quick.")
    kept = mesh.call("state.documents@1", "read", {"namespace": "example.writing-report", "keys": ["totals"]})
    assert kept["documents"][0]["value"] == totals


def test_reports_that_compete_for_one_revision_are_all_counted(mesh: Mesh) -> None:
    before = mesh.tool("example.writing-report/report", {"text": ""})["structured_content"]["totals"]
    with ThreadPoolExecutor(4) as pool:
        runs = pool.map(lambda _: mesh.tool("example.writing-report/report", {"text": "a b"}), range(4))
        counted = sorted(run["structured_content"]["totals"]["reports"] for run in runs)
    assert counted == [before["reports"] + number for number in range(1, 5)]


def test_a_report_on_what_is_not_a_text_is_an_error_of_the_tool(mesh: Mesh) -> None:
    with pytest.raises(RefusedError, match="`text` must be a string"):
        mesh.tool("example.writing-report/report", {"text": None})


def test_the_store_is_swapped_by_one_line(mesh: Mesh) -> None:
    """Comes last: it leaves the mesh with the other store."""
    assert mesh.provider("state.documents") == "wuu.state.sqlite"
    check_that_documents_are_served(mesh)
    mesh.down()
    mesh.edit('"provider": "wuu.state.sqlite"', '"provider": "wuu.state.jsonl"')
    mesh.up()
    assert mesh.provider("state.documents") == "wuu.state.jsonl"
    check_that_documents_are_served(mesh)
    said = mesh.tool("example.writing-report/report", {"text": TEXT})
    # The other store is another store: nothing was carried over.
    assert said["structured_content"]["totals"] == {"reports": 1, "words": 9}


def check_that_documents_are_served(mesh: Mesh) -> None:
    query = {"namespace": "tests", "keys": ["greeting"]}
    before = mesh.call("state.documents@1", "read", query)
    assert before["documents"] == []
    document = {"namespace": "tests", "key": "greeting", "value": {"text": "hi"}}
    transaction = {"id": "tests/1", "expected_revision": before["revision"], "writes": [document]}
    receipt = mesh.call("state.documents@1", "commit", transaction)
    assert receipt["revision"] == str(int(before["revision"]) + 1)
    assert mesh.call("state.documents@1", "commit", transaction) == receipt
    assert mesh.call("state.documents@1", "read", query) == {
        "documents": [document],
        "revision": receipt["revision"],
    }
