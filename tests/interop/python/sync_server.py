"""The provider of the suite on `grpc` with threads: `sync_server.py DECLARATION`."""

from __future__ import annotations

import sys
import threading
from collections import Counter, defaultdict
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import grpc
import msgspec
from grpc_health.v1 import health, health_pb2, health_pb2_grpc

from contract.errors import DETAILS_KEY
from contract.handshake import read_handshake
from tests.interop.python.orders import listed
from tests.interop.python.wire import INITIAL, SHAPES, TRAILING, WIRE, Failing, Meeting, Seen, milliseconds
from tests.support.serving import UNLIMITED
from wuu.mesh.v1.declaration_pb2 import Shape

THREADS = 300
"""More than there are ever calls that wait for each other."""

_CODES: dict[int, grpc.StatusCode] = {code.value[0]: code for code in grpc.StatusCode}

_STEPS = ("Prepare", "Activate", "ServiceChanged", "Shutdown")


class Wire:
    """The rpcs, by their names."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._events: defaultdict[str, threading.Event] = defaultdict(threading.Event)
        self._met: Counter[str] = Counter()

    def Unary(self, request: bytes, _: Any) -> bytes:
        return request

    def Press(self, request: bytes, context: Any) -> bytes:
        context.set_compression(grpc.Compression.Gzip)
        return request

    def Gather(self, requests: Iterator[bytes], _: Any) -> bytes:
        return b"".join(requests)

    def First(self, requests: Iterator[bytes], _: Any) -> bytes:
        return b"%d" % len(next(requests))

    def Scatter(self, request: bytes, _: Any) -> Iterator[bytes]:
        for byte in request:
            yield bytes((byte,))

    def Both(self, requests: Iterator[bytes], _: Any) -> Iterator[bytes]:
        yield from requests

    def Fail(self, request: bytes, context: Any) -> None:
        asked = msgspec.json.decode(request, type=Failing)
        trailers: list[tuple[str, str | bytes]] = [("x-trailing", "behind")]
        if asked.details:
            trailers.append((DETAILS_KEY, asked.details))
        context.set_trailing_metadata(tuple(trailers))
        context.abort(_CODES[asked.code], asked.message)

    def Break(self, request: bytes, context: Any) -> Iterator[bytes]:
        yield request
        self.Fail(request, context)

    def See(self, _: bytes, context: Any) -> bytes:
        context.send_initial_metadata(INITIAL)
        context.set_trailing_metadata(TRAILING)
        received = context.invocation_metadata()
        return msgspec.json.encode(Seen(listed(received), milliseconds(context.time_remaining())))

    def Hang(self, request: bytes, context: Any) -> None:
        self._hang(request.decode(), context)

    def Linger(self, requests: Iterator[bytes], context: Any) -> Iterator[bytes]:
        key = next(requests)
        yield key
        self._hang(key.decode(), context)

    def _hang(self, key: str, context: Any) -> None:
        ended = self._event(f"ended {key}")
        if not context.add_callback(ended.set):
            ended.set()
        self._event(f"started {key}").set()
        ended.wait()

    def Watch(self, request: bytes, _: Any) -> bytes:
        self._event(request.decode()).wait()
        return request

    def Meet(self, request: bytes, _: Any) -> bytes:
        asked = msgspec.json.decode(request, type=Meeting)
        everyone = self._event(asked.key)
        with self._lock:
            self._met[asked.key] += 1
            if self._met[asked.key] == asked.count:
                everyone.set()
        everyone.wait()
        return request

    def _event(self, name: str) -> threading.Event:
        with self._lock:
            return self._events[name]


HANDLERS: dict[Shape, Any] = {
    Shape.SHAPE_UNARY: grpc.unary_unary_rpc_method_handler,
    Shape.SHAPE_CLIENT_STREAM: grpc.stream_unary_rpc_method_handler,
    Shape.SHAPE_SERVER_STREAM: grpc.unary_stream_rpc_method_handler,
    Shape.SHAPE_BIDI_STREAM: grpc.stream_stream_rpc_method_handler,
}


def main(declaration: bytes) -> None:
    """Serves from the handshake to the end of the lifeline."""
    handshake = read_handshake(sys.stdin.buffer.readline())
    wire = Wire()
    rpcs = {rpc: HANDLERS[shape](getattr(wire, rpc)) for rpc, shape in SHAPES.items()}
    answers = {**dict.fromkeys(_STEPS, b""), "Initialize": declaration}
    lifecycle: dict[str, Any] = {
        step: grpc.unary_unary_rpc_method_handler(lambda _, __, answer=answer: answer)
        for step, answer in answers.items()
    }
    server = grpc.server(ThreadPoolExecutor(THREADS), options=UNLIMITED)
    server.add_generic_rpc_handlers(
        (
            grpc.method_handlers_generic_handler("wuu.mesh.v1.Lifecycle", lifecycle),
            grpc.method_handlers_generic_handler(WIRE, rpcs),
        )
    )
    healthy = health.HealthServicer()
    health_pb2_grpc.add_HealthServicer_to_server(healthy, server)
    server.add_insecure_port(f"unix:{handshake.listen}")
    server.start()
    healthy.set("", health_pb2.HealthCheckResponse.SERVING)
    sys.stdin.buffer.read()
    server.stop(None).wait()


if __name__ == "__main__":
    main(bytes.fromhex(sys.argv[1]))
