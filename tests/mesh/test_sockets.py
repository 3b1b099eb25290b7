"""Sockets: no request and no removal costs the mesh one for good."""

from __future__ import annotations

import asyncio
import os
import shutil
import sys
from pathlib import Path

import grpc
import pytest

from contract.transport import CHANNEL_OPTIONS
from tests.support import http2
from tests.support.caller import failure
from tests.support.composition import Entry, probe
from tests.support.mesh import Mesh, running
from tests.support.process import PATIENCE, Process

UNREADABLE = http2.grpc_request(b"/\xff")

PLUGIN = """
import json, sys
service = {"name": "plugin.p", "version": "1.0.0",
           "methods": [{"name": "echo", "input_schema": "a.b", "output_schema": "a.b"}]}
declared = {"protocol_version": 3, "lifecycle_version": 2, "provided_services": [service]}
for line in sys.stdin:
    frame = json.loads(line)
    results = {"initialize": declared, "service.invoke": frame.get("params", {}).get("params")}
    print(json.dumps({"id": frame["id"], "result": results.get(frame["method"])}), flush=True)
"""


async def lost(path: Path, *how: tuple[bytes, bytes]) -> None:
    """Sends a request that ends the server of a socket, and returns once the socket is bound anew."""
    before = path.stat()
    await asyncio.to_thread(http2.send, path, *how)
    async with asyncio.timeout(PATIENCE):
        while not _is_another(path, before):  # noqa: ASYNC110 (a file does not say when it is another)
            await asyncio.sleep(0.01)
    await ready(path)


def _is_another(path: Path, before: os.stat_result) -> bool:
    try:
        return path.stat().st_ctime_ns != before.st_ctime_ns
    except FileNotFoundError:
        return False


async def ready(path: Path) -> None:
    """Returns once something answers on a socket."""
    async with (
        grpc.aio.insecure_channel(f"unix:{path}", options=CHANNEL_OPTIONS) as channel,
        asyncio.timeout(PATIENCE),
    ):
        await channel.channel_ready()


def socket(mesh: Mesh, name: str) -> Path:
    """A socket of the router, by its name, or of an instance, by its module."""
    announced = mesh.announced
    assert announced is not None
    if name not in ("router", "control"):
        name = mesh.module(name)["instance"].partition("@")[2][:8]
    return Path(announced.control).with_name(name)


@pytest.mark.parametrize("name", ["router", "control"])
async def test_a_request_that_cannot_be_read_costs_a_socket_of_the_router_nothing(name: str) -> None:
    entries = (probe("a", requires=["probe.b@1"], provides=["probe.a@1"]), probe("b", provides=["probe.b@1"]))
    async with running(*entries) as mesh:
        in_flight = asyncio.create_task(mesh.call("probe.b@1", "ignore"))
        await mesh.call("probe.b@1", "ignoring")
        path = socket(mesh, name)
        before = path.stat()
        await asyncio.to_thread(http2.send, path, *UNREADABLE)
        assert not _is_another(path, before)
        nested = {"service": "probe.b@1", "method": "echo", "params": 1}
        assert (await mesh.call("probe.a@1", "call", nested))["result"] == 1
        await mesh.call("probe.b@1", "go")
        assert await in_flight == "too late"


async def test_a_mesh_stops_though_a_call_is_left_on_a_socket_that_was_removed() -> None:
    async with running(probe("b", provides=["probe.b@1"])) as mesh:
        in_flight = asyncio.create_task(failure(mesh.call("probe.b@1", "ignore")))
        await mesh.call("probe.b@1", "ignoring")
        path = socket(mesh, "control")
        path.unlink()
        await ready(path)
        (router := mesh.router).signal(15)
        assert router.ends(5)
        await in_flight


@pytest.mark.parametrize("name", ["a", "p"])
async def test_a_socket_of_an_instance_serves_on_after_a_request_that_cannot_be_read(name: str) -> None:
    plugin = Entry(id="p", argv=(sys.executable, "-c", PLUGIN), runtime={"protocol": "wuu-plugin-v1"})
    async with running(probe("a", provides=["probe.a@1"]), plugin) as mesh:
        await lost(socket(mesh, name), *UNREADABLE)
        assert await mesh.call({"a": "probe.a@1", "p": "plugin.p@1"}[name], "echo", 1) == 1


async def test_sockets_that_were_removed_are_back() -> None:
    async with running(probe("a", provides=["probe.a@1"])) as mesh:
        paths = [socket(mesh, name) for name in ("router", "control", "a")]
        shutil.rmtree(paths[0].parent)
        for path in paths:
            await ready(path)
        assert mesh.cli("status").returncode == 0


async def test_a_mesh_whose_home_was_removed_ends_and_says_so() -> None:
    async with running(probe("a", provides=["probe.a@1"])) as mesh:
        router, child = mesh.router, Process(mesh.module("a")["pid"])
        shutil.rmtree(mesh.home)
        assert router.ends()
        assert child.ends()
        mesh.start()
