"""The benchmarks by name."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bench.benchmark import Benchmark
from bench.chain import CHAIN
from bench.echo import ECHO
from bench.swap import SWAP

BENCHMARKS: Mapping[str, Benchmark[Any]] = {benchmark.name: benchmark for benchmark in (ECHO, SWAP, CHAIN)}
"""Every benchmark, in the order of the list."""
