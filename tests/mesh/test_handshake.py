"""The handshake: secrets come over standard input, and nowhere else can they be read."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.support.composition import probe
from tests.support.mesh import Mesh, running


@pytest.fixture(scope="module")
async def mesh() -> AsyncIterator[Mesh]:
    entry = probe("a", provides=["probe.a@1"])
    async with running(
        replace(entry, runtime={"env": ["PROBE_WANTED"]}),
        env={"PROBE_WANTED": "wanted", "PROBE_SECRET": "not for modules"},
    ) as mesh:
        yield mesh


@pytest.fixture(scope="module")
async def handshake(mesh: Mesh) -> dict[str, Any]:
    """What the probe was told."""
    told: dict[str, Any] = await mesh.call("probe.a@1", "shake")
    return told


async def test_the_handshake_says_who_and_where_the_instance_is(
    mesh: Mesh, handshake: dict[str, Any]
) -> None:
    assert handshake["version"] == 1
    assert handshake["module"] == "a"
    assert handshake["instance"] == mesh.module("a")["instance"]
    assert len(bytes.fromhex(handshake["key"])) == 32
    assert len(handshake["listen"]) < 108


@pytest.mark.parametrize("secret", ["token", "key"])
async def test_no_secret_stands_in_the_environment_or_the_arguments(
    mesh: Mesh, handshake: dict[str, Any], secret: str
) -> None:
    for process in (mesh.router, *mesh.router.descendants()):
        for name in ("environ", "cmdline"):
            assert handshake[secret].encode() not in Path(f"/proc/{process.pid}/{name}").read_bytes()


async def test_no_secret_stands_in_a_log(mesh: Mesh, handshake: dict[str, Any]) -> None:
    for log in (mesh.log("a"), mesh.log("wuu.router")):
        assert handshake["token"] not in log
        assert handshake["key"] not in log


async def test_a_module_inherits_little_and_what_its_manifest_names(mesh: Mesh) -> None:
    pid = mesh.module("a")["pid"]
    environment = Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
    assert b"PROBE_WANTED=wanted" in environment
    names = {variable.partition(b"=")[0] for variable in environment}
    assert b"PROBE_SECRET" not in names
    assert b"XDG_RUNTIME_DIR" not in names
    assert b"PATH" in names


async def test_a_module_runs_in_its_package_and_leads_a_group_of_its_own(mesh: Mesh) -> None:
    pid = mesh.module("a")["pid"]
    assert Path(f"/proc/{pid}/cwd").resolve() == (mesh.directory / "packages" / "a").resolve()
    assert os.getpgid(pid) == pid


async def test_two_instances_share_no_secret(mesh: Mesh, handshake: dict[str, Any]) -> None:
    await mesh.stop()
    mesh.start()
    again = await mesh.call("probe.a@1", "shake")
    for field in ("instance", "token", "key", "listen"):
        assert again[field] != handshake[field]
