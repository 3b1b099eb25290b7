"""The client of the suite on `grpc.aio`."""

from __future__ import annotations

import asyncio
import sys
from typing import Any

import grpc
import msgspec
from grpc._cython import cygrpc  # type: ignore[attr-defined]

from contract.transport import write
from tests.interop.python.orders import Order, Outcome, Router, listed, reported, unlisted
from tests.interop.python.wire import SHAPES, WIRE
from tests.support.serving import UNLIMITED
from wuu.mesh.v1.declaration_pb2 import Shape


class Client:
    """Carries out orders over one connection."""

    def __init__(self, router: Router) -> None:
        self._channel = grpc.aio.insecure_channel(router.target, options=UNLIMITED)
        self._token = router.token
        self._calls: dict[int, Any] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    def obey(self, line: bytes) -> None:
        """Makes or cancels a call."""
        order = msgspec.json.decode(line, type=Order)
        if order.cancel:
            if order.cancel in self._calls:
                self._calls[order.cancel].cancel()
            return
        shape, requests = SHAPES[order.rpc], [request * order.repeat for request in order.requests]
        call = self._calls[order.id] = self._begin(order, shape, requests)
        task = asyncio.create_task(self._report(order.id, call, shape, requests))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def _begin(self, order: Order, shape: Shape, requests: list[bytes]) -> Any:
        opened: dict[Shape, Any] = {
            Shape.SHAPE_UNARY: self._channel.unary_unary,
            Shape.SHAPE_CLIENT_STREAM: self._channel.stream_unary,
            Shape.SHAPE_SERVER_STREAM: self._channel.unary_stream,
            Shape.SHAPE_BIDI_STREAM: self._channel.stream_stream,
        }
        said = [*order.metadata, ("wuu-token", self._token), ("wuu-service", order.service)]
        one = () if shape in (Shape.SHAPE_CLIENT_STREAM, Shape.SHAPE_BIDI_STREAM) else (requests[0],)
        return opened[shape](f"/{WIRE}/{order.rpc}")(
            *one,
            metadata=tuple(unlisted(said)),
            timeout=order.timeout_ms / 1000 or None,
            compression=grpc.Compression.Gzip if order.gzip else None,
        )

    async def _report(self, number: int, call: Any, shape: Shape, requests: list[bytes]) -> None:
        answers: list[bytes] = []
        try:
            await _converse(call, shape, requests, answers)
        except (grpc.aio.AioRpcError, asyncio.CancelledError, asyncio.InvalidStateError):
            pass  # the status tells
        code = await call.code()
        outcome = Outcome(
            id=number,
            code=code.value[0],
            message=await call.details() or "",
            initial=listed(await call.initial_metadata()),
            trailing=listed(await call.trailing_metadata()),
            answers=[reported(answer) for answer in answers],
        )
        del self._calls[number]
        sys.stdout.buffer.write(msgspec.json.encode(outcome) + b"\n")
        sys.stdout.buffer.flush()


async def _converse(call: Any, shape: Shape, requests: list[bytes], answers: list[bytes]) -> None:
    """Sends each request and takes in the answers: in turn where both sides stream."""
    if shape == Shape.SHAPE_UNARY:
        answers.append(await call)
        return
    if shape != Shape.SHAPE_SERVER_STREAM:
        await _send(call, shape, requests, answers)
    if shape == Shape.SHAPE_CLIENT_STREAM:
        answers.append(await call)
        return
    while (answer := await call.read()) is not grpc.aio.EOF:
        answers.append(answer)


async def _send(call: Any, shape: Shape, requests: list[bytes], answers: list[bytes]) -> None:
    """Where the call ends meanwhile, its status tells how."""
    for request in requests:
        if not await write(call, request):
            return
        if shape == Shape.SHAPE_BIDI_STREAM:
            if (answer := await call.read()) is grpc.aio.EOF:
                return
            answers.append(answer)
    try:
        await call.done_writing()
    except cygrpc.InternalError:
        return


async def main() -> None:
    """Obeys standard input until it ends."""
    orders = asyncio.StreamReader(limit=1 << 30)
    reading = asyncio.StreamReaderProtocol(orders)
    await asyncio.get_running_loop().connect_read_pipe(lambda: reading, sys.stdin)
    client = Client(msgspec.json.decode(await orders.readline(), type=Router))
    while line := await orders.readline():
        client.obey(line)


if __name__ == "__main__":
    asyncio.run(main())
