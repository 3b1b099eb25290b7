"""The program of `bench.asker`: a consumer, which is started anew when its provider is another one."""

from __future__ import annotations

import msgspec

from provider_kit import Call, Dynamic, MeshError, Module, requirement, serve

COLOUR = "bench.colour@1"


class Asked(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The input of `ask`."""

    ids: list[int]
    """The requests to pass on, one after another."""


class Asker(Module):
    """Provides `bench.asker@1`."""

    requires = (requirement(COLOUR),)

    def __init__(self) -> None:
        self.provides = [Dynamic("bench.asker", {"ask": self.ask, "hold": self.hold})]

    async def ask(self, params: bytes, call: Call) -> bytes:
        """Asks its provider several times within one execution; returns every answer, and its generation."""
        asked = msgspec.json.decode(params, type=Asked)
        answers = [
            msgspec.Raw(await call.mesh.invoke(COLOUR, "serve", msgspec.json.encode({"id": each})))
            for each in asked.ids
        ]
        return msgspec.json.encode({"generation": int(call.context.generation), "answers": answers})

    async def hold(self, _params: bytes, call: Call) -> bytes:
        """Makes a call that its provider never answers; returns the code with which it ended."""
        try:
            await call.mesh.invoke(COLOUR, "hang")
        except MeshError as ended:
            return msgspec.json.encode(ended.code)
        raise AssertionError("a call that hangs has no answer")


if __name__ == "__main__":
    serve(Asker())
