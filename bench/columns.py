"""What rounds come to: a column of figures for each way to the same provider. Pure."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from statistics import median

import msgspec


class Sample(msgspec.Struct, frozen=True):
    """One way in one round."""

    p50_us: float
    p99_us: float
    calls_per_s: float


class Column(msgspec.Struct, frozen=True):
    """One way over all rounds. Every figure is a median over the rounds."""

    p50_us: float
    """The median latency of one call at a time, in microseconds."""
    p99_us: float
    """The latency that 99 of 100 calls at a time stay under, in microseconds."""
    calls_per_s: float
    """Calls per second with many in flight."""
    p50_ratio: float
    """How many times the direct latency: of each round, so that noise which hits a round hits both."""
    throughput_ratio: float
    """Which part of the direct throughput, likewise."""


def sample(latencies_ns: Sequence[int], calls: int, seconds: float) -> Sample:
    """`latencies_ns` of single calls, and the time that `calls` with many in flight took."""
    return Sample(
        p50_us=percentile(latencies_ns, 0.5) / 1000,
        p99_us=percentile(latencies_ns, 0.99) / 1000,
        calls_per_s=calls / seconds,
    )


def column(rounds: Sequence[Mapping[str, Sample]], way: str) -> Column:
    """The column of one way, given every round by way; `direct` is among the ways."""
    return Column(
        p50_us=round(median(r[way].p50_us for r in rounds), 1),
        p99_us=round(median(r[way].p99_us for r in rounds), 1),
        calls_per_s=round(median(r[way].calls_per_s for r in rounds), 1),
        p50_ratio=round(median(r[way].p50_us / r["direct"].p50_us for r in rounds), 3),
        throughput_ratio=round(median(r[way].calls_per_s / r["direct"].calls_per_s for r in rounds), 3),
    )


def percentile(values: Sequence[int], part: float) -> int:
    """The smallest of `values` that at least `part` of them do not pass."""
    ordered = sorted(values)
    return ordered[max(math.ceil(len(ordered) * part) - 1, 0)]
