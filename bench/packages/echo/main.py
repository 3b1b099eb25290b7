"""The program of `bench.echo`: answers with what it was sent, or never."""

from __future__ import annotations

import asyncio
import base64
import time

import msgspec

from bench.dynamic import DynamicModule, params_of, result, serve_with
from contract.context import CallContext, Phase, sign
from contract.handshake import Handshake
from provider_kit.call import Call

SERVICE = "bench.echo@1"
CONTEXT_LIFETIME_MS = 24 * 60 * 60 * 1000


class Begun(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The input of `begun`."""

    at_least: int
    """How many calls of `hang` must have begun since the start."""


class Echo(DynamicModule):
    """Provides `bench.echo@1`."""

    def __init__(self, handshake: Handshake) -> None:
        super().__init__(
            SERVICE,
            {
                "echo": self.echo,
                "hang": self.hang,
                "begun": self.begun,
                "hanging": self.hanging,
                "reveal": self.reveal,
            },
        )
        self._handshake = handshake
        self._begun = 0
        self._hanging = 0
        self._one_more = asyncio.Condition()

    async def echo(self, request: bytes, _: Call) -> bytes:
        """Returns its input. InvokeRequest and InvokeResponse are the same on the wire."""
        return request

    async def hang(self, _request: bytes, _: Call) -> bytes:
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

    async def begun(self, request: bytes, _: Call) -> bytes:
        """Answers once enough calls of `hang` have begun."""
        wanted = msgspec.json.decode(params_of(request), type=Begun).at_least
        async with self._one_more:
            await self._one_more.wait_for(lambda: self._begun >= wanted)
        return result(msgspec.json.encode(self._begun))

    async def hanging(self, _request: bytes, _: Call) -> bytes:
        """How many calls of `hang` run now."""
        return result(msgspec.json.encode(self._hanging))

    async def reveal(self, _request: bytes, call: Call) -> bytes:
        """Where this instance listens, and a context with which `echo` can be called there for a day."""
        context = CallContext(
            audience=self._handshake.instance,
            caller="bench.caller",
            generation=call.context.generation,
            phase=Phase.PHASE_ACTIVE,
            service=SERVICE,
            method="echo",
            expires_unix_ms=round(time.time() * 1000) + CONTEXT_LIFETIME_MS,
        )
        signed = sign(context.SerializeToString(), bytes.fromhex(self._handshake.key))
        return result(
            msgspec.json.encode(
                {"socket": self._handshake.listen, "context": base64.b64encode(signed).decode()}
            )
        )


if __name__ == "__main__":
    serve_with(Echo)
