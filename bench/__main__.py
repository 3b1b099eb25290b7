"""`./mesh bench [NAME]`."""

from __future__ import annotations

import signal
from typing import Annotated

import msgspec
import typer
from rich.console import Console
from rich.table import Table

from bench.benchmark import Failed, progress
from bench.registry import BENCHMARKS
from router.cli.exits import EXIT_ERROR, EXIT_USAGE
from router.cli.options import JsonOption
from router.composition.nearest import nearest


def bench(
    name: Annotated[
        str, typer.Argument(help="The benchmark; without one, the list.", show_default=False)
    ] = "",
    quick: Annotated[
        bool, typer.Option("--quick", help="Few measurements: does it work, not how fast.")
    ] = False,
    json: JsonOption = False,
) -> None:
    """Measure the mesh on this machine. Progress goes to standard error, figures to standard output.

    Exit codes: 0 done, 1 it could not be measured, 2 usage.
    """
    if not name:
        _list(json)
        return
    benchmark = BENCHMARKS.get(name)
    if benchmark is None:
        typer.echo(f"mesh bench: there is no benchmark '{name}'{nearest(name, BENCHMARKS)}", err=True)
        typer.echo("  → `./mesh bench` lists them.", err=True)
        raise typer.Exit(EXIT_USAGE)
    # The mesh of a benchmark runs detached, so whatever ends the benchmark has to pass its `finally`.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        figures = benchmark.measure(quick, progress())
    except Failed as failed:
        typer.echo(f"mesh bench: {failed}", err=True)
        raise typer.Exit(EXIT_ERROR) from None
    if json:
        typer.echo(msgspec.json.encode(figures).decode())
    else:
        Console(highlight=False).print(benchmark.show(figures))


def _list(json: bool) -> None:
    if json:
        names = {benchmark.name: benchmark.summary for benchmark in BENCHMARKS.values()}
        typer.echo(msgspec.json.encode(names).decode())
        return
    table = Table("benchmark", "measures", box=None, pad_edge=False)
    for benchmark in BENCHMARKS.values():
        table.add_row(benchmark.name, benchmark.summary)
    Console(highlight=False).print(table)


if __name__ == "__main__":
    # A benchmark is an argument and no command of its own, so that an unknown one gets our answer.
    app = typer.Typer(add_completion=False)
    app.command()(bench)
    app(prog_name="./mesh bench")
