"""The program of `bench.caller`: calls `bench.echo` over and over, from inside one admitted call."""

from __future__ import annotations

import asyncio
import base64
import time
from typing import Any

import grpc
import msgspec

from bench.program import serve_with
from contract.context import CONTEXT_KEY, EXECUTION_KEY, METHOD_KEY, SERVICE_KEY, TOKEN_KEY
from contract.handshake import Handshake
from contract.transport import CHANNEL_OPTIONS, DYNAMIC, Metadata
from provider_kit import Call, Dynamic, Module, requirement
from wuu.mesh.v1.dynamic_pb2 import InvokeRequest
from wuu.mesh.v1.json_pb2 import Json

ECHO = "bench.echo@1"
FLOW = "bench.flow@1"
SEND = "/bench.flow.v1.Flow/Send"


class Direct(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A way past the router."""

    socket: str
    """The absolute path of the Unix socket."""
    contexts: dict[str, str]
    """By service, the serialized SignedContext in base64."""


class Measure(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The input of `measure`."""

    calls: int
    concurrency: int
    """How many calls are in flight at once."""
    size: int
    """Bytes of JSON in each request."""
    direct: Direct | None = None
    """Absent: through the router."""


class MeasureStream(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The input of `measure-stream`."""

    messages: int
    size: int
    """Bytes of JSON in each of them."""
    direct: Direct | None = None
    """Absent: through the router."""


class Measured(msgspec.Struct, frozen=True):
    """The result of `measure`."""

    seconds: float
    """From the first request to the end of the last response."""
    latencies_ns: list[int]
    """One per call. Of a stream, from one message to the next."""


class Cancel(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The input of `cancel`."""

    calls: int
    at_once: int
    """How many calls are in flight when they are cancelled; fewer in the last round of them."""
    begun: int
    """How many calls of `hang` had begun before."""


class Caller(Module):
    """Provides `bench.caller@1`."""

    requires = (requirement(ECHO), requirement(FLOW))

    def __init__(self, handshake: Handshake) -> None:
        methods = {
            "measure": self.measure,
            "measure-stream": self.measure_stream,
            "cancel": self.cancel,
        }
        self.provides = [Dynamic("bench.caller", methods)]
        self._handshake = handshake
        self._channels: dict[str, grpc.aio.Channel] = {}

    async def measure(self, params: bytes, call: Call) -> bytes:
        """Calls `echo`, and says how long each call took."""
        wanted = msgspec.json.decode(params, type=Measure)
        target, metadata = self._way(wanted.direct, ECHO, "echo", call)
        send: Any = self._channel(target).unary_unary(DYNAMIC)
        echoed = _request(wanted.size)
        latencies: list[int] = []

        async def one_after_another(calls: int) -> None:
            for _ in range(calls):
                sent = time.perf_counter_ns()
                response = await send(echoed, metadata=metadata)
                latencies.append(time.perf_counter_ns() - sent)
                if response != echoed:
                    raise ValueError(f"{target} did not echo")

        begun = time.perf_counter()
        async with asyncio.TaskGroup() as group:
            for calls in _shares(wanted.calls, wanted.concurrency):
                group.create_task(one_after_another(calls))
        return msgspec.json.encode(Measured(time.perf_counter() - begun, latencies))

    async def measure_stream(self, params: bytes, call: Call) -> bytes:
        """Receives one stream, and says how long each message of it was waited for."""
        wanted = msgspec.json.decode(params, type=MeasureStream)
        target, metadata = self._way(wanted.direct, FLOW, "", call)
        open_stream: Any = self._channel(target).unary_stream(SEND)
        asked = {"messages": wanted.messages, "size": wanted.size}
        request = Json(utf8=msgspec.json.encode(asked)).SerializeToString()
        expected = Json(utf8=_text(wanted.size)).SerializeToString()
        gaps: list[int] = []
        begun = time.perf_counter()
        stream = open_stream(request, metadata=metadata)
        last = time.perf_counter_ns()
        while (message := await stream.read()) is not grpc.aio.EOF:
            received = time.perf_counter_ns()
            gaps.append(received - last)
            last = received
            if message != expected:
                raise ValueError(f"{target} sent another message")
        seconds = time.perf_counter() - begun
        if len(gaps) != wanted.messages:
            raise ValueError(f"{target} sent {len(gaps)} messages, not {wanted.messages}")
        return msgspec.json.encode(Measured(seconds, gaps))

    async def cancel(self, params: bytes, call: Call) -> bytes:
        """Calls `hang` through the router, and cancels each call once it is in flight at the provider."""
        wanted = msgspec.json.decode(params, type=Cancel)
        # A unary call that is cancelled in flight leaks in the client; a stream of one response does not.
        send: Any = self._channel(self._handshake.router).unary_stream(DYNAMIC)
        metadata = self._metadata(ECHO, "hang", call)
        begun = wanted.begun
        for left in range(wanted.calls, 0, -wanted.at_once):
            calls = [send(_request(0), metadata=metadata) for _ in range(min(left, wanted.at_once))]
            try:
                begun += len(calls)
                await call.mesh.invoke(ECHO, "begun", msgspec.json.encode({"at_least": begun}))
            finally:
                for hanging in calls:
                    hanging.cancel()
        return msgspec.json.encode({"begun": begun})

    async def shutdown(self) -> None:
        """Closes the channels."""
        for channel in self._channels.values():
            await channel.close()

    def _way(self, direct: Direct | None, service: str, method: str, call: Call) -> tuple[str, Metadata]:
        """`method` is empty where the path of the call says it."""
        if direct is None:
            return self._handshake.router, self._metadata(service, method, call)
        return f"unix:{direct.socket}", ((CONTEXT_KEY, base64.b64decode(direct.contexts[service])),)

    def _metadata(self, service: str, method: str, call: Call) -> Metadata:
        said = (
            (TOKEN_KEY, self._handshake.token),
            (SERVICE_KEY, service),
            (METHOD_KEY, method),
            (EXECUTION_KEY, call.context.execution),
        )
        return tuple((key, value) for key, value in said if value)

    def _channel(self, target: str) -> grpc.aio.Channel:
        channel = self._channels.get(target)
        if channel is None:
            channel = self._channels[target] = grpc.aio.insecure_channel(target, options=CHANNEL_OPTIONS)
        return channel


def _request(size: int) -> bytes:
    request = InvokeRequest()
    if size:
        request.params.utf8 = _text(size)
    return request.SerializeToString()


def _text(size: int) -> bytes:
    return b'"' + b"x" * (size - 2) + b'"'


def _shares(calls: int, concurrency: int) -> list[int]:
    """As many calls for each as for the others, or one less."""
    return [(calls + index) // concurrency for index in range(concurrency)]


if __name__ == "__main__":
    serve_with(Caller)
