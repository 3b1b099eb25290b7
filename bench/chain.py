"""`chain`: what decorators in front of a provider cost, and how long a composition takes to resolve."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from statistics import median
from typing import Any

import msgspec
from rich.console import Group, RenderableType
from rich.table import Table

from bench.benchmark import Benchmark, Say
from bench.bounds import Bound, bounds
from bench.columns import percentile
from bench.mesh import RunningMesh, mesh
from bench.resolution import resolution_ms

COMPOSITION = Path(__file__).with_name("chain.json")
READER = "bench.reader@1"
STORE = "wuu.state.sqlite"
LENGTHS = (0, 1, 2, 4)
"""How many decorators stand in front of the store."""
SIZE = 256
"""Bytes of JSON in the document that is read, and in what is echoed beside."""
ECHO = "echo"
"""The way that is measured beside the chains: one hop and nothing else."""


class ChainFigures(msgspec.Struct, frozen=True):
    """The figures of `chain`."""

    decorators: dict[str, float]
    """By the number of decorators, the median latency of one read at a time, in microseconds."""
    resolve_500_ms: float
    """The resolution of 500 modules with 2,000 bindings."""
    resolve_5000_ms: float
    """The resolution of 5,000 modules with 20,000 bindings."""
    hop_us: float
    """What each of four decorators adds to a read."""
    echo_us: float
    """The median latency of an echo through the router, in the same rounds."""
    hop_ratio: float
    """How many echoes a decorator costs: of each round, so that noise which hits a round hits both."""


@dataclass(frozen=True, slots=True)
class Scale:
    """How much is measured."""

    rounds: int
    warm_up: int
    """Calls each way, before the first round."""
    calls: int
    """Each way and round."""
    resolutions: int
    """Of each size; the best counts."""


FULL = Scale(rounds=9, warm_up=200, calls=400, resolutions=5)
QUICK = Scale(rounds=1, warm_up=20, calls=100, resolutions=1)

Round = Mapping[str, float]
"""The median latency of each way in one round, in microseconds."""


def measure(quick: bool, say: Say) -> ChainFigures:
    """Takes the figures."""
    scale = QUICK if quick else FULL
    resolved = {modules: round(resolution_ms(modules, scale.resolutions), 1) for modules in (500, 5_000)}
    say(f"resolved 500 modules in {resolved[500]} ms, 5000 in {resolved[5_000]} ms")
    with ExitStack() as running:
        # All of them run all the time: the chain of a mesh cannot be had in several lengths at once, and
        # what a mesh that nobody calls takes from the others is nothing.
        meshes = {length: _running(running, length, say) for length in LENGTHS}
        rounds = list(_rounds(meshes, scale, say))
    return ChainFigures(
        decorators={str(length): _median(rounds, str(length)) for length in LENGTHS},
        resolve_500_ms=resolved[500],
        resolve_5000_ms=resolved[5_000],
        hop_us=round(median(_hop(each) for each in rounds), 1),
        echo_us=_median(rounds, ECHO),
        hop_ratio=round(median(_hop(each) / each[ECHO] for each in rounds), 3),
    )


def show(figures: ChainFigures) -> RenderableType:
    """The figures, and beside each that has a bound the bound that it must reach."""
    times = Table("decorators", "p50 of a read", box=None, pad_edge=False)
    for length, p50 in figures.decorators.items():
        times.add_row(length, f"{p50:.0f} µs")
    hop = f"each decorator adds {figures.hop_us:.0f} µs; an echo takes {figures.echo_us:.0f} µs"
    return Group(times, "", hop, "", bounds(BOUNDS, figures))


def document(length: int) -> dict[str, Any]:
    """The composition with that many decorators, each bound to the next and the last to the store."""
    base: dict[str, Any] = msgspec.json.decode(COMPOSITION.read_bytes())
    chain = [f"bench.decorator-{index}" for index in range(length, 0, -1)]
    selected = {"service": "state.documents", "major": 1}
    services: list[dict[str, Any]] = [{**selected, "provider": [*chain, STORE][0]}]
    services += [
        {**selected, "provider": inner, "consumer": outer} for outer, inner in pairwise([*chain, STORE])
    ]
    beside = ["bench.echo"] if length == 0 else []
    return {
        **base,
        "packages": [str(COMPOSITION.parent / each) for each in base["packages"]],
        "modules": {**base["modules"], **dict.fromkeys([*chain, *beside], True)},
        "services": services,
    }


def _running(until: ExitStack, length: int, say: Say) -> RunningMesh:
    """A mesh with a chain of that length, and a document to read."""
    with tempfile.NamedTemporaryFile(suffix=".json") as composition:
        composition.write(msgspec.json.encode(document(length)))
        composition.flush()
        running, _ = until.enter_context(mesh(Path(composition.name)))
    running.call(READER, "write", {"size": SIZE})
    say(f"{length} decorators stand in front of {STORE}")
    return running


def _rounds(meshes: Mapping[int, RunningMesh], scale: Scale, say: Say) -> Iterator[Round]:
    """Every way in every round, each time in another order."""
    ways = [*map(str, meshes), ECHO]
    for way in ways:
        _p50_us(meshes, way, scale.warm_up)
    for index in range(scale.rounds):
        taken = {way: _p50_us(meshes, way, scale.calls) for way in ways}
        shown = ", ".join(f"{way}: {taken[way]:.0f} µs" for way in sorted(taken))
        say(f"round {index + 1}/{scale.rounds}: {shown}")
        yield taken
        ways.append(ways.pop(0))


def _p50_us(meshes: Mapping[int, RunningMesh], way: str, calls: int) -> float:
    if way == ECHO:
        latencies: Sequence[int] = meshes[0].call(READER, "measure-echo", {"calls": calls, "size": SIZE})
    else:
        latencies = meshes[int(way)].call(READER, "measure", {"calls": calls})
    return percentile(latencies, 0.5) / 1000


def _median(rounds: Sequence[Round], way: str) -> float:
    return round(median(each[way] for each in rounds), 1)


def _hop(taken: Round) -> float:
    longest = max(LENGTHS)
    return (taken[str(longest)] - taken["0"]) / longest


BOUNDS: tuple[Bound[ChainFigures], ...] = (
    Bound("a decorator ÷ an echo", lambda f: f.hop_ratio, 1.5),
    Bound("500 modules, 2,000 bindings", lambda f: f.resolve_500_ms, 100, "ms"),
)

CHAIN = Benchmark(
    "chain", "reads through 0, 1, 2 and 4 decorators; resolving 500 and 5,000 modules", measure, show
)
