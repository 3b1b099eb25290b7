"""What rounds come to: a column of figures for each way to the same provider. Pure."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from statistics import median

import msgspec


class Sample(msgspec.Struct, frozen=True):
    """One way in one round."""

    p50_us: float
    p99_us: float
    calls_per_s: float
    cpu_us: float
    """What stands between caller and provider took of a processor for each call with many in flight."""


Round = Mapping[str, Sample]
"""By way; `direct` and `router` are among them, and the same ways in every round."""


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


class Compared(msgspec.Struct, frozen=True):
    """Every way that carried the same."""

    direct: Column
    router: Column
    nginx: Column | None
    """None where it is not installed."""
    envoy: Column | None
    """Likewise."""


class Beside(msgspec.Struct, frozen=True):
    """The router beside a proxy, of each round and then the median."""

    p50_ratio: float
    """How many times the latency of the proxy."""
    throughput_ratio: float
    """How many times its throughput."""


def sample(latencies_ns: Sequence[int], calls: int, seconds: float, cpu_seconds: float) -> Sample:
    """`latencies_ns` of single calls, and the time that `calls` with many in flight took."""
    return Sample(
        p50_us=percentile(latencies_ns, 0.5) / 1000,
        p99_us=percentile(latencies_ns, 0.99) / 1000,
        calls_per_s=calls / seconds,
        cpu_us=cpu_seconds / calls * 1e6,
    )


def compared(rounds: Sequence[Round]) -> Compared:
    """The columns of every way."""
    return Compared(
        direct=column(rounds, "direct"),
        router=column(rounds, "router"),
        nginx=column(rounds, "nginx") if "nginx" in rounds[0] else None,
        envoy=column(rounds, "envoy") if "envoy" in rounds[0] else None,
    )


def column(rounds: Sequence[Round], way: str) -> Column:
    """The column of one way."""
    return Column(
        p50_us=round(median(r[way].p50_us for r in rounds), 1),
        p99_us=round(median(r[way].p99_us for r in rounds), 1),
        calls_per_s=round(median(r[way].calls_per_s for r in rounds), 1),
        p50_ratio=_ratio(rounds, way, "direct", lambda taken: taken.p50_us),
        throughput_ratio=_ratio(rounds, way, "direct", lambda taken: taken.calls_per_s),
    )


def beside(rounds: Sequence[Round], proxy: str) -> Beside | None:
    """The router beside a proxy; None where that is not installed."""
    if proxy not in rounds[0]:
        return None
    return Beside(
        p50_ratio=_ratio(rounds, "router", proxy, lambda taken: taken.p50_us),
        throughput_ratio=_ratio(rounds, "router", proxy, lambda taken: taken.calls_per_s),
    )


def cpu_us(rounds: Sequence[Round], way: str) -> float | None:
    """The processor time of a call; None where the way is not installed."""
    if way not in rounds[0]:
        return None
    return round(median(r[way].cpu_us for r in rounds), 1)


def percentile(values: Sequence[int], part: float) -> int:
    """The smallest of `values` that at least `part` of them do not pass."""
    ordered = sorted(values)
    return ordered[max(math.ceil(len(ordered) * part) - 1, 0)]


def _ratio(rounds: Sequence[Round], way: str, to: str, figure: Callable[[Sample], float]) -> float:
    return round(median(figure(r[way]) / figure(r[to]) for r in rounds), 3)
