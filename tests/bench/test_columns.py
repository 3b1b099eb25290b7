"""What rounds come to."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.columns import Beside, Round, Sample, beside, column, compared, cpu_us, percentile, sample


@given(st.lists(st.integers(0, 10**9), min_size=1), st.floats(0.01, 1.0))
def test_a_percentile_is_a_measured_value_that_enough_of_them_do_not_pass(
    values: list[int], part: float
) -> None:
    found = percentile(values, part)
    assert found in values
    assert sum(value <= found for value in values) >= part * len(values)
    assert sum(value < found for value in values) < part * len(values)


def test_a_sample_is_in_microseconds_and_calls_per_second() -> None:
    taken = sample([1_000 * n for n in range(1, 101)], calls=500, seconds=2.0, cpu_seconds=0.05)
    assert taken == Sample(p50_us=50.0, p99_us=99.0, calls_per_s=250.0, cpu_us=100.0)


ROUNDS: list[Round] = [
    {
        "direct": Sample(100, 200, 1000, 0),
        "router": Sample(200, 400, 500, 90),
        "envoy": Sample(100, 300, 1000, 60),
    },
    # A round that noise slowed down, for all ways alike.
    {
        "direct": Sample(400, 800, 250, 0),
        "router": Sample(800, 1600, 125, 300),
        "envoy": Sample(400, 1200, 250, 240),
    },
    {
        "direct": Sample(100, 200, 1000, 0),
        "router": Sample(300, 600, 400, 100),
        "envoy": Sample(200, 600, 500, 70),
    },
]


def test_a_ratio_is_the_median_of_the_rounds_and_not_of_the_medians() -> None:
    router = column(ROUNDS, "router")
    assert (router.p50_us, router.p99_us, router.calls_per_s) == (300, 600, 400)
    assert router.p50_ratio == pytest.approx(2.0)
    assert router.throughput_ratio == pytest.approx(0.5)
    assert column(ROUNDS, "direct").p50_ratio == 1.0


def test_the_router_is_set_beside_a_proxy_within_each_round() -> None:
    assert beside(ROUNDS, "envoy") == Beside(p50_ratio=2.0, throughput_ratio=0.5)


def test_the_processor_time_of_a_call_is_the_median_of_the_rounds() -> None:
    assert (cpu_us(ROUNDS, "router"), cpu_us(ROUNDS, "envoy")) == (100, 70)


def test_a_proxy_that_is_not_installed_has_no_figures() -> None:
    columns = compared(ROUNDS)
    assert columns.envoy == column(ROUNDS, "envoy")
    assert columns.nginx is None
    assert beside(ROUNDS, "nginx") is None
    assert cpu_us(ROUNDS, "nginx") is None
