"""The program of a module that takes part in a benchmark and knows its own handshake."""

from __future__ import annotations

from collections.abc import Callable

from contract.handshake import Handshake, read_handshake
from contract.log import log_to_stderr
from provider_kit import Module
from provider_kit.program import lifeline, start
from provider_kit.server import InstanceServer


def serve_with(make: Callable[[Handshake], Module]) -> None:
    """Runs the module that `make` builds from its handshake until its lifeline ends.

    `provider_kit.serve` keeps the handshake to itself: a provider has no business with its own key and token.
    The modules of the benchmarks have: they also call each other past the router, to compare.
    """

    async def run(handshake: Handshake) -> None:
        log_to_stderr(handshake.module)
        server = InstanceServer(handshake, make(handshake))
        await server.start()
        await lifeline()
        await server.shut_down()
        await server.stop()

    start(read_handshake, run)
