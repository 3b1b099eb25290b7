"""Replies that are not what they should be are told with the provider's name, and never as an accident."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest
from google.protobuf.descriptor_pb2 import FileDescriptorSet

from tests.cli.command import composed
from tests.cli.rude import descriptors, rude
from tests.support.mesh import Mesh
from wuu.mesh.v1 import options_pb2


def unversioned() -> bytes:
    """Descriptors of a contract whose version is none."""
    files: Any = FileDescriptorSet.FromString(descriptors())
    # The option has to be known where the file is.
    option: Any = options_pb2.DESCRIPTOR
    files.file[0].dependency.append(option.name)
    contract = files.file[0].service[0].options.Extensions[options_pb2.service]
    contract.name, contract.version = "unversioned.typed", "one"
    for needed in (*option.dependencies, option):
        needed.CopyToProto(files.file.add())
    files.file.append(files.file.pop(0))
    serialized: bytes = files.SerializeToString()
    return serialized


@pytest.fixture(scope="module")
async def ruffians() -> AsyncIterator[Mesh]:
    """Rude modules, with good and with bad descriptors."""
    async with composed(rude("rude"), rude("garbled"), rude("unversioned"), rude("bare")) as mesh:
        for module, text in (
            ("rude", descriptors()),
            ("garbled", b"\xff\xff\xff"),
            ("unversioned", unversioned()),
        ):
            (mesh.directory / "packages" / module / "descriptors.binpb").write_bytes(text)
        mesh.start()
        yield mesh


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (
            ("call", "rude.loose", "answer", '"garbage"'),
            "protocol_violation: rude answered what is no wuu.mesh.v1.InvokeResponse",
        ),
        (
            ("call", "rude.loose", "answer", '"nonsense"'),
            "protocol_violation: rude answered a result that is not JSON: ",
        ),
        (
            ("call", "rude.typed", "say", '{"text":"a"}'),
            "protocol_violation: rude answered with a result: /: not a rude.v1.Text",
        ),
        (
            ("call", "garbled.typed", "say"),
            "host_error: descriptors.binpb in the package of garbled cannot be used: ",
        ),
        (
            ("call", "unversioned.typed", "say"),
            "host_error: descriptors.binpb in the package of unversioned cannot be used: ",
        ),
        (
            ("call", "bare.typed", "say"),
            "host_error: rude.v1.Typed/Say stands neither in proto/ nor in the package of bare",
        ),
        (
            ("tool", "run", "rude/garbage"),
            "protocol_violation: rude answered what is no wuu.mesh.v1.ExecuteToolResponse",
        ),
        (
            ("tool", "run", "rude/nonsense"),
            "protocol_violation: rude answered what JSON cannot say: /content: ",
        ),
        (
            ("tool", "run", "rude/nonsense", "--json"),
            "protocol_violation: rude answered what JSON cannot say: ",
        ),
    ],
)
async def test_a_reply_that_cannot_be_read_is_its_providers_fault(
    ruffians: Mesh, arguments: tuple[str, ...], said: str
) -> None:
    answer = ruffians.cli(*arguments)
    assert (answer.returncode, answer.stdout) == (1, "")
    assert answer.stderr.startswith(f"wuu-mesh: {said}"), answer.stderr
    assert "Traceback" not in answer.stderr
    assert "\n  → " in answer.stderr


async def test_what_the_others_answer_is_printed(ruffians: Mesh) -> None:
    answer = ruffians.cli("tool", "run", "rude/polite")
    assert (answer.returncode, answer.stdout, answer.stderr) == (0, "well\n", "")


async def test_what_python_cannot_hold_is_printed_all_the_same(ruffians: Mesh) -> None:
    answer = ruffians.cli("tool", "run", "rude/extreme")
    assert (answer.returncode, answer.stderr) == (0, "")
    assert '"n": 1e999' in answer.stdout
    assert answer.stdout.endswith('"text": 7\n}\nwell\n')


async def test_a_deadline_of_which_somebody_else_tells_keeps_its_words(ruffians: Mesh) -> None:
    answer = ruffians.cli("call", "rude.loose", "answer", '"late"', "--timeout", "50")
    assert answer.returncode == 1
    assert answer.stderr.startswith("wuu-mesh: own_deadline: a deadline of its own\n")
    assert "no answer within" not in answer.stderr
