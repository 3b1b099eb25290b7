"""Collector: a consumer within the router. It stands where the stream of another consumer would."""

from __future__ import annotations

import asyncio

from contract.errors import MeshError
from router.relay import response
from router.relay.http2.frame import Code
from router.relay.http2.stream import NOBODY, Sink, Source
from router.relay.message import PREFIX


class Ended(Exception):
    """The call did not end well. What its provider or the relay said of it goes on as it is."""

    def __init__(self, block: bytes) -> None:
        super().__init__("the call did not end well")
        self.block = block
        """The header block that ended it."""


class Collector:
    """Collects the answer of one call that is answered with one message."""

    def __init__(self) -> None:
        self.sink: Sink = NOBODY
        self.source: Source | None = None
        self.got_end = False
        self._body = bytearray()
        self._answer: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()

    async def answer(self) -> bytes:
        """The message. Raises `Ended`. The call is cancelled with whoever waits for it."""
        try:
            return await self._answer
        finally:
            self.sink.on_reset(self, Code.CANCEL)

    def headers(self, block: bytes, end: bool) -> None:
        if not end or self._answer.done():
            return
        said = response.read(block)
        if said.status:
            self._answer.set_exception(Ended(block))
            return
        compressed, _ = PREFIX.unpack_from(self._body)
        if compressed:
            wrong = "the answer is compressed, and nobody has said that it may be"
            self._answer.set_exception(MeshError("protocol_violation", wrong, outcome="unknown"))
        else:
            self._answer.set_result(bytes(self._body[PREFIX.size :]))

    def data(self, payload: memoryview | bytes, end: bool) -> None:
        self._body += payload

    def consumed(self, size: int) -> None:
        """Nobody waits for room: the request is there as a whole."""

    def drop_data(self) -> None:
        """What has come is not read before the end."""
