"""The router's end of the guardian: what it asks for is there, or is gone, whatever happens meanwhile."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from router.instances.children import Child, Children, Spawn
from tests.support.process import PATIENCE, Process


@pytest.fixture
async def children() -> AsyncIterator[Children]:
    children = await Children.guard()
    yield children
    await children.release()


def spawn(directory: Path, name: str, *argv: str, **more: object) -> Spawn:
    given: dict[str, object] = {"role": "instance", "cwd": directory, "env": {}, "log": directory / "log"}
    return Spawn(name=name, argv=argv, **(given | more))  # type: ignore[arg-type]


async def ended(child: Child) -> str:
    return str(await asyncio.wait_for(asyncio.shield(child.exited), PATIENCE))


def guardian_of(child: Child) -> int:
    return int(Path(f"/proc/{child.pid}/stat").read_text().rpartition(")")[2].split()[1])


async def test_a_child_is_not_deaf_to_the_signals_that_ask_it_to_end(
    children: Children, tmp_path: Path
) -> None:
    child = await children.spawn(spawn(tmp_path, "cat", "/bin/cat"))
    status = Path(f"/proc/{child.pid}/status").read_text()
    ignored = int(status.partition("SigIgn:\t")[2].split()[0], 16)
    assert [s.name for s in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP) if ignored & 1 << s - 1] == []
    children.kill(child, signal.SIGTERM)
    assert await ended(child) == "was killed by SIGTERM"


async def test_a_spawn_that_nobody_waits_for_any_more_leaves_no_process(
    children: Children, tmp_path: Path
) -> None:
    first = await children.spawn(spawn(tmp_path, "first", "/bin/cat"))
    guardian = Process(guardian_of(first))
    abandoned = asyncio.create_task(children.spawn(spawn(tmp_path, "abandoned", "/bin/cat")))
    await asyncio.sleep(0)
    abandoned.cancel()
    await asyncio.wait((abandoned,))
    # Asked for behind it, so that what became of the other is known once this one has ended.
    last = await children.spawn(spawn(tmp_path, "last", "/bin/true"))
    assert await ended(last) == "exited with status 0"
    assert all(process.pid == first.pid or process.ends() for process in guardian.children())
    assert not first.exited.done()


async def test_a_refused_spawn_says_why_and_leaves_no_descriptor_open(
    children: Children, tmp_path: Path
) -> None:
    child = await children.spawn(spawn(tmp_path, "cat", "/bin/cat"))
    descriptors = Path(f"/proc/{guardian_of(child)}/fd")
    before = len(os.listdir(descriptors))
    for role in ("instance", "plugin", "host"):
        with pytest.raises(OSError, match="No such file or directory"):
            await children.spawn(spawn(tmp_path, role, "/no/such/command", role=role))
        with pytest.raises(OSError, match="log"):
            await children.spawn(spawn(tmp_path, role, "/bin/cat", role=role, log=tmp_path / "no" / "log"))
    assert len(os.listdir(descriptors)) == before


async def test_what_is_asked_may_be_larger_than_what_is_read_at_once(
    children: Children, tmp_path: Path
) -> None:
    # Linux takes 128 KiB in one argument or variable.
    large = {f"LARGE_{n}": "é" * 60_000 for n in range(4)}
    child = await children.spawn(spawn(tmp_path, "env", "/usr/bin/env", env=large))
    assert await ended(child) == "exited with status 0"
    assert (tmp_path / "log").read_text().splitlines() == [f"{name}={said}" for name, said in large.items()]


async def test_a_lost_guardian_ends_everything_that_it_guarded(tmp_path: Path) -> None:
    children = await Children.guard()
    child = await children.spawn(spawn(tmp_path, "sleep", "/bin/sleep", "600"))
    process = Process(child.pid)
    os.kill(guardian_of(child), signal.SIGKILL)
    assert await ended(child) == "was killed by SIGKILL"
    assert process.ends()
    assert children.lost.is_set()
    with pytest.raises(OSError, match="the guardian is gone"):
        await children.spawn(spawn(tmp_path, "late", "/bin/cat"))
    await children.release()


async def test_a_guardian_that_does_not_start_what_it_is_asked_for_is_lost(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("router.instances.children.SPAWN_TIMEOUT", 0.2)
    children = await Children.guard()
    child = await children.spawn(spawn(tmp_path, "sleep", "/bin/sleep", "600"))
    process = Process(child.pid)
    os.kill(guardian_of(child), signal.SIGSTOP)
    with pytest.raises(OSError, match="did not answer"):
        await children.spawn(spawn(tmp_path, "late", "/bin/cat"))
    assert process.ends()
    assert children.lost.is_set()
    await children.release()
