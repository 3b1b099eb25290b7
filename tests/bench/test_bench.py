"""`./mesh bench`."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from rich.console import Console

from bench.benchmark import Failed
from bench.columns import Column
from bench.echo import EchoFigures, show
from bench.mesh import RunningMesh
from bench.nginx import find_nginx
from bench.resolution import composition
from router.composition.resolve import resolve

ROOT = Path(__file__).parents[2]


def bench(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "bench", *arguments]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)


def test_echo_prints_one_json_object_with_every_figure() -> None:
    ended = bench("echo", "--quick", "--json")
    assert ended.returncode == 0, ended.stderr
    figures = json.loads(ended.stdout)
    ways = ("direct", "router", "nginx")
    memory = ("router_rss_mib", "provider_rss_mib", "cancel_rss_growth_mib")
    assert list(figures) == [*ways, "cold_start_s", *memory]
    if find_nginx() is None:
        assert figures.pop("nginx") is None
    for way in set(ways) & set(figures):
        assert list(figures[way]) == ["p50_us", "p99_us", "calls_per_s", "p50_ratio", "throughput_ratio"]
        assert all(value > 0 for value in figures[way].values())
    assert figures["cold_start_s"] > 0
    assert figures["router_rss_mib"] > 0
    assert figures["provider_rss_mib"] > 0
    assert "round 1/1" in ended.stderr


def test_swap_prints_one_json_object_with_every_figure_and_no_call_goes_wrong() -> None:
    ended = bench("swap", "--quick", "--json")
    assert ended.returncode == 0, ended.stderr
    figures = json.loads(ended.stdout)
    promised = (
        "swaps",
        "failed",
        "lost",
        "duplicated",
        "apply_ms_p50",
        "p99_ratio",
        "disable_ms_max",
        "leaked",
    )
    assert list(figures)[: len(promised)] == list(promised)
    assert figures["swaps"] == 4
    for wrong in ("failed", "lost", "duplicated", "strayed", "leaked"):
        assert figures[wrong] == 0, figures
    assert figures["errors"] == {}
    assert set(figures["leaks"].values()) == {0}
    assert figures["disable_ms_max"] == max(figures["disable_ms"]) > 0
    for kind in ("selection", "consumer"):
        assert figures[kind]["swaps"] == 4
        assert figures[kind]["calls"] > 0
        assert figures[kind]["p99_ratio"] > 0
        assert figures[kind]["apply_ms_p50"] > 0
    # A selection starts nothing; a consumer whose provider is another one is started anew.
    assert figures["selection"]["start_ms_p50"] == 0 < figures["consumer"]["start_ms_p50"]
    assert "leak 20/20" in ended.stderr


def test_chain_prints_one_json_object_with_every_figure() -> None:
    ended = bench("chain", "--quick", "--json")
    assert ended.returncode == 0, ended.stderr
    figures = json.loads(ended.stdout)
    assert list(figures) == [
        "decorators",
        "resolve_500_ms",
        "resolve_5000_ms",
        "hop_us",
        "echo_us",
        "hop_ratio",
    ]
    assert list(figures["decorators"]) == ["0", "1", "2", "4"]
    assert 0 < figures["decorators"]["0"] < figures["decorators"]["4"]
    assert 0 < figures["resolve_500_ms"] < figures["resolve_5000_ms"]
    assert figures["echo_us"] > 0
    assert "round 1/1" in ended.stderr


@pytest.mark.parametrize("modules", [500, 501])
def test_a_composition_that_is_resolved_has_four_bindings_for_each_module(modules: int) -> None:
    graph = resolve(*composition(modules))
    assert len(graph.order) == modules
    assert sum(len(node.bindings) for node in graph.nodes.values()) == 4 * modules


def test_without_a_name_the_benchmarks_are_listed() -> None:
    assert "echo" in bench().stdout
    assert list(json.loads(bench("--json").stdout)) == ["echo", "swap", "chain"]


def test_an_unknown_name_ends_with_2_and_the_nearest_name() -> None:
    ended = bench("ehco", "--json")
    assert ended.returncode == 2
    assert ended.stdout == ""
    assert "did you mean 'echo'?" in ended.stderr


def test_a_figure_past_its_bound_is_shown_as_such_and_a_missing_nginx_too() -> None:
    direct = Column(p50_us=100, p99_us=200, calls_per_s=3000, p50_ratio=1, throughput_ratio=1)
    router = Column(p50_us=400, p99_us=800, calls_per_s=1500, p50_ratio=4, throughput_ratio=0.5)
    figures = EchoFigures(
        direct=direct,
        router=router,
        nginx=None,
        cold_start_s=1,
        router_rss_mib=60,
        provider_rss_mib=50,
        cancel_rss_growth_mib=5,
    )
    console = Console(width=100)
    with console.capture() as captured:
        console.print(show(figures))
    lines = captured.get().splitlines()
    assert [line.split()[0] for line in lines if "does not hold" in line] == ["router"]
    assert any(line.startswith("router p50") and "does not hold" in line for line in lines)
    assert any(line.startswith("nginx") and "not installed" in line for line in lines)


def test_a_command_of_the_mesh_that_fails_is_told_with_its_words(tmp_path: Path) -> None:
    with pytest.raises(Failed, match=r"`wuu-mesh status` exited with 3: .*no mesh is running"):
        RunningMesh(tmp_path).status()
