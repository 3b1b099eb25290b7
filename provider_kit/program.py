"""The program around a module: handshake, server, lifeline, and a clean end."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import Callable, Coroutine
from functools import partial
from typing import Any, TypeVar

import uvloop

from contract.handshake import Handshake, read_handshake
from contract.log import log_to_stderr
from provider_kit.module import Module
from provider_kit.server import InstanceServer

Read = TypeVar("Read")


def serve(module: Module) -> None:
    """Runs the module until its lifeline ends. Exits with 2 when it was not started by the router."""
    start(read_handshake, partial(_run, module))


def start(read: Callable[[bytes], Read], run: Callable[[Read], Coroutine[Any, Any, None]]) -> None:
    """Runs `run` with what `read` makes of the first line of standard input.

    Exits with 2 when `read` raises ValueError: the program was not started by the router.
    """
    log_to_stderr()
    try:
        handshake = read(_first_line())
    except ValueError as wrong:
        sys.stderr.write(f"{wrong}\n")
        sys.exit(2)
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(run(handshake))
    sys.stderr.flush()
    # Everything is closed; gRPC's threads only make the interpreter's own end slow.
    os._exit(0)


async def _run(module: Module, handshake: Handshake) -> None:
    log_to_stderr(handshake.module)
    server = InstanceServer(handshake, module)
    await server.start()
    await lifeline()
    await server.shut_down()
    await server.stop()


async def lifeline() -> None:
    """Returns when standard input ends, or SIGTERM or SIGINT arrives."""
    loop = asyncio.get_running_loop()
    ended = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, ended.set)

    def read() -> None:
        if not os.read(0, 4096):
            loop.remove_reader(0)
            ended.set()

    loop.add_reader(0, read)
    await ended.wait()


def _first_line() -> bytes:
    # Unbuffered, so that nothing behind the line is taken from the lifeline.
    line = bytearray()
    while (byte := os.read(0, 1)) not in (b"", b"\n"):
        line += byte
    return bytes(line)
