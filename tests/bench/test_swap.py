"""What the rounds of `swap` come to."""

from __future__ import annotations

import pytest
from rich.console import Console

from bench.benchmark import Failed
from bench.calls import Call, Window
from bench.footprint import Footprint, Leaks
from bench.swap import Applied, Round, SwapFigures, Swapped, show, swapped

MS = 1_000_000


def call(begun_ms: int, latency_ms: int) -> Call:
    return Call((begun_ms,), begun_ms * MS, (begun_ms + latency_ms) * MS, 1, "answered", 1)


def round_at(begun_ms: int, without_start: float, *, start: float = 0) -> Round:
    """100 ms of rest, then 100 ms with one swap."""
    return Round(
        rest=Window(begun_ms * MS, (begun_ms + 100) * MS),
        swapping=Window((begun_ms + 100) * MS, (begun_ms + 200) * MS),
        applied=[Applied(start=start, without_start=without_start, generation=2)],
    )


def test_a_ratio_is_the_median_of_the_rounds_and_not_of_the_medians() -> None:
    calls = [
        *(call(0, 10), call(100, 20)),
        # A round that noise slowed down, for both sides alike.
        *(call(1000, 50), call(1100, 100)),
        *(call(2000, 10), call(2100, 30)),
    ]
    figures = swapped(calls, [round_at(0, 30), round_at(1000, 90), round_at(2000, 40)])
    assert (figures.rest_p99_ms, figures.swap_p99_ms, figures.p99_ratio) == (10, 30, 2)
    assert (figures.apply_ms_p50, figures.apply_ms_max) == (40, 90)
    assert (figures.swaps, figures.calls, figures.start_ms_p50) == (3, 6, 0)


def test_a_time_without_calls_is_no_figure() -> None:
    with pytest.raises(Failed, match="no call began"):
        swapped([call(0, 10)], [round_at(0, 30)])


def test_a_footprint_that_grew_is_a_leak_and_one_that_shrank_is_none() -> None:
    before = Footprint(processes=5, sockets=5, descriptors=40, generations=0, rss=0)
    after = Footprint(processes=6, sockets=4, descriptors=42, generations=1, rss=0)
    leaks = after.beyond(before)
    assert leaks == Leaks(processes=1, sockets=0, descriptors=2, generations=1)
    assert leaks.total == 4


def test_a_figure_past_its_bound_is_shown_as_such_with_what_failed_calls_were_answered() -> None:
    kind = Swapped(
        swaps=50,
        calls=1000,
        rest_p50_ms=5,
        swap_p50_ms=6,
        rest_p99_ms=10,
        swap_p99_ms=20,
        p99_ratio=2,
        apply_ms_p50=30,
        apply_ms_max=40,
        start_ms_p50=0,
    )
    figures = SwapFigures(
        swaps=50,
        failed=1,
        lost=0,
        duplicated=0,
        apply_ms_p50=30,
        p99_ratio=2,
        disable_ms_max=250,
        leaked=0,
        strayed=0,
        rss_growth_mib=0,
        selection=kind,
        consumer=kind,
        disable_ms=[250],
        leaks=Leaks(processes=0, sockets=0, descriptors=0, generations=0),
        leak_swaps=1000,
        errors={"generation_closed: it is stopping": 1},
    )
    console = Console(width=100)
    with console.capture() as captured:
        console.print(show(figures))
    lines = captured.get().splitlines()
    assert [line.split(maxsplit=1)[0] for line in lines if "does not hold" in line] == ["failed", "disable:"]
    assert "1 × generation_closed: it is stopping" in captured.get()
