"""Lines on their way into a pipe that is read slowly, or not at all."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterator

import pytest

from bridge_jsonl.outbox import ROOM, Outbox


@pytest.fixture
def pipe() -> Iterator[tuple[int, int]]:
    read, write = os.pipe()
    yield read, write
    os.close(read)


async def drain(read: int, size: int) -> bytes:
    """Reads that many bytes, in a thread."""

    def read_all() -> bytes:
        parts: list[bytes] = []
        while sum(map(len, parts)) < size:
            parts.append(os.read(read, 1 << 20))
        return b"".join(parts)

    return await asyncio.to_thread(read_all)


async def test_lines_arrive_whole_and_in_order(pipe: tuple[int, int]) -> None:
    read, write = pipe
    outbox = Outbox(write, pytest.fail)
    lines = [bytes([97 + n % 26]) * (n * 1000) + b"\n" for n in range(200)]
    for line in lines:
        outbox.put(line)
    text = b"".join(lines)
    assert await drain(read, len(text)) == text
    outbox.put(b"last")
    assert await drain(read, 4) == b"last"
    assert not asyncio.get_running_loop().remove_writer(write), "the loop is still asked to write"
    outbox.close()


async def test_it_is_full_past_64_mib_and_has_room_again_once_it_is_read(pipe: tuple[int, int]) -> None:
    read, write = pipe
    outbox = Outbox(write, pytest.fail)
    size = 0
    while not outbox.full:
        outbox.put(b"x" * (16 << 20))
        size += 16 << 20
    assert ROOM < size <= ROOM + (32 << 20)
    room = asyncio.create_task(outbox.room())
    await drain(read, size - ROOM)
    await room
    assert not outbox.full
    outbox.close()


async def test_a_reader_that_is_gone_is_told_once_and_the_rest_is_dropped() -> None:
    read, write = os.pipe()
    told = asyncio.Event()

    def broken() -> None:
        assert not told.is_set()
        told.set()
        outbox.close()

    outbox = Outbox(write, broken)
    outbox.put(b"x" * 1_000_000)
    os.close(read)
    await asyncio.wait_for(told.wait(), 30)
    outbox.put(b"more")
    await outbox.room()
