"""Call: one admitted call, from a stream of its consumer to a stream of its provider and back.

Frames pass as they come. What is read of them is the length prefix of each message and the status at the end.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from contract.errors import MeshError, WireStatus, to_status
from contract.transport import MESSAGE_LIMIT
from router.admission.admission import Admitted
from router.relay import response, status
from router.relay.collector import Collector
from router.relay.dispatch import dispatch
from router.relay.held import Sent, must_be_whole
from router.relay.http2.frame import Code, Malformed
from router.relay.http2.stream import NOBODY, Stream
from router.relay.message import Messages, TooLarge
from router.relay.request import CONTENT_TYPE, Request, check_trailers
from router.relay.status import Ending, trailers

if TYPE_CHECKING:
    from router.relay.relay import Relay

_GIVEN_UP = (1, 4)
"""The gRPC statuses of a provider that gave up: CANCELLED and DEADLINE_EXCEEDED."""


class Call:
    """One relayed call. It takes what comes on both of its streams."""

    __slots__ = (
        "_admitted",
        "_answers",
        "_begun",
        "_body",
        "_consumer",
        "_instance",
        "_one_answer",
        "_over",
        "_provider",
        "_relay",
        "_request",
        "_requests",
    )

    def __init__(
        self, relay: Relay, consumer: Stream | Collector, request: Request, admitted: Admitted
    ) -> None:
        self._relay = relay
        self._consumer = consumer
        self._request = request
        self._admitted = admitted
        self._instance = admitted.route.instance
        self._one_answer = admitted.method.has_one_answer
        self._requests = Messages()
        self._answers = Messages()
        self._provider: Stream | None = None
        self._begun = False
        """A header block has gone to the consumer."""
        self._over = False
        self._body = bytearray() if must_be_whole(admitted) else None
        """What has come of a request that is not dispatched before it is whole."""
        consumer.sink = self
        admitted.execution.cancels = self._cancelled
        if self._body is None:
            self._dispatch()
            if consumer.got_end:
                self._request_data(b"", end=True)
        elif consumer.got_end:
            self._dispatch_whole(self._body)

    # --- what comes on the streams ---

    def on_headers(self, stream: object, block: bytes, end: bool) -> None:
        if stream is self._consumer:
            check_trailers(block)
            if not end:
                raise Malformed(Code.PROTOCOL_ERROR, "a second header block that is not the last")
            self._request_data(b"", end=True)
        else:
            try:
                said = response.read(block)
            except Malformed as malformed:
                self._end(status.violation(self._instance, f"sent a malformed answer: {malformed}"))
                return
            if end:
                self._end_with_response(said)
            else:
                self._begin_response(said)

    def on_data(self, stream: object, payload: memoryview, end: bool) -> None:
        if stream is self._consumer:
            try:
                self._requests.take(payload)
            except TooLarge as large:
                self._end(_too_large("the request", large.size))
                return
            self._request_data(payload, end)
            return
        try:
            self._answers.take(payload)
        except TooLarge as large:
            self._end(_too_large("the answer", large.size))
            return
        if end:
            self._end(status.violation(self._instance, "ended its answer without a status"))
        elif not self._begun:
            self._end(status.violation(self._instance, "answered with a message before any header"))
        elif self._one_answer and self._answers.count > 1:
            self._end(status.violation(self._instance, "answered with more than one message"))
        else:
            self._consumer.data(payload, end=False)

    def on_reset(self, stream: object, code: int) -> None:
        if stream is self._consumer:
            self._abandon()
        elif not self._is_late():
            self._end_with(status.of_reset(code, self._instance))

    def on_lost(self, stream: object, why: str, *, processed: bool) -> None:
        if stream is self._consumer:
            self._abandon()
        else:
            self._end_with(why, taken=processed)

    # --- towards the provider ---

    def _request_data(self, payload: memoryview | bytes, end: bool) -> None:
        if self._provider is not None:
            self._provider.data(payload, end)
        elif self._body is not None:
            self._body += payload
            self._consumer.consumed(len(payload))
            if end:
                self._dispatch_whole(self._body)

    def _dispatch_whole(self, collected: bytearray) -> None:
        self._body, body = None, bytes(collected)
        execution = self._admitted.execution
        if execution.continuation is not None:
            self._relay.held.keep(execution, Sent(self._request, body))
        self._dispatch()
        if self._provider is not None:
            # Its bytes were credited as they were collected.
            self._provider.source = None
            self._provider.data(body, end=True)

    def _dispatch(self) -> None:
        try:
            provider = dispatch(self, self._admitted, self._request)
        except MeshError as refused:
            self._end(to_status(refused))
            return
        self._provider = provider
        provider.source, self._consumer.source = self._consumer, provider

    # --- towards the consumer ---

    def _begin_response(self, said: response.Response) -> None:
        if said.http.startswith("1"):
            return
        if said.http != "200" or not said.content_type.startswith(CONTENT_TYPE):
            self._end_with(status.of_http(said, self._instance))
        elif self._begun:
            self._end(status.violation(self._instance, "answered with a second header"))
        else:
            self._begun = True
            self._consumer.headers(said.raw, end=False)

    def _end_with_response(self, said: response.Response) -> None:
        instance = self._instance
        if bool(said.http) is self._begun:
            self._end(status.violation(instance, "ended with a header that stands in the wrong place"))
        elif said.status is None:
            if said.http and said.http != "200":
                self._end_with(status.of_http(said, instance))
            else:
                self._end(status.violation(instance, "ended its answer without a status"))
        elif said.status in _GIVEN_UP and self._is_late():
            return
        elif said.status:
            ending = status.of_response(said, instance)
            if ending is None:
                self._finish(said.raw)
            else:
                self._end_with(ending, said.beside)
        elif not self._answers.whole:
            self._end(status.violation(instance, "ended its answer within a message"))
        elif self._one_answer and self._answers.count != 1:
            self._end(status.violation(instance, "answered without a message"))
        else:
            self._finish(said.raw)

    def _is_late(self) -> bool:
        """Whether the deadline has passed, and the call has ended with it.

        A provider that gives up in time may be heard before our own timer is.
        """
        execution = self._admitted.execution
        if not execution.is_late:
            return False
        execution.cancel(execution.late())
        return True

    def _end_with(self, ending: Ending, beside: bytes = b"", *, taken: bool = True) -> None:
        """Ends the call; where only the end of the process tells why, once that is known.

        `taken` False: the provider has never taken it up.
        """
        if isinstance(ending, WireStatus):
            self._end(ending, beside)
            return
        self._drop_provider()
        self._relay.beside(self._mourn(ending, beside, taken))

    async def _mourn(self, transport: str, beside: bytes, taken: bool) -> None:
        obituary = await self._instance.obituary(transport, dispatched=taken)
        if not self._over:
            self._end(to_status(obituary), beside)

    def _cancelled(self, reason: MeshError) -> None:
        """The mesh cancels the call: its caller hears why at once, whatever waits for it."""
        if not reason.outcome:
            reason = MeshError(reason.code, reason.message, **{**reason.details, "outcome": "unknown"})
        self._consumer.drop_data()
        self._end(to_status(reason))

    def _end(self, ending: WireStatus, beside: bytes = b"") -> None:
        self._finish(trailers(ending, begun=self._begun, beside=beside))

    def _finish(self, block: bytes) -> None:
        """Ends the execution, and both streams."""
        self._let_go()
        self._consumer.sink = NOBODY
        self._consumer.headers(block, end=True)

    def _abandon(self) -> None:
        """The consumer is gone, and hears nothing any more."""
        self._let_go()

    def _let_go(self) -> None:
        if self._over:
            return
        self._over = True
        execution = self._admitted.execution
        execution.cancels = None
        self._relay.executions.end(execution)
        self._relay.held.drop(execution)
        self._drop_provider()

    def _drop_provider(self) -> None:
        provider, self._provider = self._provider, None
        if provider is None:
            return
        provider.sink = NOBODY
        provider.source = None
        # What has come of the answer and waits for its reader is the consumer's.
        self._consumer.source = None
        # NO_ERROR says that it was answered and the rest of the request is not wanted.
        provider.reset(Code.NO_ERROR if provider.got_end else Code.CANCEL)


def _too_large(what: str, size: int) -> WireStatus:
    message = f"{what} has {size} bytes, and a message at most {MESSAGE_LIMIT}"
    return to_status(MeshError("limit_exceeded", message, outcome="unknown"))
