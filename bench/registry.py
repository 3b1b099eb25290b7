"""The benchmarks by name."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bench.benchmark import Benchmark
from bench.echo import ECHO

BENCHMARKS: Mapping[str, Benchmark[Any]] = {benchmark.name: benchmark for benchmark in (ECHO,)}
"""Every benchmark, in the order of the list."""
