"""`call`: one method of a service, JSON in and JSON out."""

from __future__ import annotations

import json

import pytest

from tests.support.mesh import Mesh


async def test_a_result_is_printed_byte_for_byte(mesh: Mesh) -> None:
    params = '{"b": 1.0,  "a": [1e2, "\\u00e9"]}'
    answer = mesh.cli("call", "probe.notes@1", "echo", params)
    assert (answer.returncode, answer.stdout, answer.stderr) == (0, params + "\n", "")


async def test_input_comes_from_standard_input_where_it_is_a_dash(mesh: Mesh) -> None:
    answer = mesh.cli("call", "probe.notes@1", "echo", "-", stdin=b"[1,\n 2.0]\n")
    assert (answer.returncode, answer.stdout) == (0, "[1,\n 2.0]\n")


async def test_input_may_be_left_out(mesh: Mesh) -> None:
    assert mesh.cli("call", "probe.notes@1", "echo").stdout == "null\n"


async def test_the_major_may_be_left_out_where_there_is_one(mesh: Mesh) -> None:
    assert mesh.cli("call", "probe.notes", "echo", "1").stdout == "1\n"


async def test_a_call_is_given_up_after_its_timeout_and_cancelled(mesh: Mesh) -> None:
    answer = mesh.cli("call", "probe.notes@1", "hang", '{"key":"late"}', "--timeout", "0.5")
    assert answer.returncode == 1
    assert "deadline_exceeded: no answer within 0.5 s" in answer.stderr
    assert "check before you repeat it" in answer.stderr
    assert await mesh.call("probe.notes@1", "cancelled", {"key": "late"}) == 1


async def test_a_timeout_is_a_time(mesh: Mesh) -> None:
    assert mesh.cli("call", "probe.notes@1", "echo", "--timeout", "0").returncode == 2


async def test_a_terminal_gets_a_layout(mesh: Mesh) -> None:
    with mesh.terminal("call", "probe.notes@1", "echo", '{"a":[1,2]}') as terminal:
        assert terminal.end() == '{\n  "a": [\n    1,\n    2\n  ]\n}\n'


async def test_a_typed_service_takes_and_gives_json(mesh: Mesh) -> None:
    written = mesh.cli(
        "call",
        "state.documents@1",
        "commit",
        '{"id":"t1","expected_revision":"0","writes":[{"namespace":"n","key":"k","value":{"b":1.0, "a":2}}]}',
    )
    assert written.returncode == 0, written.stderr
    read = mesh.cli("call", "state.documents@1", "read", '{"namespace":"n"}')
    assert '"value":{"b":1.0, "a":2}' in read.stdout
    assert json.loads(read.stdout)["documents"][0]["key"] == "k"


async def test_a_wrong_field_is_told_by_its_pointer(mesh: Mesh) -> None:
    answer = mesh.cli("call", "state.documents@1", "read", '{"namespaces":"n"}')
    assert answer.returncode == 1
    assert answer.stdout == ""
    assert "invalid_params: /namespaces: ReadRequest has no such field" in answer.stderr


async def test_the_bindings_of_a_module_are_borrowed_and_its_identity_is_not(mesh: Mesh) -> None:
    answer = mesh.cli("call", "probe.twice@1", "context", "--as", "borrower")
    context = json.loads(answer.stdout)
    assert context["audience"].startswith("other@")
    assert context["caller"] == "wuu.operator"


@pytest.mark.parametrize(
    ("arguments", "code", "word"),
    [
        (("probe.note@1", "echo"), "service_not_found", "did you mean 'probe.notes'?"),
        (("probe.notes@9", "echo"), "service_version_mismatch", "probe.notes@1"),
        (("probe.twice@1", "echo"), "service_ambiguous", "notes and other"),
        (("probe.notes@1", "ech"), "method_not_found", "it has echo, "),
        (("probe.notes@1", "echo", "--as", "nobody"), "invalid_request", "nobody"),
        (("probe.streams@2", "scatter"), "host_error", "descriptors.binpb"),
        (("probe.notes@1", "error", '{"code":"state_conflict"}'), "state_conflict", "Read again"),
    ],
)
async def test_an_error_is_told_with_code_and_message_on_standard_error_and_exit_1(
    mesh: Mesh, arguments: tuple[str, ...], code: str, word: str
) -> None:
    answer = mesh.cli("call", *arguments)
    assert (answer.returncode, answer.stdout) == (1, "")
    assert answer.stderr.startswith(f"wuu-mesh: {code}: ")
    assert word in answer.stderr
    assert "Traceback" not in answer.stderr


async def test_an_error_says_what_became_of_the_call_and_what_to_do(mesh: Mesh) -> None:
    answer = mesh.cli("call", "probe.twice@1", "echo")
    said, became, remedy = answer.stderr.splitlines()
    assert said.startswith("wuu-mesh: service_ambiguous: ")
    assert became == "  not_dispatched: the provider never saw the call"
    assert remedy == "  → Select one under `services` in the composition."


@pytest.mark.parametrize("given", ["{", ""])
async def test_input_that_is_not_json_never_reaches_the_provider(mesh: Mesh, given: str) -> None:
    answer = mesh.cli("call", "probe.notes@1", "echo", "-", stdin=given.encode())
    assert (answer.returncode, answer.stdout) == (1, "")
    assert answer.stderr.startswith("wuu-mesh: invalid_params: the input is not JSON: ")
    assert "\n  → Put JSON into single quotes" in answer.stderr


async def test_what_an_error_says_is_printed_as_it_stands(mesh: Mesh) -> None:
    params = json.dumps({"code": "own_code", "message": "[/red] on [red]fire :boom:"})
    answer = mesh.cli("call", "probe.notes@1", "error", params)
    assert answer.stderr == "wuu-mesh: own_code: [/red] on [red]fire :boom:\n"
