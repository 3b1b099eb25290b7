"""The peer: requests and answers over the two pipes of one plugin.

Source: the plugin wire, *Frames*.
"""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass

from msgspec import UNSET, Raw

from bridge_jsonl import frames
from bridge_jsonl.diagnostics import STRAY_BYTES, STRAY_LINES, Diagnostics
from bridge_jsonl.frames import LINE_LIMIT, Answer, Fault, Line, LineTooLong, Request, Splitter, Stray
from bridge_jsonl.outbox import HELD, Outbox
from contract.errors import CONTRACT, MeshError
from provider_kit.server import Gone

log = logging.getLogger(__name__)

CHUNK = 256 * 1024
"""Bytes that are read at once."""

UNREADABLE = "invalid"
"""The id with which the SDK answers a request that it cannot read."""

OPEN_REQUESTS = 1024
"""Requests of a plugin that may be open; its output is not read on until one of them is answered."""


@dataclass(frozen=True, slots=True)
class _Asked:
    method: str
    answer: asyncio.Future[Raw]


@dataclass(frozen=True, slots=True)
class _Unread:
    """A request that the plugin could not read."""

    suspects: set[str]
    """The ids of those which it may have been."""
    why: str


class Peer:
    """One plugin process, which asks and is asked.

    It is live until it fails (it broke the protocol; the router is told) or is gone (it closed its output, or
    does not take input). What is open then ends, and so does every later request.
    """

    def __init__(
        self,
        stdin: int,
        stdout: int,
        diagnostics: Diagnostics,
        serve: Callable[[Request], Awaitable[bytes]],
    ) -> None:
        """`serve` answers a request of the plugin with JSON, or raises MeshError."""
        os.set_blocking(stdout, False)
        self.gone = asyncio.Event()
        """Set once the plugin is gone."""
        self.unanswered = ""
        """The methods that were open when it went."""
        self._stdout = stdout
        self._diagnostics = diagnostics
        self._serve = serve
        self._loop = asyncio.get_running_loop()
        self._outbox = Outbox(stdin, self.close)
        self._splitter = Splitter()
        self._lines: Iterator[Line] = iter(())
        self._last = 0
        self._unread: list[_Unread] = []
        self._asked: dict[str, _Asked] = {}
        self._serving: set[asyncio.Task[None]] = set()
        self._paused = False
        self._ended: Callable[[], Exception] | None = None
        self._loop.add_reader(stdout, self._read)

    async def request(self, method: str, params: object = UNSET) -> Raw:
        """Asks the plugin and waits for its answer. The request is in its pipe's queue before this waits.

        Raises MeshError: the error that the plugin answered (domain `wuu`); `admission_full` when it does not
        read its input; `limit_exceeded` for a line past 64 MiB; what the plugin failed with. Raises `Gone`
        when it is gone.
        """
        if self._ended is not None:
            raise self._ended()
        if self._outbox.full:
            raise MeshError(
                "admission_full", "the plugin does not read its input; nothing was sent", domain=CONTRACT
            )
        self._last += 1
        number = str(self._last)
        line = frames.request(number, method, params)
        if len(line) > LINE_LIMIT + 1:
            raise MeshError("limit_exceeded", f"{method} makes a line of {len(line)} bytes", domain=CONTRACT)
        answer: asyncio.Future[Raw] = self._loop.create_future()
        self._asked[number] = _Asked(method, answer)
        self._outbox.put(line)
        try:
            return await answer
        finally:
            self._asked.pop(number, None)

    def tell(self, method: str, params: object) -> None:
        """Sends a request whose answer is dropped. It never overtakes an earlier one."""
        self._last += 1
        self._outbox.put(frames.request(str(self._last), method, params))

    def fail(self, code: str, message: str) -> MeshError:
        """Ends the plugin for what it did: the router is told, and ends the process. Returns the error.

        Its output is read on, and dropped, until it is gone.
        """
        if self._ended is None:
            self._conclude(lambda: MeshError(code, message, domain=CONTRACT))
            self._splitter = Splitter()
            self._lines = iter(())
            self._diagnostics.failed(code, message)
        return MeshError(code, message, domain=CONTRACT)

    def close_input(self) -> None:
        """Ends the plugin's standard input, which asks it to exit."""
        self._outbox.close()

    def close(self) -> None:
        """Closes both pipes. The plugin is then gone."""
        if self.gone.is_set():
            return
        self.unanswered = ", ".join(sorted({asked.method for asked in self._asked.values()}))
        self._conclude(lambda: Gone("the plugin closed its output"))
        self._loop.remove_reader(self._stdout)
        os.close(self._stdout)
        self._outbox.close()
        self.gone.set()

    # --- reading ---------------------------------------------------------------------------------------

    def _read(self) -> None:
        try:
            chunk = os.read(self._stdout, CHUNK)
        except BlockingIOError:
            return
        if not chunk:
            self._take_rest()
            self.close()
        elif self._ended is None:
            self._lines = self._splitter.feed(chunk)
            self._take_lines()

    def _take_lines(self) -> None:
        """Takes the lines at hand, until too much is open to go on."""
        try:
            for line in self._lines:
                self._take(line)
                if self._ended is not None:
                    return
                if len(self._serving) >= OPEN_REQUESTS:
                    self._paused = True
                    self._loop.remove_reader(self._stdout)
                    return
        except LineTooLong:
            self.fail("limit_exceeded", f"the plugin wrote a line of more than {LINE_LIMIT} bytes")

    def _take(self, line: Line) -> None:
        frame = frames.read(line)
        if isinstance(frame, Answer):
            self._take_answer(frame)
        elif isinstance(frame, Request):
            task = self._loop.create_task(self._answer(frame))
            self._serving.add(task)
            task.add_done_callback(self._answered)
        elif not self._diagnostics.stray(line, frame.why):
            self.fail(
                "protocol_violation",
                f"more than {STRAY_LINES} lines or {STRAY_BYTES} bytes on stdout are not frames; "
                "what is not a frame belongs on stderr",
            )
        else:
            self._release(frame)

    def _take_answer(self, answer: Answer) -> None:
        asked = self._asked.get(answer.id)
        if answer.id == UNREADABLE and isinstance(answer.result, Fault):
            still = {number for number, asked in self._asked.items() if not asked.answer.done()}
            self._unread.append(_Unread(still, answer.result.message))
        self._settle(answer.id)
        if asked is None or asked.answer.done():
            self._diagnostics.ignored(answer)
        elif isinstance(answer.result, Fault):
            fault = answer.result
            asked.answer.set_exception(MeshError(fault.code or "host_error", fault.message, domain=CONTRACT))
        else:
            asked.answer.set_result(answer.result)

    def _settle(self, answered: str) -> None:
        """Ends each request of which it is now certain that the plugin could not read it.

        Which one it was is not said: it was the last of those that were open then and have no answer. What
        is told is never it, since it asks for no answer and the SDK knows it.
        """
        for unread in self._unread:
            unread.suspects.discard(answered)
            if len(unread.suspects) == 1:
                asked = self._asked.get(unread.suspects.pop())
                if asked is not None and not asked.answer.done():
                    message = f"the plugin could not read {asked.method}: {unread.why}"
                    asked.answer.set_exception(MeshError("protocol_violation", message, domain=CONTRACT))
        self._unread = [unread for unread in self._unread if unread.suspects]

    def _release(self, stray: Stray) -> None:
        """Whoever waits for what the stray line should have been is told, instead of waiting for ever."""
        if stray.kind == "request":
            self._outbox.put(frames.error(stray.id, "invalid_request", stray.why))
            return
        asked = self._asked.get(stray.id)
        if asked is not None and not asked.answer.done():
            message = f"the answer to {asked.method} is not a frame: {stray.why}"
            if asked.method == "capability.invoke":
                # A capability that breaks the protocol fails the process; the rest fail their call alone.
                self.fail("protocol_violation", message)
            else:
                asked.answer.set_exception(MeshError("protocol_violation", message, domain=CONTRACT))

    def _take_rest(self) -> None:
        for line in self._splitter.end():
            frame = frames.read(line)
            if isinstance(frame, Answer):
                self._take_answer(frame)
            elif isinstance(frame, Request):
                self._diagnostics.note(f"{frame.method} came as the output ended, and is not answered")
            else:
                # Cut off by the end, so it stands for nothing, whatever it begins with.
                self._diagnostics.stray(line, "the output ended here")

    # --- serving the plugin ----------------------------------------------------------------------------

    async def _answer(self, request: Request) -> None:
        """Answers a request of the plugin, once."""
        try:
            # A plugin that does not read its input must not make us hold answers without bound.
            await self._outbox.room()
            line = frames.result(request.id, await self._serve(request))
            if len(line) > LINE_LIMIT + 1:
                line = frames.error(request.id, "limit_exceeded", f"the result makes {len(line)} bytes")
            elif not self._outbox.takes(line):
                # All that was begun while there was room may be answered at once.
                dropped = f"the call was made; its result was dropped, since {HELD} bytes wait to be read"
                line = frames.error(request.id, "limit_exceeded", dropped)
        except MeshError as refused:
            line = frames.error(request.id, refused.code, refused.message)
        except asyncio.CancelledError:
            line = frames.error(request.id, "execution_cancelled", "the execution was cancelled")
        except Exception as failure:
            log.exception("request of a plugin failed", extra={"method": request.method})
            line = frames.error(request.id, "host_error", f"{type(failure).__name__}: {failure}")
        self._outbox.put(line)

    def _answered(self, task: asyncio.Task[None]) -> None:
        self._serving.discard(task)
        if not self._paused or self.gone.is_set() or len(self._serving) >= OPEN_REQUESTS:
            return
        self._paused = False
        self._take_lines()
        if not self._paused and not self.gone.is_set():
            self._loop.add_reader(self._stdout, self._read)

    def _conclude(self, ended: Callable[[], Exception]) -> None:
        self._ended = self._ended or ended
        for asked in self._asked.values():
            if not asked.answer.done():
                asked.answer.set_exception(self._ended())
        for task in self._serving:
            task.cancel()
