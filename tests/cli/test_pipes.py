"""Where the output goes: a reader that leaves, a disk that is full, nowhere at all."""

from __future__ import annotations

import os
import subprocess

import pytest

from tests.cli.command import script
from tests.support.mesh import Mesh
from tests.support.process import PATIENCE


@pytest.mark.parametrize(
    "command",
    ["up --help", "status", "logs", "call probe.notes echo 1"],
)
async def test_a_reader_that_has_left_ends_a_command_without_a_word(mesh: Mesh, command: str) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    talking = mesh.spawn(*command.split(), stdout=writer, stderr=subprocess.PIPE)
    os.close(writer)
    _, said = talking.communicate(timeout=PATIENCE)
    assert said == b""


@pytest.mark.parametrize("command", ["--version", "status"])
async def test_a_full_disk_is_told(mesh: Mesh, command: str) -> None:
    done = script(f"wuu-mesh {command} > /dev/full", mesh)
    assert done.returncode in (1, 2)
    assert done.stderr == "wuu-mesh: No space left on device\n"


async def test_closed_streams_do_no_harm(mesh: Mesh) -> None:
    done = script("wuu-mesh status <&- >&- 2>&-", mesh)
    assert (done.returncode, done.stderr) == (0, "")
