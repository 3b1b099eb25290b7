"""Requests and answers over two pipes, with the plugin's ends in the test's hands."""

from __future__ import annotations

import asyncio
import json
import os
from collections import deque
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from bridge_jsonl.diagnostics import Diagnostics
from bridge_jsonl.frames import Request
from bridge_jsonl.outbox import HELD, ROOM
from bridge_jsonl.peer import OPEN_REQUESTS, Peer
from contract.errors import MeshError
from provider_kit.mesh import Mesh
from provider_kit.server import Gone
from wuu.mesh.v1.diagnostics_pb2 import Failure


class Reports(Mesh):
    """A router that keeps the reports."""

    def __init__(self) -> None:
        self.failures: list[Failure | None] = []
        self.strays: list[int] = []
        self.listening = asyncio.Event()
        self.listening.set()

    async def report(
        self, *, stray_lines: int = 0, last_stray_line: str = "", failure: Failure | None = None
    ) -> None:
        self.strays.append(stray_lines)
        self.failures.append(failure)
        await self.listening.wait()


class Process:
    """The plugin's side: what it reads and writes, and what the host is to answer."""

    def __init__(self, log: Path) -> None:
        self.stdin, ours_in = os.pipe()
        ours_out, self.stdout = os.pipe()
        self.router = Reports()
        self.served: list[Request] = []
        self.go = asyncio.Event()
        """Lets the host answer."""
        self.busy = asyncio.Event()
        """Set once as many requests are served as may be open."""
        self.diagnostics = Diagnostics(str(log), self.router)
        self.peer = Peer(ours_in, ours_out, self.diagnostics, self._serve)
        self._unread: deque[bytes] = deque()

    async def _serve(self, request: Request) -> bytes:
        self.served.append(request)
        if len(self.served) == OPEN_REQUESTS:
            self.busy.set()
        await self.go.wait()
        return b'"served"'

    def write(self, *frames: dict[str, Any]) -> None:
        """Writes frames to stdout."""
        text = "".join(json.dumps(frame) + "\n" for frame in frames)
        assert os.write(self.stdout, text.encode()) == len(text)

    async def read(self) -> dict[str, Any]:
        """Reads one frame from stdin."""
        if not self._unread:
            self._unread.extend((await asyncio.to_thread(self._read_lines)).splitlines())
        frame: dict[str, Any] = json.loads(self._unread.popleft())
        return frame

    def _read_lines(self) -> bytes:
        parts = [os.read(self.stdin, 1 << 20)]
        while not parts[-1].endswith(b"\n"):
            parts.append(os.read(self.stdin, 1 << 20))
        return b"".join(parts)

    def end(self) -> None:
        """Exits."""
        for name in ("stdin", "stdout"):
            if (descriptor := getattr(self, name)) >= 0:
                os.close(descriptor)
                setattr(self, name, -1)


@pytest_asyncio.fixture
async def process(tmp_path: Path) -> AsyncIterator[Process]:
    process = Process(tmp_path / "log")
    yield process
    process.end()
    process.peer.close()
    await process.diagnostics.close()


async def turn() -> None:
    """Lets everything that is ready run."""
    for _ in range(10):
        await asyncio.sleep(0)


async def test_a_request_is_answered_by_its_id_alone(process: Process) -> None:
    first = asyncio.create_task(process.peer.request("one"))
    second = asyncio.create_task(process.peer.request("two"))
    assert await process.read() == {"id": "1", "method": "one"}
    assert await process.read() == {"id": "2", "method": "two"}
    process.write({"id": "2", "result": "b"}, {"id": "1", "error": {"message": "no"}})
    assert bytes(await second) == b'"b"'
    with pytest.raises(MeshError, match="host_error: no"):
        await first


async def test_a_request_that_was_given_up_leaves_nothing(process: Process) -> None:
    given_up = asyncio.create_task(process.peer.request("one"))
    await process.read()
    given_up.cancel()
    await asyncio.wait((given_up,))
    process.write({"id": "1", "result": "late"})
    asked = asyncio.create_task(process.peer.request("two"))
    assert (await process.read())["id"] == "2"
    process.write({"id": "2", "result": "in time"})
    assert bytes(await asked) == b'"in time"'
    assert process.peer._asked == {}


async def test_nothing_is_begun_for_a_plugin_that_does_not_read(process: Process) -> None:
    process.go.set()
    blocked = [asyncio.create_task(process.peer.request("big", "x" * (ROOM // 2))) for _ in range(3)]
    await turn()
    with pytest.raises(MeshError) as refused:
        await asyncio.wait_for(process.peer.request("another"), 30)
    assert refused.value.code == "admission_full"
    process.write({"id": "own-1", "method": "m"})
    await turn()
    assert process.served == []
    # Once it has read, its own request is served.
    for number in ("1", "2", "3"):
        assert (await process.read())["id"] == number
    assert await process.read() == {"id": "own-1", "result": "served"}
    for task in blocked:
        task.cancel()
    await asyncio.wait(blocked)


async def test_output_is_not_read_on_while_too_much_is_open(process: Process) -> None:
    frames = [{"id": f"own-{n}", "method": "m"} for n in range(OPEN_REQUESTS + 10)]
    asked = asyncio.create_task(process.peer.request("one"))
    await process.read()
    process.write(*frames, {"id": "1", "result": "after them"})
    await process.busy.wait()
    await turn()
    assert len(process.served) == OPEN_REQUESTS
    assert not asked.done()
    process.go.set()
    assert bytes(await asked) == b'"after them"'
    answered = [await process.read() for _ in frames]
    assert sorted(frame["id"] for frame in answered) == sorted(frame["id"] for frame in frames)


async def test_the_end_is_seen_once_what_was_written_before_it_is_taken(process: Process) -> None:
    process.write(*({"id": f"own-{n}", "method": "m"} for n in range(OPEN_REQUESTS + 10)))
    await process.busy.wait()
    process.end()
    process.go.set()
    await asyncio.wait_for(process.peer.gone.wait(), 30)
    assert len(process.served) >= OPEN_REQUESTS
    with pytest.raises(Gone, match="the plugin closed its output"):
        await process.peer.request("one")


async def test_a_failure_while_nothing_is_read_still_lets_the_end_be_seen(process: Process) -> None:
    process.write(*({"id": f"own-{n}", "method": "m"} for n in range(OPEN_REQUESTS)))
    await process.busy.wait()
    process.peer.fail("deadline_exceeded", "too late")
    process.end()
    await asyncio.wait_for(process.peer.gone.wait(), 30)
    with pytest.raises(MeshError, match="deadline_exceeded: too late"):
        await process.peer.request("one")


async def test_the_first_failure_stands_and_is_reported_once(process: Process) -> None:
    asked = asyncio.create_task(process.peer.request("one"))
    await process.read()
    process.peer.fail("deadline_exceeded", "too late")
    process.peer.fail("protocol_violation", "and wrong")
    for again in (asked, process.peer.request("two")):
        with pytest.raises(MeshError, match="deadline_exceeded: too late"):
            await again
    await turn()
    assert [failure.code for failure in process.router.failures if failure] == ["deadline_exceeded"]


async def test_reports_are_coalesced_while_one_is_under_way(process: Process) -> None:
    process.router.listening.clear()
    for _ in range(5):
        os.write(process.stdout, b"stray\n")
        await turn()
    assert process.router.strays == [1]
    process.router.listening.set()
    await turn()
    assert process.router.strays == [1, 5]


async def test_what_was_read_before_the_end_is_not_served_after_it(process: Process) -> None:
    process.write(*({"id": f"own-{n}", "method": "m"} for n in range(OPEN_REQUESTS + 10)))
    await process.busy.wait()
    process.peer.close()
    await turn()
    assert len(process.served) == OPEN_REQUESTS


async def test_a_failed_plugin_is_not_served(process: Process) -> None:
    flood = "stray\n" * 300 + '{"id":"own-1","method":"m"}\n'
    os.write(process.stdout, flood.encode())
    with pytest.raises(MeshError, match="protocol_violation"):
        await process.peer.request("one")
    process.write({"id": "own-2", "method": "m"})
    process.end()
    await asyncio.wait_for(process.peer.gone.wait(), 30)
    await turn()
    assert process.served == []
    assert process.router.strays[-1] == 257


async def test_what_breaks_while_serving_is_answered(process: Process) -> None:
    async def broken(request: Request) -> bytes:
        raise ZeroDivisionError(request.method)

    process.peer._serve = broken
    process.write({"id": "own-1", "method": "m"})
    answer = await process.read()
    assert answer == {"id": "own-1", "error": {"code": "host_error", "message": "ZeroDivisionError: m"}}


async def test_what_waits_for_a_plugin_that_does_not_read_is_bounded(process: Process) -> None:
    result = b'"' + b"x" * (ROOM // 4 - 100) + b'"'
    calls, held = 12, HELD // (ROOM // 4)

    async def large(request: Request) -> bytes:
        process.served.append(request)
        await process.go.wait()
        return result

    process.peer._serve = large
    process.write(*({"id": f"own-{number}", "method": "m"} for number in range(calls)))
    while len(process.served) < calls:
        await turn()
    process.go.set()
    while process.peer._serving:
        await turn()
    assert process.peer._outbox._size <= HELD
    answers = [await process.read() for _ in range(calls)]
    dropped = [answer["error"] for answer in answers if "error" in answer]
    assert len(dropped) == calls - held
    assert {error["code"] for error in dropped} == {"limit_exceeded"}
    assert "the call was made" in dropped[0]["message"]


async def test_an_answer_past_64_mib_becomes_an_error(process: Process) -> None:
    async def large(_: Request) -> bytes:
        return b'"' + b"x" * ROOM + b'"'

    process.peer._serve = large
    process.write({"id": "own-1", "method": "m"})
    assert (await process.read())["error"]["code"] == "limit_exceeded"
