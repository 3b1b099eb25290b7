"""Diagnostics: what an instance reports about itself."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import suppress

import pytest

from contract.errors import MeshError
from tests.support.caller import failure
from tests.support.composition import probe
from tests.support.mesh import Mesh, running
from tests.support.process import Process
from wuu.mesh.v1.diagnostics_pb2 import ReportRequest

REPORT = "/wuu.mesh.v1.Diagnostics/Report"


@pytest.fixture(scope="module")
async def mesh() -> AsyncIterator[Mesh]:
    async with running(
        probe("reporter", provides=["probe.reporter@1"]),
        probe("consumer", provides=["probe.consumer@1"], requires=["probe.reporter@1"]),
    ) as mesh:
        yield mesh


async def test_lines_that_were_no_frames_are_counted_in_status(mesh: Mesh) -> None:
    await mesh.call("probe.reporter@1", "report", {"stray_lines": 3, "last_stray_line": "hello"})
    row = mesh.module("reporter")
    assert (row["stray_lines"], row["last_stray_line"]) == (3, "hello")
    assert row["state"] == "active"


async def test_a_report_without_a_token_of_a_live_instance_is_refused(mesh: Mesh) -> None:
    request = ReportRequest(stray_lines=1).SerializeToString()
    for metadata in ((), (("wuu-token", "forged"),)):
        error = await failure(mesh.stranger().unary(REPORT, request, metadata))
        assert error.code == "unauthenticated"


async def test_a_report_that_cannot_be_read_is_refused(mesh: Mesh) -> None:
    instance = await mesh.instance("reporter", "probe.reporter@1")
    error = await failure(instance.unary(REPORT, b"\xff\xff", instance.metadata()))
    assert (error.code, error.domain) == ("invalid_request", "wuu.mesh")


async def test_an_instance_that_reports_a_failure_is_ended_and_its_consumers_are_told(mesh: Mesh) -> None:
    mesh.without_packages()
    process = Process(mesh.module("reporter")["pid"])
    broken = {"code": "protocol_violation", "message": "too many stray lines"}
    # Its answer may come before its end.
    with suppress(MeshError):
        await mesh.call("probe.reporter@1", "report", broken)
    assert process.ends()
    row = mesh.module("reporter")
    assert row["state"] == "failed"
    assert row["error"] == broken
    await mesh.call("probe.consumer@1", "changed")
    assert "consumer service-changed probe.reporter@1 gone too many stray lines" in mesh.recorded()
