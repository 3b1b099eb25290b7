"""`call`: one method of a service, JSON in and JSON out."""

from __future__ import annotations

import json
import os

import pytest

from contract.transport import MESSAGE_LIMIT
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
    # The command's own clock or the router's, whichever is first.
    assert answer.stderr.startswith("wuu-mesh: deadline_exceeded: ")
    assert any(who in answer.stderr for who in ("no answer within 0.5 s", "notes did not answer"))
    assert "check before you repeat it" in answer.stderr
    assert await mesh.call("probe.notes@1", "cancelled", {"key": "late"}) == 1


async def test_a_timeout_is_a_time(mesh: Mesh) -> None:
    assert mesh.cli("call", "probe.notes@1", "echo", "--timeout", "0").returncode == 2
    assert mesh.cli("call", "probe.notes@1", "echo", "--timeout", "1e12").returncode == 2


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
        (("probe.notes@1", "ech"), "method_not_found", "did you mean 'echo'?"),
        (("probe.notes@1", "echo", "--as", "nobody"), "invalid_request", "nobody"),
        (("probe.notes@1", "echo", "--as", "borower"), "invalid_request", "did you mean 'borrower'?"),
        ((f"probe.notes@{'9' * 5000}", "echo"), "invalid_request", "is not a service name"),
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


@pytest.mark.parametrize(
    ("argument", "given", "mistake"),
    [
        ("-", b"{", "standard input is not JSON: 1:2: the text ends before the JSON does"),
        ("-", b'\n{"a": 1,}', "standard input is not JSON: 2:8: there is a trailing comma"),
        ("-", b" \n", "standard input is empty"),
        ("-", b"", "standard input is empty"),
        ("-", b'"\xff"', "standard input is not JSON: 1:2: this is not UTF-8"),
        (
            "{a: 1}",
            b"",
            "the argument is not JSON: 1:2: a is not JSON; names and text stand in double quotes",
        ),
        (" ", b"", "the argument is empty"),
    ],
)
async def test_input_that_is_not_json_is_a_mistake_of_usage(
    mesh: Mesh, argument: str, given: bytes, mistake: str
) -> None:
    answer = mesh.cli("call", "probe.notes@1", "echo", argument, stdin=given)
    assert (answer.returncode, answer.stdout) == (2, "")
    assert answer.stderr.startswith(f"wuu-mesh: {mistake}")
    assert "\n  → Put JSON into single quotes" in answer.stderr


async def test_standard_input_may_begin_as_a_file_of_windows_does(mesh: Mesh) -> None:
    assert mesh.cli("call", "probe.notes@1", "echo", "-", stdin=b"\xef\xbb\xbf[1]").stdout == "[1]\n"


@pytest.mark.parametrize("module", ["Notes", "nötes", "-x", "a b", "a" * 129, os.fsdecode(b"\xff")])
async def test_what_is_no_id_of_a_module_is_a_mistake_of_usage(mesh: Mesh, module: str) -> None:
    for arguments in (
        ("call", "probe.notes@1", "echo", f"--as={module}"),
        ("tool", "run", "--", f"{module}/echo"),
        ("logs", "--", module),
    ):
        answer = mesh.cli(*arguments)
        assert (answer.returncode, answer.stdout) == (2, ""), arguments
        assert "is not the id of a module\n  → It matches ^[a-z0-9]" in answer.stderr, answer.stderr


async def test_a_service_that_is_not_ascii_is_a_mistake_of_usage(mesh: Mesh) -> None:
    answer = mesh.cli("call", "pröbe.notes", "echo")
    assert (answer.returncode, answer.stdout) == (2, "")
    assert "'pröbe.notes' is not a service name\n  → " in answer.stderr


@pytest.mark.parametrize(
    "command", [("call", "probe.notes@1", "echo", "-"), ("tool", "run", "notes/echo", "-")]
)
async def test_a_request_that_is_too_large_is_never_sent(mesh: Mesh, command: tuple[str, ...]) -> None:
    answer = mesh.cli(*command, stdin=b'{"a":"' + b"a" * MESSAGE_LIMIT + b'"}')
    assert (answer.returncode, answer.stdout) == (1, "")
    said, became, remedy = answer.stderr.splitlines()
    assert said.startswith("wuu-mesh: limit_exceeded: the request has 671")
    assert became == "  not_dispatched: the provider never saw the call"
    assert remedy == "  → Send less at once; large data goes in ranges."


async def test_what_an_error_says_is_printed_as_it_stands(mesh: Mesh) -> None:
    params = json.dumps({"code": "own_code", "message": "[/red] on [red]fire :boom:"})
    answer = mesh.cli("call", "probe.notes@1", "error", params)
    assert answer.stderr == "wuu-mesh: own_code: [/red] on [red]fire :boom:\n"


async def test_what_a_provider_says_never_steers_the_terminal(mesh: Mesh) -> None:
    failing = '{"code": "own_code", "message": "\\u001b[2Jgone\\u0007"}'
    answer = mesh.cli("call", "probe.notes@1", "error", failing)
    assert answer.returncode == 1
    assert "own_code: \ufffd[2Jgone\ufffd\n" in answer.stderr
