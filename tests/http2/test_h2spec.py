"""h2spec, every section of it, against the router's socket."""

from __future__ import annotations

import asyncio
import subprocess
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest
from filelock import FileLock

from tests.http2.excused import EXCUSED
from tests.http2.forwarder import forwarded
from tests.support.bare import WIRE

MODULE = Path(__file__).parent / "h2spec"

TIMEOUT = "6"
"""Seconds that a case waits: behind the one that sends 65,537 requests the next has to."""

LONG_HEADER = "16000"
"""Bytes of a long field, so that five of them are more than a frame of ours may have."""


@pytest.fixture(scope="module")
def h2spec() -> Path:
    """The program, built. The first time needs a network."""
    binary = MODULE / "build" / "h2spec"
    with FileLock(MODULE / ".lock"):
        command = ("go", "build", "-o", str(binary), "github.com/summerwind/h2spec/cmd/h2spec")
        subprocess.run(command, cwd=MODULE, check=True)
    return binary


@pytest.mark.parametrize("acknowledging", [True, False])
async def test_h2spec_passes_but_for_what_is_excused(
    h2spec: Path, control: Path, tmp_path: Path, acknowledging: bool
) -> None:
    """Until our settings are acknowledged a client may use a table of fields, and afterwards it may not."""
    report = tmp_path / "report.xml"
    async with forwarded(control, acknowledging=acknowledging) as port:
        arguments = (
            "--strict",
            "--port",
            str(port),
            "--path",
            f"/{WIRE}/Echo",
            "--junit-report",
            str(report),
        )
        process = await asyncio.create_subprocess_exec(
            h2spec,
            *arguments,
            "--max-header-length",
            LONG_HEADER,
            "--timeout",
            TIMEOUT,
            stdout=asyncio.subprocess.PIPE,
        )
        output, _ = await process.communicate()
    passed, others = results(report)
    mode = "acknowledged" if acknowledging else "unacknowledged"
    excused = {(each.section, each.case): each for each in EXCUSED if each.mode in ("both", mode)}
    said = output.decode().partition("Failures:")[2]
    assert others <= excused.keys(), f"{sorted(others - excused.keys())}\n{said}"
    stale = {case for case in passed & excused.keys() if not excused[case].sometimes}
    assert not stale, "these pass, and need no excuse"
    assert len(passed) + len(others) >= 140, "h2spec has not run every case"


def results(report: Path) -> tuple[set[tuple[str, str]], set[tuple[str, str]]]:
    """The cases that passed, and those that did not, be it that they had nothing to look at."""
    passed: set[tuple[str, str]] = set()
    others: set[tuple[str, str]] = set()
    for case in ET.parse(report).iter("testcase"):
        found = passed if len(case) == 0 else others
        found.add((case.attrib["package"], case.attrib["classname"]))
    return passed, others
