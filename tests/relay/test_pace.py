"""Pace: who sends little again and again is read a little later, with all that came meanwhile."""

from __future__ import annotations

import asyncio

from router.relay.http2.pace import LITTLE, READS, Pace
from tests.relay.line import Loop


class Paced(asyncio.Transport):
    """A transport that only says whether it is read."""

    def __init__(self) -> None:
        super().__init__()
        self.reading = True
        self.closing = False

    def pause_reading(self) -> None:
        self.reading = False

    def resume_reading(self) -> None:
        self.reading = True

    def is_closing(self) -> bool:
        return self.closing


def play(loop: Loop, *reads: tuple[float, int]) -> Paced:
    """Reads of so many bytes, at a time in seconds; then the loop has its turns."""
    transport = Paced()

    async def scene() -> None:
        pace = Pace(transport)
        for now, size in reads:
            loop.now = now
            pace.read(size)
            await asyncio.sleep(0)

    loop.run_until_complete(scene())
    return transport


def test_reads_for_little_within_a_millisecond_rest_until_its_end(loop: Loop) -> None:
    often = [(0.0101, 100)] * READS
    assert play(loop, *often[1:]).reading
    assert not play(loop, *often).reading
    assert play(loop, *often, (0.0125, 100)).reading


def test_who_sends_one_call_at_a_time_never_waits(loop: Loop) -> None:
    assert play(loop, *((number / 1000, 100) for number in range(50))).reading


def test_who_sends_much_never_waits(loop: Loop) -> None:
    assert play(loop, *[(0.01, LITTLE // READS + 1)] * 50).reading


def test_a_connection_that_is_closing_is_left_alone(loop: Loop) -> None:
    transport = Paced()
    transport.closing = True

    async def scene() -> None:
        pace = Pace(transport)
        for _ in range(READS * 2):
            pace.read(1)

    loop.run_until_complete(scene())
    assert transport.reading
