"""What the router is compared with."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

import msgspec
import psutil
import pytest

from bench.benchmark import Failed
from bench.envoy import configuration
from bench.proxy import Proxy, listening

LISTENS = """\
import signal, socket, sys

with socket.socket(socket.AF_UNIX) as listening:
    listening.bind(sys.argv[1])
    listening.listen()
    signal.pause()
"""


def python(program: str) -> Proxy:
    """A proxy that passes nothing on: a program in Python."""

    def command(found: str, _home: Path, at: Path, _provider: str) -> Sequence[str]:
        return (found, "-c", program, str(at))

    return Proxy("snake", lambda: sys.executable, command)


def test_a_proxy_listens_in_a_directory_of_its_own_and_is_gone_at_the_end() -> None:
    with listening(python(LISTENS), sys.executable, "unused") as running:
        assert running.socket.is_socket()
        process = psutil.Process(running.pid)
        assert process.is_running()
    assert not process.is_running()
    assert not running.socket.parent.exists()


def test_a_proxy_that_ends_before_it_listens_is_told_with_its_words() -> None:
    with (
        pytest.raises(Failed, match="snake does not listen; it said: the port is taken"),
        listening(python("raise SystemExit('the port is taken')"), sys.executable, "unused"),
    ):
        pass


def test_envoy_is_told_of_both_sockets_and_of_limits_that_the_load_does_not_reach() -> None:
    told = configuration("/run/at", "/run/provider")
    resources = told["static_resources"]
    (listener,), (cluster,) = resources["listeners"], resources["clusters"]
    assert listener["address"]["pipe"]["path"] == "/run/at"
    assert b'"/run/provider"' in msgspec.json.encode(cluster)
    (thresholds,) = cluster["circuit_breakers"]["thresholds"]
    assert thresholds["max_requests"] > 1_000_000
    assert listener["per_connection_buffer_limit_bytes"] > 4 * 4 * 2**20
    assert "access_log" not in msgspec.json.encode(told).decode()
    assert "stats_sinks" not in told
