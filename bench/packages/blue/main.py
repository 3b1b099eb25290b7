"""The program of `bench.blue` and of `bench.green`: says who served a call, and remembers which it was."""

from __future__ import annotations

import asyncio

import msgspec

from provider_kit import Call, Dynamic, Module, serve


class Request(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The input of `serve`."""

    id: int
    """No two requests have the same."""


class AtLeast(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The input of `hanging`."""

    at_least: int
    """How many calls of `hang` must run."""


class Colour(Module):
    """Provides `bench.colour@1`."""

    def __init__(self) -> None:
        self.provides = [
            Dynamic(
                "bench.colour",
                {"serve": self.serve, "served": self.served, "hang": self.hang, "hanging": self.hanging},
            )
        ]
        self._served: list[int] = []
        self._hanging = 0
        self._one_more = asyncio.Condition()

    async def serve(self, params: bytes, call: Call) -> bytes:
        """Notes the request, and says which module serves it in which generation."""
        self._served.append(msgspec.json.decode(params, type=Request).id)
        provider, _, _ = call.context.audience.partition("@")
        return msgspec.json.encode({"provider": provider, "generation": int(call.context.generation)})

    async def served(self, _params: bytes, _: Call) -> bytes:
        """The requests since it was asked last, in their order."""
        served, self._served = self._served, []
        return msgspec.json.encode(served)

    async def hang(self, _params: bytes, _: Call) -> bytes:
        """Never answers."""
        self._hanging += 1
        try:
            async with self._one_more:
                self._one_more.notify_all()
            await asyncio.Event().wait()
            raise AssertionError("nobody sets the event")
        finally:
            self._hanging -= 1

    async def hanging(self, params: bytes, _: Call) -> bytes:
        """Answers once enough calls of `hang` run."""
        wanted = msgspec.json.decode(params, type=AtLeast).at_least
        async with self._one_more:
            await self._one_more.wait_for(lambda: self._hanging >= wanted)
        return msgspec.json.encode(self._hanging)


if __name__ == "__main__":
    serve(Colour())
