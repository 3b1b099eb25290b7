"""The pages for authors keep what they claim: commands print that, plugins speak so, the code is ours."""

from __future__ import annotations

import json
import subprocess
from typing import Any

import msgspec
import pytest

from bridge_jsonl.messages import Initialize, ServiceInvoke, ToolExecute
from contract.handshake import read_handshake
from tests.examples.mesh import EXAMPLES, PATIENCE, ROOT, WUU_MESH, Mesh
from tests.examples.page import Block, blocks, commands, frames, write_files
from tests.examples.plugin import Plugin

PAGES = ("composition.md", "operators.md", "plugin-authors.md", "provider-authors.md", "wire.md")

MESSAGES = {"initialize": Initialize, "service.invoke": ServiceInvoke, "tool.execute": ToolExecute}


def of_page(page: str, kind: str) -> list[Block]:
    return [block for block in blocks(page) if block.kind == kind]


def of_kind(kind: str) -> list[Any]:
    return [
        pytest.param(block, id=f"{page}-{block.subject}") for page in PAGES for block in of_page(page, kind)
    ]


@pytest.mark.parametrize("page", PAGES[:-1])
def test_the_commands_of_a_page_print_what_it_says(page: str) -> None:
    with Mesh() as mesh:
        write_files(page, mesh.directory)
        (mesh.directory / "mesh").symlink_to(WUU_MESH)
        (mesh.directory / "examples").symlink_to(EXAMPLES)
        for block in of_page(page, "console"):
            for command, expected in commands(block):
                printed = run(command, mesh)
                assert expected.fullmatch(printed), f"$ {command}\n{printed}"


def run(command: str, mesh: Mesh) -> str:
    """What a command prints on a terminal, error or not, without white space at the ends of lines."""
    done = subprocess.run(
        ["bash", "-c", command],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        env=mesh.env,
        cwd=mesh.directory,
        timeout=PATIENCE,
        text=True,
        check=False,
    )
    return "\n".join(line.rstrip() for line in done.stdout.strip().splitlines())


@pytest.mark.parametrize("block", of_kind("excerpt"))
def test_the_code_of_a_page_stands_in_the_file_that_it_names(block: Block) -> None:
    assert block.text in (ROOT / block.subject).read_text()


@pytest.mark.parametrize("block", of_kind("wire"))
async def test_the_frames_of_a_page_are_what_goes_over_the_wire(block: Block) -> None:
    async with Plugin(ROOT / block.subject) as plugin:
        for arrow, frame in frames(block):
            if arrow == "→":
                await plugin.write(json.dumps(frame))
            else:
                assert await plugin.read() == frame


@pytest.mark.parametrize("block", of_kind("wire"))
def test_the_requests_of_the_host_have_the_fields_that_the_bridge_sends(block: Block) -> None:
    for _, frame in frames(block):
        shape = MESSAGES.get(frame.get("method", ""))
        if shape is not None:
            msgspec.json.decode(json.dumps(frame["params"]), type=shape)
            assert set(frame["params"]) <= set(shape.__struct_fields__)


@pytest.mark.parametrize("page", ["provider-authors.md", "wire.md"])
def test_the_handshake_of_a_page_is_one_byte_for_byte(page: str) -> None:
    [block] = of_page(page, "handshake")
    line = block.text.encode()
    assert msgspec.json.encode(read_handshake(line)) + b"\n" == line
