"""`swap`: what a swap of providers costs those who call them meanwhile, and what it leaves behind."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

import msgspec
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from bench.benchmark import Benchmark, Failed, Say
from bench.bounds import Bound, bounds
from bench.calls import Call, Counted, Served, Window, count
from bench.columns import percentile
from bench.footprint import Footprint, Leaks, footprint
from bench.load import ANSWER_WITHIN, Ask, Load, load
from bench.mesh import RunningMesh, mesh
from bench.operator import Operator, operator
from contract.errors import MeshError

COMPOSITION = Path(__file__).with_name("swap.json")
COLOUR = "bench.colour@1"
ASKER = "bench.asker@1"
BLUE, GREEN = "bench.blue", "bench.green"
CALLERS = 32
HELD_DIRECTLY, HELD_BY_CONSUMER = 8, 4
"""Calls in flight in each generation as the module is disabled."""
HELD_GENERATIONS = 3
RESTART_EVERY = 10
"""Of so many of the swaps after which leaks are counted, one starts instances anew."""
CHURN_PART = 100
"""Swaps between two looks at the footprint."""


class Swapped(msgspec.Struct, frozen=True):
    """One kind of swap, over all rounds."""

    swaps: int
    calls: int
    """That ended, at rest and during swaps."""
    rest_p50_ms: float
    """The median latency at rest. The median over the rounds, as the next four."""
    swap_p50_ms: float
    """The same of the calls that began during swaps."""
    rest_p99_ms: float
    """The latency that 99 of 100 calls at rest stay under."""
    swap_p99_ms: float
    """The same of the calls that began during swaps."""
    p99_ratio: float
    """How many times the latency at rest: of each round."""
    apply_ms_p50: float
    """From Apply to its answer without the start of instances; the median over the swaps."""
    apply_ms_max: float
    start_ms_p50: float
    """Until every new instance had declared itself; 0 where none was started."""


class SwapFigures(msgspec.Struct, frozen=True):
    """The figures of `swap`."""

    swaps: int
    """Swaps of the operator's selection; as many again moved the binding of a consumer."""
    failed: int
    lost: int
    duplicated: int
    apply_ms_p50: float
    """Of the swaps of both kinds."""
    p99_ratio: float
    """Of the operator's selection, where nothing is started."""
    disable_ms_max: float
    """From the commit that disables a module to the answer of the last of its calls."""
    leaked: int
    strayed: int
    """See `bench.calls.Counted`, as for `failed`, `lost` and `duplicated`."""
    rss_growth_mib: float
    """By how much the router's resident set grew over the swaps that were counted for leaks."""
    selection: Swapped
    consumer: Swapped
    disable_ms: list[float]
    leaks: Leaks
    leak_swaps: int
    """The swaps after which leaks were counted."""
    errors: dict[str, int]
    """What failed calls were answered with."""


@dataclass(frozen=True, slots=True)
class Scale:
    """How much is measured."""

    rounds: int
    swaps: int
    """In each round, of each kind."""
    rest: float
    """Seconds of each round in which nothing is swapped."""
    disables: int
    warm_up: int
    """Swaps before the first footprint."""
    leak_swaps: int


FULL = Scale(rounds=5, swaps=10, rest=3.0, disables=10, warm_up=60, leak_swaps=1000)
QUICK = Scale(rounds=1, swaps=4, rest=0.5, disables=1, warm_up=10, leak_swaps=20)


@dataclass(frozen=True, slots=True)
class Kind:
    """What a swap changes, and who notices."""

    name: str
    requests: int
    """How many each call makes."""
    ask: Callable[[Operator], Ask]
    composition: Callable[[str], Mapping[str, Any]]
    """The composition with that provider selected."""


@dataclass(frozen=True, slots=True)
class Applied:
    """One swap, in milliseconds."""

    start: float
    """Until every new instance had declared itself; 0 where none was started."""
    without_start: float
    """From Apply to its answer, without the start of instances."""
    generation: int


@dataclass(frozen=True, slots=True)
class Round:
    """Some time at rest and some swaps."""

    rest: Window
    swapping: Window
    applied: Sequence[Applied]


def measure(quick: bool, say: Say) -> SwapFigures:
    """Takes the figures."""
    scale = QUICK if quick else FULL
    try:
        with mesh(COMPOSITION) as (running, _):
            swapping, disabled = asyncio.run(_under_load(running, scale, say))
        # A router that was under load has memory to spare, in which growth would not show.
        with mesh(COMPOSITION) as (running, _):
            before, after = asyncio.run(_left_behind(running, scale, say))
    except MeshError as error:
        raise Failed(f"the mesh refused what the benchmark asked for: {error}") from error
    counted = sum((each.counted for each in swapping), Counted())
    selection, consumer = (each.figures for each in swapping)
    leaks = after.beyond(before)
    return SwapFigures(
        swaps=selection.swaps,
        failed=counted.failed,
        lost=counted.lost,
        duplicated=counted.duplicated,
        apply_ms_p50=round(median(ms for each in swapping for ms in each.without_start), 1),
        p99_ratio=selection.p99_ratio,
        disable_ms_max=max(disabled),
        leaked=leaks.total,
        strayed=counted.strayed,
        rss_growth_mib=_grown(before, after),
        selection=selection,
        consumer=consumer,
        disable_ms=disabled,
        leaks=leaks,
        leak_swaps=scale.leak_swaps,
        errors={error: n for each in swapping for error, n in each.errors.items()},
    )


async def _under_load(running: RunningMesh, scale: Scale, say: Say) -> tuple[Sequence[Swapping], list[float]]:
    async with operator(running) as by:
        swapping = [await _swapping(by, kind, scale, say) for kind in KINDS]
        return swapping, [await _disable(by, index, scale, say) for index in range(scale.disables)]


async def _left_behind(running: RunningMesh, scale: Scale, say: Say) -> tuple[Footprint, Footprint]:
    async with operator(running) as by:
        return await _churn(by, scale, say)


def show(figures: SwapFigures) -> RenderableType:
    """The figures, and beside each that has a bound the bound that it must reach."""
    kinds = Table(
        "a swap of", "swaps", "calls", "at rest p50", "p99", "swapping p50", "p99", "p99 ÷",
        "apply p50", "start p50", box=None, pad_edge=False,
    )  # fmt: skip
    for name, kind in (("selection", figures.selection), ("binding", figures.consumer)):
        kinds.add_row(
            name,
            f"{kind.swaps}",
            f"{kind.calls}",
            f"{kind.rest_p50_ms:.0f} ms",
            f"{kind.rest_p99_ms:.0f} ms",
            f"{kind.swap_p50_ms:.0f} ms",
            f"{kind.swap_p99_ms:.0f} ms",
            f"{kind.p99_ratio:.2f}",
            f"{kind.apply_ms_p50:.0f} ms",
            f"{kind.start_ms_p50:.0f} ms",
        )
    errors = [Text(f"{n} × {error}") for error, n in figures.errors.items()]
    return Group(kinds, "", bounds(BOUNDS, figures), *errors)


# --- what is swapped ---


def composed(*, selected: str = BLUE, bound: str = BLUE, turn: str = "") -> Mapping[str, Any]:
    """The composition with `selected` for the operator and `bound` for the consumer.

    With another `turn`, `bench.blue` and who is bound to it are started anew.
    """
    composition = msgspec.json.decode(COMPOSITION.read_bytes())
    composition["modules"][BLUE] = {"config": {"turn": turn}}
    for selection, provider in zip(composition["services"], (selected, bound), strict=True):
        selection["provider"] = provider
    return composition  # type: ignore[no-any-return]


def _serve(by: Operator) -> Ask:
    async def ask(requests: tuple[int, ...]) -> tuple[int, list[Served]]:
        (request,) = requests
        served = Served(**await by.call(COLOUR, "serve", {"id": request}))
        return served.generation, [served]

    return ask


def _ask(by: Operator) -> Ask:
    async def ask(requests: tuple[int, ...]) -> tuple[int, list[Served]]:
        answer = await by.call(ASKER, "ask", {"ids": requests})
        return answer["generation"], [Served(**each) for each in answer["answers"]]

    return ask


KINDS = (
    Kind("selection", 1, _serve, lambda provider: composed(selected=provider)),
    Kind("consumer", 2, _ask, lambda provider: composed(bound=provider)),
)


# --- swaps while everybody calls ---


@dataclass(frozen=True, slots=True)
class Swapping:
    """What one kind of swap came to."""

    figures: Swapped
    counted: Counted
    without_start: Sequence[float]
    errors: Mapping[str, int]


async def _swapping(by: Operator, kind: Kind, scale: Scale, say: Say) -> Swapping:
    first = await by.apply(kind.composition(GREEN), str(COMPOSITION))
    selected = {int(first.generation.id): GREEN}
    async with load(
        kind.ask(by), callers=CALLERS, requests=kind.requests, newest=int(first.generation.id)
    ) as working:
        # Every way is gone once before anything is measured.
        await asyncio.sleep(scale.rest)
        await _swap(by, kind, working, selected)
        rounds: list[Round] = []
        for index in range(scale.rounds):
            rounds.append(await _round(by, kind, scale, working, selected))
            say(f"{kind.name} {index + 1}/{scale.rounds}: {_told(working.calls, rounds[-1])}")
    served = [*await by.call(COLOUR, "served", module=BLUE), *await by.call(COLOUR, "served", module=GREEN)]
    return Swapping(
        figures=swapped(working.calls, rounds),
        counted=count(working.calls, served, selected),
        without_start=[each.without_start for done in rounds for each in done.applied],
        errors=working.errors,
    )


async def _round(by: Operator, kind: Kind, scale: Scale, working: Load, selected: dict[int, str]) -> Round:
    """`selected` gets the provider of every new generation."""
    begun = time.perf_counter_ns()
    await asyncio.sleep(scale.rest)
    rested = time.perf_counter_ns()
    applied = [await _swap(by, kind, working, selected) for _ in range(scale.swaps)]
    ended = time.perf_counter_ns()
    # The next rest begins once what was superseded is gone, and who called meanwhile has an answer.
    await by.unclosed()
    await working.caught_up()
    return Round(Window(begun, rested), Window(rested, ended), applied)


async def _swap(by: Operator, kind: Kind, working: Load, selected: dict[int, str]) -> Applied:
    """Selects the other provider."""
    provider = BLUE if selected[max(selected)] == GREEN else GREEN
    applied = await _apply(by, kind.composition(provider))
    selected[applied.generation] = provider
    working.newest = applied.generation
    return applied


async def _apply(by: Operator, composition: Mapping[str, Any]) -> Applied:
    begun = time.perf_counter()
    transition = await by.apply(composition, str(COMPOSITION))
    wall = (time.perf_counter() - begun) * 1000
    started = bool(transition.difference.added or transition.difference.replaced)
    return Applied(
        start=transition.start_ms if started else 0.0,
        without_start=transition.took_ms - transition.start_ms if started else wall,
        generation=int(transition.generation.id),
    )


def swapped(calls: Sequence[Call], rounds: Sequence[Round]) -> Swapped:
    """The figures of one kind of swap."""
    rests = [_latency_ms(calls, done.rest, 0.99) for done in rounds]
    swaps = [_latency_ms(calls, done.swapping, 0.99) for done in rounds]
    applied = [each for done in rounds for each in done.applied]
    return Swapped(
        swaps=len(applied),
        calls=len(calls),
        rest_p50_ms=round(median(_latency_ms(calls, done.rest, 0.5) for done in rounds), 2),
        swap_p50_ms=round(median(_latency_ms(calls, done.swapping, 0.5) for done in rounds), 2),
        rest_p99_ms=round(median(rests), 2),
        swap_p99_ms=round(median(swaps), 2),
        p99_ratio=round(median(swap / rest for swap, rest in zip(swaps, rests, strict=True)), 2),
        apply_ms_p50=round(median(each.without_start for each in applied), 1),
        apply_ms_max=round(max(each.without_start for each in applied), 1),
        start_ms_p50=round(median(each.start for each in applied), 1),
    )


def _latency_ms(calls: Sequence[Call], window: Window, part: float) -> float:
    """The latency that `part` of the calls that began in the window do not pass."""
    latencies = [call.latency_ns for call in calls if window.has(call)]
    if not latencies:
        raise Failed("no call began while it was measured")
    return percentile(latencies, part) / 1e6


def _told(calls: Sequence[Call], done: Round) -> str:
    rest, swap = _latency_ms(calls, done.rest, 0.99), _latency_ms(calls, done.swapping, 0.99)
    within = sum(map(done.swapping.has, calls))
    apply = median(each.without_start for each in done.applied)
    return (
        f"p99 {rest:.1f} ms at rest, {swap:.1f} ms in {within} calls during {len(done.applied)} swaps; "
        f"apply {apply:.0f} ms"
    )


# --- a module is disabled while it serves ---


async def _disable(by: Operator, index: int, scale: Scale, say: Say) -> float:
    """Milliseconds from the commit to the answer of the last call in flight."""
    held: list[asyncio.Task[tuple[str, float]]] = []
    for turn in range(HELD_GENERATIONS):
        # Every generation has an instance of its own, which its calls keep.
        await by.apply(composed(turn=f"held {index} {turn}"), str(COMPOSITION))
        held += [asyncio.create_task(_held(by, COLOUR, "hang")) for _ in range(HELD_DIRECTLY)]
        held += [asyncio.create_task(_held(by, ASKER, "hold")) for _ in range(HELD_BY_CONSUMER)]
        await by.call(COLOUR, "hanging", {"at_least": HELD_DIRECTLY + HELD_BY_CONSUMER})
    retained = sum(each.state == "retained" for each in await by.generations(HELD_GENERATIONS))
    if retained != HELD_GENERATIONS - 1:
        raise Failed(f"calls in flight keep {retained} generations, not {HELD_GENERATIONS - 1}")
    disabled = await by.switch(BLUE, enabled=False)
    try:
        async with asyncio.timeout(ANSWER_WITHIN):
            ended = await asyncio.gather(*held)
    except TimeoutError:
        raise Failed(f"calls of a module that was disabled {ANSWER_WITHIN:g} s ago have no answer") from None
    if others := {code for code, _ in ended} - {"module_revoked"}:
        raise Failed(f"calls of a module that was disabled ended with {', '.join(sorted(others))}")
    record = next(each for each in await by.generations() if each.id == disabled.generation.id)
    last = round(max(at for _, at in ended) - record.committed_unix_ms, 1)
    say(f"disable {index + 1}/{scale.disables}: {len(held)} calls ended within {last:g} ms of the commit")
    await by.switch(BLUE, enabled=True)
    await by.unclosed()
    return last


async def _held(by: Operator, service: str, method: str) -> tuple[str, float]:
    """The code with which a call that hangs ends, and when, in milliseconds since the Unix epoch."""
    try:
        # The consumer answers with the code of the call that it makes itself.
        code = await by.call(service, method)
    except MeshError as error:
        code = error.code
    return code, time.time() * 1000


# --- what is left behind ---


async def _churn(by: Operator, scale: Scale, say: Say) -> tuple[Footprint, Footprint]:
    """The footprints before and after many swaps."""
    turns = iter(range(scale.warm_up + scale.leak_swaps))
    for _ in range(scale.warm_up):
        await _turn(by, next(turns))
    before = after = await footprint(by)
    for done, turn in enumerate(turns, 1):
        await _turn(by, turn)
        if done % CHURN_PART == 0 or done == scale.leak_swaps:
            after = await footprint(by, before=before)
            leaked, grown = after.beyond(before).total, _grown(before, after)
            say(f"leak {done}/{scale.leak_swaps}: {leaked} leaked, the router grew by {grown:g} MiB")
    return before, after


def _grown(before: Footprint, after: Footprint) -> float:
    """By how many MiB the router grew."""
    return round((after.rss - before.rss) / 2**20, 1)


async def _turn(by: Operator, turn: int) -> None:
    """One swap of the leak's, and a call that shows whom it selected."""
    provider = (BLUE, GREEN)[turn % 2]
    composition = composed(selected=provider, turn=f"churn {turn // RESTART_EVERY}")
    await by.apply(composition, str(COMPOSITION))
    served = Served(**await by.call(COLOUR, "serve", {"id": turn}))
    if served.provider != provider:
        raise Failed(f"{served.provider} served a call although {provider} had been selected")


BOUNDS: tuple[Bound[SwapFigures], ...] = (
    Bound("failed calls", lambda f: f.failed, 0),
    Bound("lost calls", lambda f: f.lost, 0),
    Bound("requests served twice", lambda f: f.duplicated, 0),
    Bound("calls served by another generation", lambda f: f.strayed, 0),
    Bound("p99 during swaps ÷ at rest", lambda f: f.p99_ratio, 3.0),
    Bound("apply without process start, p50", lambda f: f.apply_ms_p50, 300, "ms"),
    Bound("disable: the last call's answer", lambda f: f.disable_ms_max, 200, "ms"),
    Bound("leaked", lambda f: f.leaked, 0),
    Bound("router growth over the swaps", lambda f: f.rss_growth_mib, 20, "MiB"),
)

SWAP = Benchmark(
    "swap", "swaps of a provider while it is called; disabling; what they leave behind", measure, show
)
