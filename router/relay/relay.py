"""The relay of one socket: each call that a consumer begins is admitted, and brought to its provider.

The rest of the router sees it through `Relay.accept` and `Relay.resume` alone.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from dataclasses import replace
from typing import Any

from contract.errors import MeshError, to_status
from router.admission.admission import Admission, Admitted
from router.admission.envelope import Envelope
from router.relay import request
from router.relay.call import Call
from router.relay.collector import Collector
from router.relay.held import Held
from router.relay.http2.stream import Stream
from router.relay.local import Find, LocalCall
from router.relay.status import trailers

Admit = Callable[[Envelope], Admitted]


class Relay:
    """Relays the calls of one socket."""

    def __init__(self, admission: Admission, admit: Admit, held: Held) -> None:
        """`admit` decides in whose name the calls are."""
        self.executions = admission.executions
        self.held = held
        self.find: Find = lambda _: None
        """Which calls the router answers itself."""
        self._admit = admit
        self._beside: set[asyncio.Task[None]] = set()

    def accept(self, stream: Stream, block: bytes) -> None:
        """Takes a call that a consumer has begun. Raises `Malformed`."""
        try:
            asked = request.read(block)
            stream.expect(asked.length)
            serve = self.find(asked.envelope)
            if serve is not None:
                LocalCall(self, stream, asked, serve)
            else:
                Call(self, stream, asked, self._admit(asked.envelope))
        except MeshError as refused:
            stream.headers(trailers(to_status(refused), begun=False), end=True)
        except request.Unsuitable as unsuitable:
            status = to_status(unsuitable.error)
            stream.headers(trailers(status, begun=False, http=unsuitable.status), end=True)

    async def resume(self, admitted: Admitted) -> bytes:
        """Sends the request of the call above once more, and returns the response.

        Raises `Ended` with what ends it instead.
        """
        above = admitted.execution.parent
        assert above is not None, "what is continued is an execution"
        sent = self.held.take(above)
        assert sent is not None, "what may be continued is held while it lives, and continued once"
        collector = Collector()
        # The answer is looked into, so it may not be compressed.
        call = Call(self, collector, replace(sent.request, accepts=b""), admitted)
        collector.got_end = True
        call.on_data(collector, memoryview(sent.body), end=True)
        return await collector.answer()

    def beside(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        """Does something beside whatever else happens."""
        task = asyncio.create_task(work)
        self._beside.add(task)
        task.add_done_callback(self._beside.discard)
        return task
