"""The ways from the caller to the provider: its own socket, the router, and the proxies of this machine."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any

import psutil

from bench.envoy import ENVOY
from bench.mesh import RunningMesh
from bench.nginx import NGINX
from bench.proxy import listening

PROXIES = (NGINX, ENVOY)

Past = Mapping[str, Any]
"""What the caller takes as `direct`: a socket, and a signed context for each service."""


@dataclass(frozen=True, slots=True)
class Way:
    """One of them."""

    name: str
    """What its column is called."""
    past: Past | None
    """None: through the router."""
    cpu_seconds: Callable[[], float]
    """User and system time that whatever stands between caller and provider has taken so far."""


@contextmanager
def ways(running: RunningMesh) -> Iterator[Sequence[Way]]:
    """All of them; a proxy that is not installed is missing."""
    revealed: Past = running.call("bench.echo@1", "reveal")
    router = psutil.Process(running.status()["router"]["pid"])
    found = [
        Way("direct", revealed, lambda: 0.0),
        # Its children are the instances, which do not stand between.
        Way("router", None, lambda: _cpu_seconds(router)),
    ]
    with ExitStack() as until:
        for proxy in PROXIES:
            program = proxy.find()
            if program is None:
                continue
            at = until.enter_context(listening(proxy, program, revealed["socket"]))
            found.append(_through(proxy.name, {**revealed, "socket": str(at.socket)}, at.pid))
        yield found


def _through(name: str, past: Past, pid: int) -> Way:
    process = psutil.Process(pid)

    def cpu_seconds() -> float:
        return sum(map(_cpu_seconds, (process, *process.children())))

    return Way(name, past, cpu_seconds)


def _cpu_seconds(process: psutil.Process) -> float:
    times = process.cpu_times()
    return times.user + times.system
