"""`./mesh bench`."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import msgspec
import pytest
from rich.console import Console

from bench.benchmark import Failed
from bench.columns import Beside, Column, Compared
from bench.echo import EchoFigures, show
from bench.mesh import RunningMesh
from bench.resolution import composition
from bench.ways import PROXIES
from router.composition.resolve import resolve

ROOT = Path(__file__).parents[2]


def bench(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "bench", *arguments]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)


def test_echo_prints_one_json_object_with_every_figure() -> None:
    ended = bench("echo", "--quick", "--json")
    assert ended.returncode == 0, ended.stderr
    figures = json.loads(ended.stdout)
    ways = ("direct", "router", "nginx", "envoy")
    payloads = ("payload_64k", "payload_4m", "stream")
    memory = ("router_rss_mib", "provider_rss_mib", "cancel_rss_growth_mib")
    cpu = ("relay_cpu_us", "nginx_cpu_us", "envoy_cpu_us")
    beside = ("router_to_nginx", "router_to_envoy")
    assert list(figures) == [*ways, "cold_start_s", *memory, *payloads, *cpu, *beside]
    missing = {proxy.name for proxy in PROXIES if proxy.find() is None}
    for columns in ({way: figures[way] for way in ways}, *(figures[payload] for payload in payloads)):
        assert list(columns) == list(ways)
        assert {way for way in ways if columns[way] is None} == missing
        for way in set(ways) - missing:
            assert list(columns[way]) == ["p50_us", "p99_us", "calls_per_s", "p50_ratio", "throughput_ratio"]
            assert all(value > 0 for value in columns[way].values())
    for proxy in ("nginx", "envoy"):
        assert (figures[f"{proxy}_cpu_us"] is None) == (proxy in missing)
        ratios = figures[f"router_to_{proxy}"]
        assert ratios is None if proxy in missing else min(ratios.values()) > 0
    for figure in ("cold_start_s", "router_rss_mib", "provider_rss_mib"):
        assert figures[figure] > 0
    # It comes in ticks, of which a quick run may see none.
    assert figures["relay_cpu_us"] >= 0
    for payload in ("256 B", "64 KiB", "4 MiB", "stream"):
        assert f"{payload} round 1/1" in ended.stderr


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


def echo_figures(**others: Any) -> EchoFigures:
    """Figures that reach every bound, but for `others`."""
    direct = Column(p50_us=100, p99_us=200, calls_per_s=3000, p50_ratio=1, throughput_ratio=1)
    router = Column(p50_us=150, p99_us=300, calls_per_s=2900, p50_ratio=1.5, throughput_ratio=0.96)
    columns = Compared(direct=direct, router=router, nginx=router, envoy=router)
    right = EchoFigures(
        direct=direct,
        router=router,
        nginx=router,
        envoy=router,
        cold_start_s=1,
        router_rss_mib=60,
        provider_rss_mib=50,
        cancel_rss_growth_mib=5,
        payload_64k=columns,
        payload_4m=columns,
        stream=columns,
        relay_cpu_us=100,
        nginx_cpu_us=90,
        envoy_cpu_us=110,
        router_to_nginx=Beside(p50_ratio=1.1, throughput_ratio=1),
        router_to_envoy=Beside(p50_ratio=0.9, throughput_ratio=1.1),
    )
    return msgspec.structs.replace(right, **others)


def shown(figures: EchoFigures) -> list[str]:
    """What people see."""
    console = Console(width=100)
    with console.capture() as captured:
        console.print(show(figures))
    return captured.get().splitlines()


def test_figures_that_reach_every_bound_are_shown_beside_them() -> None:
    lines = shown(echo_figures())
    assert sum(line.rstrip().endswith("holds") for line in lines) == 12
    assert not any("does not hold" in line for line in lines)


def test_a_figure_past_its_bound_is_shown_as_such() -> None:
    slow = Column(p50_us=400, p99_us=800, calls_per_s=2900, p50_ratio=4, throughput_ratio=0.96)
    wrong = [line for line in shown(echo_figures(router=slow)) if "does not hold" in line]
    assert [line.split("  ")[0] for line in wrong] == ["router p50 ÷ direct"]


def test_a_proxy_that_is_not_installed_is_shown_as_such_and_breaks_no_bound() -> None:
    lines = shown(echo_figures(envoy=None, envoy_cpu_us=None, router_to_envoy=None))
    assert any(
        line.split()[:2] == ["256", "B"] and "envoy" in line and "not installed" in line for line in lines
    )
    beside = [line for line in lines if "÷ envoy" in line]
    assert len(beside) == 2
    assert all("not installed" in line for line in beside)
    assert not any("does not hold" in line for line in lines)


def test_a_command_of_the_mesh_that_fails_is_told_with_its_words(tmp_path: Path) -> None:
    with pytest.raises(Failed, match=r"`wuu-mesh status` exited with 3: .*no mesh is running"):
        RunningMesh(tmp_path).status()
