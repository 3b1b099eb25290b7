"""Local: one call that the router answers itself. Its services are unary; their requests are collected."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

from contract.errors import MeshError, to_status
from contract.transport import MESSAGE_LIMIT, check_size
from router.admission.envelope import Envelope
from router.relay import response
from router.relay.collector import Ended
from router.relay.http2.frame import Code, Malformed
from router.relay.http2.stream import NOBODY, Stream
from router.relay.message import PREFIX, Messages, TooLarge, prefixed
from router.relay.request import Request, check_trailers
from router.relay.status import BEGUN, SUCCEEDED, trailers

if TYPE_CHECKING:
    from router.relay.relay import Relay

log = logging.getLogger(__name__)

Serve = Callable[[bytes, Envelope], bytes | Awaitable[bytes]]
"""Answers a request. Raises `MeshError`. What is awaited is cancelled with its caller and at the deadline."""

Find = Callable[[Envelope], Serve | None]
"""What of the router answers a call; None where none does, and it is relayed."""


class LocalCall:
    """One call to the router. It takes what comes on its stream."""

    def __init__(self, relay: Relay, stream: Stream, request: Request, serve: Serve) -> None:
        self._relay = relay
        self._stream = stream
        self._envelope = request.envelope
        self._serve = serve
        self._messages = Messages()
        self._body = bytearray()
        self._answering: asyncio.Task[None] | None = None
        self._timer: asyncio.TimerHandle | None = None
        stream.sink = self
        deadline = self._envelope.deadline
        if deadline is not None:
            left = max(deadline - time.time(), 0.0)
            self._timer = asyncio.get_running_loop().call_later(left, self._late)
        if stream.got_end:
            self._answer()

    def on_headers(self, stream: object, block: bytes, end: bool) -> None:
        check_trailers(block)
        if not end:
            raise Malformed(Code.PROTOCOL_ERROR, "a second header block that is not the last")
        self._answer()

    def on_data(self, stream: object, payload: memoryview, end: bool) -> None:
        try:
            self._messages.take(payload)
        except TooLarge as large:
            said = f"the request has {large.size} bytes, and a message at most {MESSAGE_LIMIT}"
            self._refuse(MeshError("limit_exceeded", said, outcome="not_dispatched"))
            return
        self._body += payload
        self._stream.consumed(len(payload))
        if self._messages.count > 1:
            self._refuse(_invalid("the request is more than one message"))
        elif end:
            self._answer()

    def on_reset(self, stream: object, code: int) -> None:
        self._let_go()

    def on_lost(self, stream: object, why: str, *, processed: bool) -> None:
        self._let_go()

    def _answer(self) -> None:
        body = bytes(self._body)
        self._body.clear()
        if not self._messages.count or not self._messages.whole:
            self._refuse(_invalid("the request is not one whole message"))
            return
        compressed, _ = PREFIX.unpack_from(body)
        if compressed:
            self._refuse(_invalid("the request is compressed, and the router itself takes none that is"))
            return
        try:
            answer = self._serve(body[PREFIX.size :], self._envelope)
        except MeshError as refused:
            self._refuse(refused)
            return
        except Exception as bug:
            self._failed(bug)
            return
        if isinstance(answer, bytes):
            self._send(answer)
        else:
            self._answering = self._relay.beside(self._await(answer))

    async def _await(self, answer: Awaitable[bytes]) -> None:
        try:
            self._send(await answer)
        except MeshError as refused:
            self._refuse(refused)
        except Ended as ended:
            self._let_go()
            said = response.read(ended.block)
            self._stream.headers((b"" if said.http else BEGUN) + ended.block, end=True)
        except Exception as bug:
            self._failed(bug)

    def _send(self, answer: bytes) -> None:
        try:
            check_size(answer, "the answer", outcome="unknown")
        except MeshError as large:
            self._refuse(large)
            return
        stream = self._stream
        self._let_go()
        stream.headers(BEGUN, end=False)
        stream.data(prefixed(answer), end=False)
        stream.headers(SUCCEEDED, end=True)

    def _failed(self, bug: Exception) -> None:
        log.error("a call of the router itself failed", extra={"path": self._envelope.path}, exc_info=bug)
        said = f"{self._envelope.path}: {type(bug).__name__}: {bug}"
        self._refuse(MeshError("host_error", said, outcome="unknown", remedy="See `wuu-mesh logs`."))

    def _late(self) -> None:
        said = f"{self._envelope.path} was not answered in time"
        self._refuse(MeshError("deadline_exceeded", said, outcome="unknown"))

    def _refuse(self, refused: MeshError) -> None:
        self._let_go()
        self._stream.headers(trailers(to_status(refused), begun=False), end=True)

    def _let_go(self) -> None:
        """What the caller does from here on is nobody's business."""
        self._stream.sink = NOBODY
        if self._timer is not None:
            self._timer.cancel()
        if self._answering is not None and self._answering is not asyncio.current_task():
            self._answering.cancel()


def _invalid(message: str) -> MeshError:
    return MeshError("invalid_request", message, outcome="not_dispatched")
