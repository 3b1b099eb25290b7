"""`echo`: what the router costs beside a direct call and beside other proxies, in time and in memory."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

import msgspec
from rich.console import Group, RenderableType
from rich.table import Table

from bench.benchmark import Benchmark, Failed, Say
from bench.bounds import Bound, bounds
from bench.columns import Beside, Column, Compared, Round, beside, compared, cpu_us
from bench.mesh import RunningMesh, mesh
from bench.payload import CALLER, Echoes, Payload, Stream, carried
from bench.ways import Way, ways
from contract.errors import MeshError

COMPOSITION = Path(__file__).with_name("echo.json")
CANCELLED_AT_ONCE = 64
CANCEL_PARTS = 4


class EchoFigures(msgspec.Struct, frozen=True):
    """The figures of `echo`. Without a name of their own they are those of 256 bytes."""

    direct: Column
    """The caller sends to the provider's own socket."""
    router: Column
    """The caller sends to the router, inside an execution."""
    nginx: Column | None
    """The caller sends to an nginx in front of the provider; None where nginx is not installed."""
    envoy: Column | None
    """The same of Envoy."""
    cold_start_s: float
    """`wuu-mesh up --detach` with the product's own composition in a fresh home, from start to end."""
    router_rss_mib: float
    """The router's resident set after the load of 256 bytes."""
    provider_rss_mib: float
    """The provider's resident set after it."""
    cancel_rss_growth_mib: float
    """By how much the router's resident set grew over the cancelled calls."""
    payload_64k: Compared
    """Echoes of 64 KiB."""
    payload_4m: Compared
    """Echoes of 4 MiB, with fewer in flight."""
    stream: Compared
    """Streams of messages of 1 KiB. A latency is that from one message to the next, a call is a message."""
    relay_cpu_us: float
    """Processor time of the router for each call with many in flight, user and system, in microseconds."""
    nginx_cpu_us: float | None
    """The same of nginx."""
    envoy_cpu_us: float | None
    """The same of Envoy."""
    router_to_nginx: Beside | None
    """None where nginx is not installed."""
    router_to_envoy: Beside | None
    """Likewise."""


@dataclass(frozen=True, slots=True)
class Scale:
    """How much is measured."""

    starts: int
    rounds: int
    small: Echoes
    medium: Echoes
    large: Echoes
    stream: Stream
    cancelled: int


FULL = Scale(
    starts=5,
    rounds=9,
    small=Echoes("256 B", 256, 32, warm=3_200, single=800, many=3_200),
    medium=Echoes("64 KiB", 64 * 2**10, 32, warm=320, single=200, many=640),
    large=Echoes("4 MiB", 4 * 2**20, 4, warm=16, single=16, many=32),
    stream=Stream("stream", 2**10, messages=10_000),
    cancelled=100_000,
)
QUICK = Scale(
    starts=1,
    rounds=1,
    small=Echoes("256 B", 256, 32, warm=160, single=200, many=640),
    medium=Echoes("64 KiB", 64 * 2**10, 32, warm=32, single=16, many=64),
    large=Echoes("4 MiB", 4 * 2**20, 4, warm=4, single=2, many=4),
    stream=Stream("stream", 2**10, messages=2_000),
    cancelled=2_000,
)


def measure(quick: bool, say: Say) -> EchoFigures:
    """Takes the figures."""
    scale = QUICK if quick else FULL
    cold_start = median(list(_cold_starts(scale, say)))
    with mesh(COMPOSITION) as (running, _), ways(running) as all_ways:
        small = _carried(running, all_ways, scale.small, scale, say)
        # Whatever is larger than a call usually is leaves the router with memory to spare, in which growth
        # would not show.
        loaded = running.settled()
        growth = _cancel_growth(running, loaded, scale, say)
        medium, large, stream = (
            compared(_carried(running, all_ways, payload, scale, say))
            for payload in (scale.medium, scale.large, scale.stream)
        )
        say(f"at the end the router has {_mib(_router_rss(running.settled())):g} MiB")
    columns, relay_cpu = compared(small), cpu_us(small, "router")
    assert relay_cpu is not None, "the router is always among the ways"
    return EchoFigures(
        direct=columns.direct,
        router=columns.router,
        nginx=columns.nginx,
        envoy=columns.envoy,
        cold_start_s=round(cold_start, 3),
        router_rss_mib=_mib(_router_rss(loaded)),
        provider_rss_mib=_mib(_module_rss(loaded, "bench.echo")),
        cancel_rss_growth_mib=_mib(growth),
        payload_64k=medium,
        payload_4m=large,
        stream=stream,
        relay_cpu_us=relay_cpu,
        nginx_cpu_us=cpu_us(small, "nginx"),
        envoy_cpu_us=cpu_us(small, "envoy"),
        router_to_nginx=beside(small, "nginx"),
        router_to_envoy=beside(small, "envoy"),
    )


def show(figures: EchoFigures) -> RenderableType:
    """The figures, and beside each that has a bound the bound that it must reach."""
    small = Compared(figures.direct, figures.router, figures.nginx, figures.envoy)
    cpu = {
        "router": figures.relay_cpu_us,
        "nginx": figures.nginx_cpu_us,
        "envoy": figures.envoy_cpu_us,
    }
    times = Table("", "", "p50", "p99", "calls/s", "p50 ÷", "calls/s ÷", "CPU", box=None, pad_edge=False)
    _add(times, "256 B", small, cpu)
    _add(times, "64 KiB", figures.payload_64k, {})
    _add(times, "4 MiB", figures.payload_4m, {})
    _add(times, "stream", figures.stream, {})
    said = (
        "÷: beside direct. CPU: what the process between the two takes for a call.\n"
        "Of a stream a call is a message, and its latency the time since the last."
    )
    return Group(times, "", said, "", bounds(BOUNDS, figures))


def _add(times: Table, payload: str, columns: Compared, cpu: Mapping[str, float | None]) -> None:
    for name in columns.__struct_fields__:
        way: Column | None = getattr(columns, name)
        taken = cpu.get(name)
        cells = _cells(way) if way else ["not installed", "", "", "", ""]
        times.add_row(payload, name, *cells, "" if taken is None else f"{taken:.0f} µs")


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


def _carried(
    running: RunningMesh, all_ways: Sequence[Way], payload: Payload, scale: Scale, say: Say
) -> list[Round]:
    try:
        return asyncio.run(carried(running, all_ways, payload, scale.rounds, say))
    except MeshError as error:
        raise Failed(f"{payload.name} could not be carried: {error}") from error


def _cancel_growth(running: RunningMesh, before: Any, scale: Scale, say: Say) -> int:
    """By how many bytes the router grew over the cancelled calls. `before` is the status before the first."""
    begun = 0
    after = before
    for _ in range(CANCEL_PARTS):
        params = {"calls": scale.cancelled // CANCEL_PARTS, "at_once": CANCELLED_AT_ONCE, "begun": begun}
        begun = running.call(CALLER, "cancel", params)["begun"]
        after = running.settled()
        growth = _mib(_router_rss(after) - _router_rss(before))
        say(f"cancelled {begun} calls: the router grew by {growth:g} MiB")
    if hanging := running.call("bench.echo@1", "hanging"):
        raise Failed(f"{hanging} cancelled calls still run at the provider")
    return _router_rss(after) - _router_rss(before)


def _p50(router: Beside | None) -> float | None:
    return router.p50_ratio if router else None


def _throughput(router: Beside | None) -> float | None:
    return router.throughput_ratio if router else None


def _router_rss(status: Any) -> int:
    rss: int = status["router"]["rss_bytes"]
    return rss


def _module_rss(status: Any, module: str) -> int:
    rss: int = next(row["rss_bytes"] for row in status["modules"] if row["id"] == module)
    return rss


def _mib(size: int) -> float:
    return round(size / 2**20, 1)


BOUNDS: tuple[Bound[EchoFigures], ...] = (
    Bound("router p50 ÷ direct", lambda f: f.router.p50_ratio, 1.7),
    Bound("router calls/s ÷ direct", lambda f: f.router.throughput_ratio, 0.75, at_least=True),
    Bound("router CPU of a call", lambda f: f.relay_cpu_us, 120, "µs"),
    Bound(
        "4 MiB: router calls/s ÷ direct", lambda f: f.payload_4m.router.throughput_ratio, 0.8, at_least=True
    ),
    Bound(
        "stream: router messages/s ÷ direct", lambda f: f.stream.router.throughput_ratio, 0.95, at_least=True
    ),
    Bound("router p50 ÷ envoy", lambda f: _p50(f.router_to_envoy), 1.0),
    Bound("router calls/s ÷ envoy", lambda f: _throughput(f.router_to_envoy), 1.0, at_least=True),
    Bound("router calls/s ÷ nginx", lambda f: _throughput(f.router_to_nginx), 0.95, at_least=True),
    Bound("cold start", lambda f: f.cold_start_s, 2.0, "s"),
    Bound("router memory", lambda f: f.router_rss_mib, 70, "MiB"),
    Bound("provider memory", lambda f: f.provider_rss_mib, 55, "MiB"),
    Bound("router growth over cancelled calls", lambda f: f.cancel_rss_growth_mib, 20, "MiB"),
)

ECHO = Benchmark(
    "echo",
    "calls and streams direct, through the router, nginx and Envoy; CPU, start, memory",
    measure,
    show,
)
