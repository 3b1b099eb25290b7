"""The home: which one a command takes, and what it says where no mesh runs there."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import socket
import subprocess
from collections.abc import AsyncIterator
from contextlib import closing
from functools import partial

import pytest

from tests.cli.command import bare, composed
from tests.support.composition import probe
from tests.support.mesh import Mesh, running


@pytest.fixture(scope="module")
async def nowhere() -> AsyncIterator[Mesh]:
    """A home in which no mesh ever ran."""
    async with composed() as mesh:
        yield mesh


@pytest.mark.parametrize(
    "arguments",
    [
        ("down",),
        ("status", "--json"),
        ("call", "probe.a@1", "echo"),
        ("tool", "run", "a/b", "{}"),
        ("apply", "composition.json"),
        ("disable", "a"),
        ("generations",),
        ("executions", "--watch"),
        ("cancel", "1"),
        ("events", "--follow"),
    ],
)
async def test_without_a_mesh_every_command_ends_with_3_and_says_so(
    nowhere: Mesh, arguments: tuple[str, ...]
) -> None:
    answer = nowhere.cli(*arguments)
    assert (answer.returncode, answer.stdout) == (3, "")
    assert answer.stderr.startswith(f"wuu-mesh: no mesh is running in {nowhere.home}\n  → ")
    assert not nowhere.home.exists()


async def test_without_a_mesh_one_hears_where_its_logs_are(nowhere: Mesh) -> None:
    answer = nowhere.cli("logs")
    assert answer.returncode == 3
    assert str(nowhere.home / "logs") in answer.stderr


async def test_the_home_is_in_the_state_directory_by_default(nowhere: Mesh) -> None:
    answer = bare("status", env={**nowhere.env, "XDG_STATE_HOME": str(nowhere.directory / "state")})
    assert f"no mesh is running in {nowhere.directory / 'state' / 'wuu-mesh'}\n" in answer.stderr


async def test_the_environment_names_another_and_the_option_beats_it(mesh: Mesh, nowhere: Mesh) -> None:
    env = {**mesh.env, "WUU_MESH_HOME": str(nowhere.home)}
    assert f"no mesh is running in {nowhere.home}\n" in bare("status", env=env).stderr
    assert bare("status", "--home", str(mesh.home), env=env).returncode == 0


async def test_a_second_mesh_in_one_home_hears_which_process_has_it(mesh: Mesh) -> None:
    second = mesh.cli("up", "--detach", "-c", mesh.composition)
    assert (second.returncode, second.stdout) == (1, "")
    assert f"process {mesh.router.pid} holds {mesh.home}\n" in second.stderr
    assert "wuu-mesh down" in second.stderr


async def test_what_a_killed_router_left_behind_blocks_nothing() -> None:
    async with running(probe("a", provides=["probe.a@1"])) as mesh:
        router = mesh.router
        router.signal(signal.SIGKILL)
        assert router.ends()
        await mesh.hang_up()
        assert mesh.announced is not None
        for command in ("status", "down"):
            answer = mesh.cli(command)
            assert (answer.returncode, answer.stdout) == (3, "")
            assert f"no mesh is running in {mesh.home}\n" in answer.stderr
        mesh.up()
        assert mesh.cli("call", "probe.a", "echo", "1").stdout == "1\n"


async def test_a_home_that_cannot_be_made_is_told(nowhere: Mesh) -> None:
    occupied = nowhere.directory / "occupied"
    occupied.write_text("a file")
    for arguments in (("up", "--detach"), ("check", "--start")):
        answer = bare(*arguments, "--home", str(occupied / "home"), env=nowhere.env)
        assert (answer.returncode, answer.stdout) == (2, "")
        assert f"{occupied / 'home'}: Not a directory\n" in answer.stderr
        assert "Traceback" not in answer.stderr


@pytest.mark.parametrize(
    "command", [("up", "--detach"), ("check",), ("status",), ("logs",), ("call", "a.b", "c")]
)
async def test_a_home_whose_path_is_too_long_is_told(nowhere: Mesh, command: tuple[str, ...]) -> None:
    answer = bare(*command, "--home", "/tmp/" + "a" * 300, env=nowhere.env)
    assert (answer.returncode, answer.stdout) == (2, "")
    said, remedy = answer.stderr.splitlines()
    assert said.endswith(": File name too long")
    assert remedy == "  → Use a shorter home with --home DIR."


async def test_a_home_where_nothing_can_be_made_is_told(nowhere: Mesh) -> None:
    for command in (("up", "--detach"), ("check", "--start")):
        answer = bare(*command, "--home", "/proc/x", env=nowhere.env)
        assert (answer.returncode, answer.stdout) == (2, "")
        assert answer.stderr.endswith(
            "/proc/x: No such file or directory\n  → Use another home with --home DIR.\n"
        )


async def test_a_home_that_was_given_is_repeated_in_what_to_type(nowhere: Mesh) -> None:
    home = nowhere.directory / "a home"
    answer = bare("status", "--home", str(home), env=nowhere.env)
    assert answer.stderr.endswith(
        f"\n  → Start one with `wuu-mesh up --home '{home}'`, or name its --home.\n"
    )
    answer = bare("status", env={**nowhere.env, "WUU_MESH_HOME": str(home)})
    assert answer.stderr.endswith("\n  → Start one with `wuu-mesh up`, or name its --home.\n")


@pytest.mark.parametrize("arguments", [("up", "--detach"), ("check",)])
async def test_a_journal_that_is_none_is_told(arguments: tuple[str, ...]) -> None:
    async with composed() as mesh:
        mesh.home.mkdir()
        journal = mesh.home / "journal.sqlite3"
        journal.write_text("not what it should be")
        answer = mesh.cli(*arguments)
        assert (answer.returncode, answer.stdout) == (2, "")
        assert f"{journal}: file is not a database\n  → Move it" in answer.stderr
        assert "Traceback" not in answer.stderr
        assert mesh.announced is None


async def test_a_home_whose_path_is_not_utf_8_is_told(nowhere: Mesh) -> None:
    for command in (("up", "--detach"), ("status",)):
        answer = bare(*command, "--home", os.fsdecode(b"/tmp/\xff"), env=nowhere.env)
        assert (answer.returncode, answer.stdout) == (2, "")
        assert "a home has a path in UTF-8" in answer.stderr


async def test_a_mesh_starts_though_a_variable_is_not_utf_8() -> None:
    path = os.fsencode(os.environ["PATH"]) + b":/\xff"
    async with running(probe("a"), env={"PATH": os.fsdecode(path)}) as mesh:
        assert mesh.module("a")["state"] == "active"


async def test_a_listener_that_takes_no_connections_is_told() -> None:
    async with composed() as mesh:
        path = mesh.directory / "deaf"
        mesh.home.mkdir()
        announcement = mesh.home / "mesh.json"
        announcement.write_text(json.dumps({"pid": os.getpid(), "control": str(path)}))
        with closing(socket.socket(socket.AF_UNIX)) as deaf, closing(socket.socket(socket.AF_UNIX)) as first:
            deaf.bind(str(path))
            deaf.listen(0)
            first.connect(str(path))
            answer = mesh.cli("status")
        announcement.unlink()
        assert (answer.returncode, answer.stdout) == (2, "")
        assert f"{path}: its listener takes no connections" in answer.stderr


async def test_too_few_open_files_are_told(nowhere: Mesh) -> None:
    command = ["sh", "-c", 'ulimit -n 40; exec "$@"', "sh", *nowhere.command("up", "--detach")]
    run = partial(subprocess.run, env=nowhere.env, capture_output=True, text=True, timeout=60, check=False)
    answer = await asyncio.to_thread(run, command)
    assert answer.returncode == 2
    assert "40 open files are allowed" in answer.stderr
    assert "Raise the limit of open files" in answer.stderr
