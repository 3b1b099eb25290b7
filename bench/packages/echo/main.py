"""The program of `bench.echo`: answers with what it was sent, with many messages, or never."""

from __future__ import annotations

import asyncio
import base64
import time
from collections.abc import AsyncIterator

import msgspec

from bench.program import serve_with
from contract.context import CallContext, Phase, sign
from contract.handshake import Handshake
from provider_kit import Call, Dynamic, Module
from provider_kit.provided import Handler
from wuu.mesh.v1.declaration_pb2 import MethodDescriptor, ServiceDescriptor, Shape
from wuu.mesh.v1.json_pb2 import Json

CONTEXT_LIFETIME_MS = 24 * 60 * 60 * 1000


class Begun(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The input of `begun`."""

    at_least: int
    """How many calls of `hang` must have begun since the start."""


class Wanted(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The request of a stream."""

    messages: int
    size: int
    """Bytes of JSON in each."""


class Flow:
    """`bench.flow@1`, which streams. Request and messages are `wuu.mesh.v1.Json`."""

    GRPC_SERVICE = "bench.flow.v1.Flow"

    def __init__(self) -> None:
        send = MethodDescriptor(
            name="send",
            rpc="Send",
            input_schema="bench.flow.send.input.v1",
            output_schema="bench.flow.send.output.v1",
            shape=Shape.SHAPE_SERVER_STREAM,
        )
        self.descriptor = ServiceDescriptor(
            name="bench.flow", version="1.0.0", grpc_service=self.GRPC_SERVICE, methods=[send]
        )

    def handler(self, path: str, _: CallContext) -> Handler | None:
        """See `provider_kit.provided.Service`."""
        sends = path == f"/{self.GRPC_SERVICE}/Send"
        return Handler(Shape.SHAPE_SERVER_STREAM, self._send) if sends else None

    async def _send(self, request: bytes, _: Call) -> AsyncIterator[bytes]:
        wanted = msgspec.json.decode(Json.FromString(request).utf8, type=Wanted)
        # Made once: it is the way that is measured, and not how fast messages can be made.
        message = Json(utf8=b'"' + b"x" * (wanted.size - 2) + b'"').SerializeToString()
        for _message in range(wanted.messages):
            yield message


class Echo(Module):
    """Provides `bench.echo@1` and `bench.flow@1`."""

    def __init__(self, handshake: Handshake) -> None:
        self.provides = [
            Dynamic(
                "bench.echo",
                {
                    "echo": self.echo,
                    "hang": self.hang,
                    "begun": self.begun,
                    "hanging": self.hanging,
                    "reveal": self.reveal,
                },
            ),
            Flow(),
        ]
        self._handshake = handshake
        self._begun = 0
        self._hanging = 0
        self._one_more = asyncio.Condition()

    async def echo(self, params: bytes, _: Call) -> bytes:
        """Returns its input."""
        return params

    async def hang(self, _params: bytes, _: Call) -> bytes:
        """Never answers."""
        self._begun += 1
        self._hanging += 1
        try:
            async with self._one_more:
                self._one_more.notify_all()
            await asyncio.Event().wait()
            raise AssertionError("nobody sets the event")
        finally:
            self._hanging -= 1

    async def begun(self, params: bytes, _: Call) -> bytes:
        """Answers once enough calls of `hang` have begun."""
        wanted = msgspec.json.decode(params, type=Begun).at_least
        async with self._one_more:
            await self._one_more.wait_for(lambda: self._begun >= wanted)
        return msgspec.json.encode(self._begun)

    async def hanging(self, _params: bytes, _: Call) -> bytes:
        """How many calls of `hang` run now."""
        return msgspec.json.encode(self._hanging)

    async def reveal(self, _params: bytes, call: Call) -> bytes:
        """Where this instance listens, and the contexts with which it can be called there for a day."""
        carried = (("bench.echo@1", "echo"), ("bench.flow@1", "send"))
        contexts = {service: self._signed(service, method, call) for service, method in carried}
        return msgspec.json.encode({"socket": self._handshake.listen, "contexts": contexts})

    def _signed(self, service: str, method: str, call: Call) -> str:
        context = CallContext(
            audience=self._handshake.instance,
            caller="bench.caller",
            generation=call.context.generation,
            phase=Phase.PHASE_ACTIVE,
            service=service,
            method=method,
            expires_unix_ms=round(time.time() * 1000) + CONTEXT_LIFETIME_MS,
        )
        signed = sign(context.SerializeToString(), bytes.fromhex(self._handshake.key))
        return base64.b64encode(signed).decode()


if __name__ == "__main__":
    serve_with(Echo)
