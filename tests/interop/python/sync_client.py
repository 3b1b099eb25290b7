"""The client of the suite on `grpc` with threads."""

from __future__ import annotations

import os
import queue
import sys
import threading
from collections.abc import Iterator
from typing import Any

import grpc
import msgspec

from tests.interop.python.orders import Order, Outcome, Router, listed, reported, unlisted
from tests.interop.python.wire import SHAPES, WIRE
from tests.support.serving import UNLIMITED
from wuu.mesh.v1.declaration_pb2 import Shape


class Client:
    """Carries out orders over one connection, each call in a thread of its own."""

    def __init__(self, router: Router) -> None:
        self._channel = grpc.insecure_channel(router.target, options=UNLIMITED)
        self._token = router.token
        self._calls: dict[int, Any] = {}
        self._output = threading.Lock()

    def obey(self, line: bytes) -> None:
        """Makes or cancels a call. Calls begin here, so that one can be cancelled from here on."""
        order = msgspec.json.decode(line, type=Order)
        if order.cancel:
            if call := self._calls.get(order.cancel):
                call.cancel()
            return
        talk = Talk([request * order.repeat for request in order.requests])
        call = self._calls[order.id] = self._begin(order, SHAPES[order.rpc], talk)
        threading.Thread(
            target=self._report, args=(order.id, call, SHAPES[order.rpc], talk), daemon=True
        ).start()

    def _begin(self, order: Order, shape: Shape, talk: Talk) -> Any:
        path = f"/{WIRE}/{order.rpc}"
        said = [*order.metadata, ("wuu-token", self._token), ("wuu-service", order.service)]
        how: dict[str, Any] = {
            "metadata": tuple(unlisted(said)),
            "timeout": order.timeout_ms / 1000 or None,
            "compression": grpc.Compression.Gzip if order.gzip else None,
        }
        channel: Any = self._channel
        if shape == Shape.SHAPE_UNARY:
            return channel.unary_unary(path).future(talk.requests[0], **how)
        if shape == Shape.SHAPE_CLIENT_STREAM:
            return channel.stream_unary(path).future(iter(talk.requests), **how)
        if shape == Shape.SHAPE_SERVER_STREAM:
            return channel.unary_stream(path)(talk.requests[0], **how)
        return channel.stream_stream(path)(talk.in_turn(), **how)

    def _report(self, number: int, call: Any, shape: Shape, talk: Talk) -> None:
        try:
            if shape in (Shape.SHAPE_UNARY, Shape.SHAPE_CLIENT_STREAM):
                talk.take(call.result())
            else:
                for answer in call:
                    talk.take(answer)
        except (grpc.RpcError, grpc.FutureCancelledError):
            pass  # the status tells
        talk.end()
        outcome = Outcome(
            id=number,
            code=call.code().value[0],
            message=call.details() or "",
            initial=listed(call.initial_metadata()),
            trailing=listed(call.trailing_metadata()),
            answers=[reported(answer) for answer in talk.answers],
        )
        del self._calls[number]
        with self._output:
            sys.stdout.buffer.write(msgspec.json.encode(outcome) + b"\n")
            sys.stdout.buffer.flush()


class Talk:
    """The requests of a call, and the answers that came."""

    def __init__(self, requests: list[bytes]) -> None:
        self.requests = requests
        self.answers: list[bytes] = []
        self._answered: queue.SimpleQueue[bool] = queue.SimpleQueue()

    def in_turn(self) -> Iterator[bytes]:
        """Each request once the one before is answered."""
        for request in self.requests:
            yield request
            if not self._answered.get():
                return

    def take(self, answer: bytes) -> None:
        """Takes in an answer."""
        self.answers.append(answer)
        self._answered.put(True)

    def end(self) -> None:
        """There are no more answers."""
        self._answered.put(False)


def main() -> None:
    """Obeys standard input until it ends."""
    client = Client(msgspec.json.decode(sys.stdin.buffer.readline(), type=Router))
    for line in sys.stdin.buffer:
        client.obey(line)
    # The threads of calls that never end are not waited for.
    os._exit(0)


if __name__ == "__main__":
    main()
