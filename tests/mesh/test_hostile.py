"""Hostile modules and callers: what one does stays with it, and the operator keeps the mesh in hand."""

from __future__ import annotations

import asyncio
import signal
import sys
from collections import Counter
from pathlib import Path

import pytest

from contract.errors import MeshError
from tests.support.caller import failure
from tests.support.composition import Entry, probe
from tests.support.mesh import Mesh, running
from tests.support.process import Process
from wuu.mesh.v1.declaration_pb2 import Capability, Declaration, MethodDescriptor, ServiceDescriptor, Tool
from wuu.mesh.v1.diagnostics_pb2 import ReportRequest
from wuu.mesh.v1.json_pb2 import Json
from wuu.mesh.v1.lifecycle_pb2 import InitializeResponse

PROMISE = 5
"""Seconds within which a mesh has stopped."""

HOSTILE = """
import asyncio, os, signal, sys
from provider_kit import Module, serve
from provider_kit.server import Gone
from wuu.mesh.v1.lifecycle_pb2 import InitializeResponse

class Hostile(Module):
    async def initialized(self, request):
        return InitializeResponse.FromString(bytes.fromhex(sys.argv[1]))

    async def activate(self):
        if "elsewhere" in sys.argv:
            os.setpgid(0, os.getpgid(os.getppid()))

    async def shutdown(self):
        if "elsewhere" in sys.argv:
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
            signal.pause()
        if "unavailable" in sys.argv:
            raise Gone("as if the process were gone")

serve(Hostile())
"""
"""A module that declares what its first argument is, in hex, and misbehaves as the others say."""

CLOSES_ITS_OUTPUT = """
import json, os, signal, sys
service = {"name": "plugin.closes", "version": "1.0.0",
           "methods": [{"name": "do", "input_schema": "a.b", "output_schema": "a.b"}]}
declared = {"protocol_version": 3, "lifecycle_version": 2, "provided_services": [service]}
for line in sys.stdin:
    frame = json.loads(line)
    if frame["method"] == "service.invoke":
        os.close(1)
        signal.pause()
    result = declared if frame["method"] == "initialize" else None
    os.write(1, json.dumps({"id": frame["id"], "result": result}).encode() + b"\\n")
"""
"""A plugin that closes its output while it serves a call, and lives on without reading its input."""


def hostile(id: str, declaration: Declaration, *how: str) -> Entry:  # noqa: A002
    """A module that runs `HOSTILE`."""
    answer = InitializeResponse(lifecycle_version=2, declaration=declaration).SerializeToString().hex()
    return Entry(id=id, argv=("python", "-P", "-c", HOSTILE, answer, *how))


def service(name: str, version: str = "1.0.0") -> ServiceDescriptor:
    """A dynamic service with one method."""
    method = MethodDescriptor(name="do", input_schema="hostile.any", output_schema="hostile.any")
    return ServiceDescriptor(name=name, version=version, methods=[method])


DECLARATIONS = {
    "a schema nested too deeply": Declaration(
        tools=[Tool(id="t", description="t", input_schema=Json(utf8=b"[" * 5000 + b"]" * 5000))]
    ),
    "a kind that the enum does not have": Declaration(
        capabilities=[Capability(id="a.b", kind=99, version=1)]  # type: ignore[arg-type]
    ),
    "a major that no field can hold": Declaration(provided_services=[service("hostile.a", f"{1 << 32}.0.0")]),
}


@pytest.mark.parametrize("declaration", DECLARATIONS.values(), ids=DECLARATIONS)
async def test_a_bad_declaration_fails_its_module_alone(declaration: Declaration) -> None:
    async with running(hostile("bad", declaration), probe("good", provides=["probe.good@1"])) as mesh:
        row = mesh.module("bad")
        assert (row["state"], row["error"]["code"]) == ("failed", "protocol_violation")
        assert await mesh.call("probe.good@1", "echo", 1) == 1


async def test_modules_that_pretend_to_be_gone_do_not_delay_the_stop() -> None:
    def link(index: int) -> Entry:
        declaration = Declaration(provided_services=[service(f"hostile.n{index}")])
        if index:
            declaration.required_services.add(name=f"hostile.n{index - 1}", major=1, required=True)
        return hostile(f"n{index}", declaration, "unavailable")

    async with running(*map(link, range(7))) as mesh:
        router = mesh.router
        router.signal(signal.SIGTERM)
        assert router.ends(PROMISE)


async def test_a_module_that_left_its_process_group_is_ended_all_the_same() -> None:
    async with running(hostile("elsewhere", Declaration(), "elsewhere")) as mesh:
        router, module = mesh.router, Process(mesh.module("elsewhere")["pid"])
        router.signal(signal.SIGTERM)
        assert router.ends(PROMISE)
        assert module.ends()


async def test_a_giant_report_leaves_status_readable() -> None:
    async with running(probe("a", provides=["probe.a@1"])) as mesh:
        instance = await mesh.instance("a", "probe.a@1")
        report = ReportRequest(stray_lines=1, last_stray_line="s" * (66 << 20)).SerializeToString()
        try:
            await instance.unary("/wuu.mesh.v1.Diagnostics/Report", report, instance.metadata())
        except MeshError as refused:
            assert refused.code == "limit_exceeded"
        row = mesh.module("a")
        assert row["state"] == "active"
        assert len(row["last_stray_line"] or "") <= 800


async def test_of_a_burst_every_call_is_answered_or_refused_with_a_code() -> None:
    async with running(probe("a", provides=["probe.a@1"])) as mesh:

        async def outcome() -> str:
            try:
                await mesh.call("probe.a@1", "echo")
            except MeshError as error:
                return error.code
            return "answered"

        outcomes = Counter(await asyncio.gather(*(outcome() for _ in range(3000))))
        assert set(outcomes) <= {"answered", "admission_full"}, outcomes
        assert outcomes["answered"] >= 1024, outcomes


async def test_a_plugin_that_closes_its_output_has_failed_and_is_ended() -> None:
    runtime = {"protocol": "wuu-plugin-v1"}
    plugin = Entry(id="closes", argv=(sys.executable, "-P", "-c", CLOSES_ITS_OUTPUT), runtime=runtime)
    async with running(plugin) as mesh:
        mesh.without_packages()
        process = Process(mesh.module("closes")["pid"])
        error = await failure(mesh.call("plugin.closes@1", "do"))
        assert error.code == "service_unavailable"
        assert process.ends(PROMISE), "the plugin lives on"
        assert mesh.module("closes")["state"] == "failed"


async def test_what_lies_among_the_sockets_or_logs_never_blocks_a_start() -> None:
    mesh = Mesh(probe("a", provides=["probe.a@1"]))
    try:
        mesh.start()
        announced = mesh.announced
        assert announced is not None
        strange = Path(announced.control).with_name("strange")
        await mesh.stop()
        strange.mkdir(parents=True)
        strange.parent.chmod(0o700)
        for index in range(6):
            (mesh.home / "logs" / "a" / f"kept-{index}").mkdir()
        mesh.start()
        assert await mesh.call("probe.a@1", "echo", 1) == 1
    finally:
        await mesh.close()
