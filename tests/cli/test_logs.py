"""`logs`: what a module writes to standard error, and the router's own."""

from __future__ import annotations

import asyncio

import pytest

from router.cli.logs import TAIL_BYTES
from tests.cli.command import begun, end, heard
from tests.support.caller import failure
from tests.support.composition import probe
from tests.support.mesh import Mesh, running
from wuu.mesh.v1.control_pb2 import ReadLogRequest, ReadLogResponse


async def test_the_log_of_a_module_is_printed_as_it_is(mesh: Mesh) -> None:
    await mesh.call("probe.other@1", "complain", "a line of other's")
    answer = mesh.cli("logs", "other")
    assert answer.returncode == 0
    assert answer.stdout.endswith("a line of other's\n")


async def test_the_log_of_a_module_that_failed_is_kept(mesh: Mesh) -> None:
    assert mesh.cli("logs", "failed").stdout == "the last words\n"


async def test_without_a_module_it_is_the_routers_own(mesh: Mesh) -> None:
    answer = mesh.cli("logs")
    assert answer.returncode == 0
    assert "generation active" in answer.stdout


@pytest.mark.parametrize(
    ("module", "said"),
    [
        ("nobody", "there is no log of a module nobody"),
        ("note", "there is no log of a module note; did you mean 'notes'?"),
        ("disabled", "disabled was never started here, so it has no log"),
    ],
)
async def test_a_module_without_a_log(mesh: Mesh, module: str, said: str) -> None:
    answer = mesh.cli("logs", module)
    assert (answer.returncode, answer.stdout) == (1, "")
    assert answer.stderr.startswith(f"wuu-mesh: invalid_request: {said}\n  → `wuu-mesh status --home "), (
        answer.stderr
    )


async def test_a_module_that_logged_nothing_says_so(mesh: Mesh) -> None:
    answer = mesh.cli("logs", "borrower")
    assert (answer.returncode, answer.stdout) == (0, "")
    assert answer.stderr.startswith("wuu-mesh: borrower has logged nothing\n  → ")


async def test_of_a_log_that_is_one_long_line_its_end_is_printed() -> None:
    async with running(probe("a", provides=["probe.a@1"])) as mesh:
        await mesh.call("probe.a@1", "complain", "x" * 100_000)
        printed = mesh.cli("logs", "a").stdout
        assert printed == "x" * (TAIL_BYTES - 1) + "\n"


async def test_without_a_mesh_the_end_of_what_the_last_one_logged_is_printed() -> None:
    async with running(probe("a", provides=["probe.a@1"])) as mesh:
        await mesh.call("probe.a@1", "complain", "its last words")
        await mesh.stop()
        answer = mesh.cli("logs", "a")
        assert (answer.returncode, answer.stdout) == (3, "its last words\n")
        assert answer.stderr.startswith(
            f"wuu-mesh: no mesh is running in {mesh.home}; this is what the last one logged\n  → "
        )
        assert "mesh stopped" in mesh.cli("logs").stdout
        answer = mesh.cli("logs", "aa")
        assert (answer.returncode, answer.stdout) == (3, "")
        assert f"{mesh.home / 'logs'} has no log of aa" in answer.stderr


async def test_a_log_is_followed_line_by_line(mesh: Mesh) -> None:
    await mesh.call("probe.notes@1", "complain", "before")
    with begun(mesh, "logs", "notes", "--follow") as following:
        heard(following, "before")
        for number in range(3):
            await mesh.call("probe.notes@1", "complain", f"line {number}")
            assert heard(following, "") == f"line {number}\n"


async def test_of_a_long_log_the_end_is_printed_from_the_beginning_of_a_line(mesh: Mesh) -> None:
    lines = [f"line {number} {'x' * 1000}" for number in range(100)]
    await mesh.call("probe.other@1", "complain", "\n".join(lines))
    printed = mesh.cli("logs", "other").stdout.splitlines()
    assert 0 < len(printed) < 100
    assert printed == lines[-len(printed) :]


async def test_following_ends_with_the_mesh_and_says_so() -> None:
    async with running(probe("a", provides=["probe.a@1"])) as mesh:
        await mesh.call("probe.a@1", "complain", "here")
        with begun(mesh, "logs", "a", "-f") as following:
            heard(following, "here")
            await mesh.stop()
            assert end(following) == (0, "wuu-mesh: the mesh has stopped\n")


async def test_following_goes_on_with_the_log_of_the_next_instance() -> None:
    async with running(probe("a", provides=["probe.a@1"])) as mesh:
        await mesh.call("probe.a@1", "complain", "of the first")
        with begun(mesh, "logs", "a", "--follow") as following:
            heard(following, "of the first")
            await mesh.reload("a")
            await mesh.call("probe.a@1", "complain", "of the second")
            heard(following, "of the second")


async def test_a_log_that_was_removed_is_followed_by_the_newest_from_its_beginning(mesh: Mesh) -> None:
    newest = await mesh.control(ReadLogRequest(module="notes"), ReadLogResponse, "ReadLog")
    gone = ReadLogRequest(module="notes", log="0000000000000-abc", offset=1000)
    answer = await mesh.control(gone, ReadLogResponse, "ReadLog")
    assert (answer.log, answer.next_offset, answer.data) == (newest.log, 0, b"")
    outside = ReadLogRequest(module="notes", log="../notes")
    error = await failure(mesh.control(outside, ReadLogResponse, "ReadLog"))
    assert (error.code, error.message) == ("invalid_request", "'../notes' is not a log of a response")


async def test_logs_of_an_earlier_version_are_the_oldest(mesh: Mesh) -> None:
    old = [mesh.home / "logs" / "notes" / f"{name}.log" for name in "abcdef"]
    for log in old:
        log.write_text("of an earlier version\n")
    try:
        assert "of an earlier version" not in mesh.cli("logs", "notes").stdout
    finally:
        for log in old:
            log.unlink()


async def test_a_retained_instance_keeps_its_log_however_many_follow() -> None:
    gate = probe("gate", provides=["probe.gate@1"])
    a = probe("a", provides=["probe.a@1"], requires=["probe.gate@1"])
    async with running(gate, a) as mesh:
        wait = {"service": "probe.gate@1", "method": "wait", "params": {"key": "k"}}
        call = asyncio.create_task(mesh.call("probe.a@1", "call", wait))
        await mesh.call("probe.gate@1", "hanging", {"key": "k"})
        (log,) = (mesh.home / "logs" / "a").iterdir()
        for _ in range(6):
            await mesh.reload("a")
        assert log.exists()
        await mesh.call("probe.gate@1", "let", {"key": "k"})
        await call
