"""`echo`: what the router costs beside a direct call and beside nginx, in time and in memory."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

import msgspec
from rich.console import Group, RenderableType
from rich.table import Table

from bench.benchmark import Benchmark, Failed, Say
from bench.bounds import Bound, bounds
from bench.columns import Column, Sample, column, sample
from bench.mesh import RunningMesh, mesh
from bench.nginx import find_nginx, nginx

COMPOSITION = Path(__file__).with_name("echo.json")
ECHO_SERVICE = "bench.echo@1"
CALLER_SERVICE = "bench.caller@1"
PAYLOAD = 256
"""Bytes of JSON that are echoed."""
CONCURRENCY = 32
CANCELLED_AT_ONCE = 64
CANCEL_PARTS = 4

Ways = Mapping[str, dict[str, str] | None]
"""By name, what `measure` of the caller takes as `direct`."""


class EchoFigures(msgspec.Struct, frozen=True):
    """The figures of `echo`."""

    direct: Column
    """The caller sends to the provider's own socket."""
    router: Column
    """The caller sends to the router, inside an execution."""
    nginx: Column | None
    """The caller sends to an nginx in front of the provider; None where nginx is not installed."""
    cold_start_s: float
    """`wuu-mesh up --detach` with the product's own composition in a fresh home, from start to end."""
    router_rss_mib: float
    """The router's resident set after the load."""
    provider_rss_mib: float
    """The provider's resident set after the load."""
    cancel_rss_growth_mib: float
    """By how much the router's resident set grew over the cancelled calls."""


@dataclass(frozen=True, slots=True)
class Scale:
    """How much is measured."""

    starts: int
    rounds: int
    warm_up: int
    """Calls with many in flight, each way, before the first round."""
    single: int
    """Calls one at a time, each way and round."""
    many: int
    """Calls with `CONCURRENCY` in flight, each way and round."""
    cancelled: int


FULL = Scale(starts=5, rounds=9, warm_up=4_000, single=2_000, many=6_400, cancelled=100_000)
QUICK = Scale(starts=1, rounds=1, warm_up=320, single=200, many=640, cancelled=2_000)


def measure(quick: bool, say: Say) -> EchoFigures:
    """Takes the figures."""
    scale = QUICK if quick else FULL
    cold_start = median(list(_cold_starts(scale, say)))
    with mesh(COMPOSITION) as (running, _), _ways(running) as ways:
        rounds = list(_rounds(running, ways, scale, say))
        loaded = running.settled()
        growth = _cancel_growth(running, loaded, scale, say)
    return EchoFigures(
        direct=column(rounds, "direct"),
        router=column(rounds, "router"),
        nginx=column(rounds, "nginx") if "nginx" in ways else None,
        cold_start_s=round(cold_start, 3),
        router_rss_mib=_mib(_router_rss(loaded)),
        provider_rss_mib=_mib(_module_rss(loaded, "bench.echo")),
        cancel_rss_growth_mib=_mib(growth),
    )


def show(figures: EchoFigures) -> RenderableType:
    """The figures, and beside each that has a bound the bound that it must reach."""
    times = Table("", "p50", "p99", "calls/s", "p50 ÷ direct", "calls/s ÷ direct", box=None, pad_edge=False)
    for name, way in (("direct", figures.direct), ("router", figures.router), ("nginx", figures.nginx)):
        times.add_row(name, *(_cells(way) if way else ["not installed"]))
    return Group(times, "", bounds(BOUNDS, figures))


def _cells(way: Column) -> list[str]:
    return [
        f"{way.p50_us:.0f} µs",
        f"{way.p99_us:.0f} µs",
        f"{way.calls_per_s:.0f}",
        f"{way.p50_ratio:.2f}",
        f"{way.throughput_ratio:.2f}",
    ]


def _cold_starts(scale: Scale, say: Say) -> Iterator[float]:
    for index in range(scale.starts):
        with mesh(None) as (_, seconds):
            say(f"cold start {index + 1}/{scale.starts}: {seconds:.2f} s")
            yield seconds


@contextmanager
def _ways(running: RunningMesh) -> Iterator[Ways]:
    """The ways to the provider; nginx is one of them where it is installed."""
    revealed = running.call(ECHO_SERVICE, "reveal")
    ways: dict[str, dict[str, str] | None] = {"direct": revealed, "router": None}
    program = find_nginx()
    if program is None:
        yield ways
        return
    with nginx(program, revealed["socket"]) as socket:
        yield {**ways, "nginx": {**revealed, "socket": str(socket)}}


def _rounds(running: RunningMesh, ways: Ways, scale: Scale, say: Say) -> Iterator[Mapping[str, Sample]]:
    """Every way in every round, each time in another order."""
    for way in ways:
        _load(running, ways[way], scale.warm_up, CONCURRENCY)
    names = list(ways)
    for index in range(scale.rounds):
        taken = {name: _sample(running, ways[name], scale) for name in names}
        shown = ", ".join(
            f"{name} {taken[name].p50_us:.0f} µs {taken[name].calls_per_s:.0f}/s" for name in ways
        )
        say(f"round {index + 1}/{scale.rounds}: {shown}")
        yield taken
        names.append(names.pop(0))


def _sample(running: RunningMesh, way: dict[str, str] | None, scale: Scale) -> Sample:
    single = _load(running, way, scale.single, 1)
    many = _load(running, way, scale.many, CONCURRENCY)
    return sample(single["latencies_ns"], scale.many, many["seconds"])


def _load(running: RunningMesh, way: dict[str, str] | None, calls: int, concurrency: int) -> Any:
    params = {"calls": calls, "concurrency": concurrency, "size": PAYLOAD, "direct": way}
    return running.call(CALLER_SERVICE, "measure", params)


def _cancel_growth(running: RunningMesh, before: Any, scale: Scale, say: Say) -> int:
    """By how many bytes the router grew over the cancelled calls. `before` is the status before the first."""
    begun = 0
    after = before
    for _ in range(CANCEL_PARTS):
        params = {"calls": scale.cancelled // CANCEL_PARTS, "at_once": CANCELLED_AT_ONCE, "begun": begun}
        begun = running.call(CALLER_SERVICE, "cancel", params)["begun"]
        after = running.settled()
        growth = _mib(_router_rss(after) - _router_rss(before))
        say(f"cancelled {begun} calls: the router grew by {growth:g} MiB")
    if hanging := running.call(ECHO_SERVICE, "hanging"):
        raise Failed(f"{hanging} cancelled calls still run at the provider")
    return _router_rss(after) - _router_rss(before)


def _router_rss(status: Any) -> int:
    rss: int = status["router"]["rss_bytes"]
    return rss


def _module_rss(status: Any, module: str) -> int:
    rss: int = next(row["rss_bytes"] for row in status["modules"] if row["id"] == module)
    return rss


def _mib(size: int) -> float:
    return round(size / 2**20, 1)


BOUNDS: tuple[Bound[EchoFigures], ...] = (
    Bound("router p50 ÷ direct", lambda f: f.router.p50_ratio, 3.0),
    Bound("router calls/s ÷ direct", lambda f: f.router.throughput_ratio, 0.30, at_least=True),
    Bound("cold start", lambda f: f.cold_start_s, 2.0, "s"),
    Bound("router memory", lambda f: f.router_rss_mib, 70, "MiB"),
    Bound("provider memory", lambda f: f.provider_rss_mib, 55, "MiB"),
    Bound("router growth over cancelled calls", lambda f: f.cancel_rss_growth_mib, 20, "MiB"),
)

ECHO = Benchmark(
    "echo", "a unary call direct, through the router and through nginx; start; memory", measure, show
)
