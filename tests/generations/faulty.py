"""The faulty provider: a healthy one, but for one step at which it does what no provider should.

It is started by the router as `python -P -m tests.generations.faulty [STEP FAULT LATE]` and written without
the kit, which would keep it from most of its faults.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import socket
import sys
import time
from contextlib import suppress
from functools import partial
from typing import Any

import grpc

from contract.context import CONTEXT_KEY, verify
from contract.handshake import Handshake, read_handshake
from provider_kit.program import start
from tests.support.serving import serve
from wuu.mesh.v1.declaration_pb2 import (
    Declaration,
    MethodDescriptor,
    ServiceDescriptor,
    ServiceRequirement,
)
from wuu.mesh.v1.dynamic_pb2 import InvokeRequest, InvokeResponse
from wuu.mesh.v1.json_pb2 import Json
from wuu.mesh.v1.lifecycle_pb2 import InitializeResponse

STATUS = 7
"""What it exits with."""

GARBAGE = b"\xff\xff\xff\xff this is no message, no frame, no line\n"

STEP, FAULT, LATE = sys.argv[1:] if __name__ == "__main__" and len(sys.argv) > 1 else ("", "", "0")
"""What it does wrong, and after how many seconds it is late."""


async def fault(step: str) -> bytes:
    """Does what it is to do at this step. What it returns is answered; nothing: the step does its work."""
    if step == STEP:
        match FAULT:
            case "exit":
                os._exit(STATUS)
            case "abort":
                os.abort()
            case "kill":
                os.kill(os.getpid(), signal.SIGKILL)
            case "hang":
                await asyncio.Event().wait()
            case "late":
                time.sleep(float(LATE))  # noqa: ASYNC251 (nobody can cancel it)
            case "garbage":
                return GARBAGE
    return b""


async def initialize(_: bytes, __: Any) -> bytes:
    methods = [
        MethodDescriptor(
            name=name, input_schema="fault.any", output_schema="fault.any", cleanup=name == "tidy"
        )
        for name in ("who", "hold", "do", "tidy")
    ]
    declaration = Declaration(
        provided_services=[ServiceDescriptor(name="fault.service", version="1.0.0", methods=methods)],
        required_services=[ServiceRequirement(name="fault.base", major=1, required=True)],
    )
    answer = InitializeResponse(lifecycle_version=2, declaration=declaration)
    return await fault("initialize") or answer.SerializeToString()


async def step(name: str, _: bytes, __: Any) -> bytes:
    """Any other step of the lifecycle: there is nothing to do and to say."""
    return await fault(name)


async def invoke(handshake: Handshake, request: bytes, context: Any) -> bytes:
    """Answers with the generation that the call captured: at once, or once it is released."""
    signed = next(value for key, value in context.invocation_metadata() if key == CONTEXT_KEY)
    call = verify(signed, key=bytes.fromhex(handshake.key), audience=handshake.instance)
    rubbish = b""
    match call.method:
        case "hold":
            released, writer = await asyncio.open_unix_connection(
                json.loads(InvokeRequest.FromString(request).params.utf8)
            )
            await released.read()
            writer.close()
        case "do":
            rubbish = await fault("serving")
        case "tidy":
            rubbish = await fault("cleanup")
    answer = InvokeResponse(result=Json(utf8=json.dumps(call.generation).encode()))
    return rubbish or answer.SerializeToString()


async def listen(path: str) -> None:
    """Takes the socket before there is a server, and a connection with it."""
    loop = asyncio.get_running_loop()
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(path)
        listening.listen()
        listening.setblocking(False)
        connection, _ = await loop.sock_accept(listening)
        while rubbish := await fault("listen"):
            # Who hears it hangs up and comes again.
            with connection, suppress(ConnectionError):
                await loop.sock_sendall(connection, rubbish)
            connection, _ = await loop.sock_accept(listening)
        connection.close()
    os.unlink(path)


async def _run(handshake: Handshake) -> None:
    if rubbish := await fault("start"):
        os.write(1, rubbish)
        return
    if STEP == "listen":
        await listen(handshake.listen)
    invoked: Any = grpc.unary_unary_rpc_method_handler(partial(invoke, handshake))
    steps = {"Prepare": "prepare", "Activate": "activate", "ServiceChanged": "service.changed"}
    await serve(
        handshake,
        initialize,
        {"wuu.mesh.v1.Dynamic": {"Invoke": invoked}},
        {rpc: partial(step, name) for rpc, name in {**steps, "Shutdown": "shutdown"}.items()},
    )


if __name__ == "__main__":
    start(read_handshake, _run)
