"""The program of `bench.echo`: answers with what it was sent, or never."""

from __future__ import annotations

import asyncio
import base64
import time

import msgspec

from bench.program import serve_with
from contract.context import CallContext, Phase, sign
from contract.handshake import Handshake
from provider_kit import Call, Dynamic, Module

CONTEXT_LIFETIME_MS = 24 * 60 * 60 * 1000


class Begun(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The input of `begun`."""

    at_least: int
    """How many calls of `hang` must have begun since the start."""


class Echo(Module):
    """Provides `bench.echo@1`."""

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
            )
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
        """Where this instance listens, and a context with which `echo` can be called there for a day."""
        context = CallContext(
            audience=self._handshake.instance,
            caller="bench.caller",
            generation=call.context.generation,
            phase=Phase.PHASE_ACTIVE,
            service=call.context.service,
            method="echo",
            expires_unix_ms=round(time.time() * 1000) + CONTEXT_LIFETIME_MS,
        )
        signed = sign(context.SerializeToString(), bytes.fromhex(self._handshake.key))
        return msgspec.json.encode(
            {"socket": self._handshake.listen, "context": base64.b64encode(signed).decode()}
        )


if __name__ == "__main__":
    serve_with(Echo)
