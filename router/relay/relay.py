"""The relay over `grpc.aio`: the bytes of one admitted call, in any of the four shapes, never parsed.

Everything else sees it through `Relay.handler` alone, so that another transport can take its place. Requests
go out as response streams even where they are unary: on the wire the two are the same, and in `grpc.aio` a
cancelled unary call leaks native memory in the client (grpc/grpc#43360).
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import grpc

from contract.context import CONTEXT_KEY
from contract.errors import MeshError, WireStatus, to_status
from contract.transport import check_size, write
from router.admission.admission import Admission, Admitted
from router.admission.envelope import Envelope
from router.admission.execution import Execution
from router.instances.instance import Instance
from router.relay.held import Held, Sent
from router.relay.status import passed, provider_status
from wuu.mesh.v1.declaration_pb2 import Shape

Context = grpc.aio.ServicerContext[Any, Any]
Admit = Callable[[Envelope], Admitted]


class Relay:
    """Relays the calls of one socket; `admit` decides in whose name they are."""

    def __init__(self, admission: Admission, admit: Admit, held: Held) -> None:
        self._executions = admission.executions
        self._admit = admit
        self._held = held

    def handler(self, path: str, shape: Shape) -> Any:
        """What serves calls to a gRPC path, given whether it streams."""
        if shape in (Shape.SHAPE_UNSPECIFIED, Shape.SHAPE_UNARY):

            async def unary(request: bytes, context: Context) -> bytes:
                return await self._unary(path, request, context)

            return grpc.unary_unary_rpc_method_handler(unary)

        async def stream(_requests: Any, context: Context) -> None:
            await self._stream(path, context)

        return grpc.stream_stream_rpc_method_handler(stream)

    async def _unary(self, path: str, request: bytes, context: Context) -> bytes:
        metadata: Any = context.invocation_metadata()
        try:
            envelope = Envelope.read(path, metadata, context.time_remaining())
            admitted = self._admit(envelope)
        except MeshError as refused:
            await _abort(context, to_status(refused))
            raise
        sent = Sent(path, request, envelope.forwarded)
        if admitted.execution.continuation is not None:
            self._held.keep(admitted.execution, sent)
        return await self._dispatch(admitted, sent, context)

    async def resume(self, admitted: Admitted, context: Context) -> bytes:
        """Sends the request of the call above once more, and returns the response."""
        above = admitted.execution.parent
        assert above is not None, "what is continued is an execution"
        sent = self._held.take(above)
        if sent is None:
            self._executions.end(admitted.execution)
            streamed = f"the request of execution {above.id} was streamed, and cannot be sent once more"
            await _abort(context, to_status(MeshError("host_error", streamed, outcome="not_dispatched")))
            raise AssertionError("abort raises")
        if admitted.execution.continuation is not None:
            self._held.keep(admitted.execution, sent)
        return await self._dispatch(admitted, sent, context)

    async def _dispatch(self, admitted: Admitted, sent: Sent, context: Context) -> bytes:
        """Moves one message each way, and ends the execution."""
        execution, route, path, request = admitted.execution, admitted.route, sent.path, sent.request
        send = route.calls.get(path)
        if send is None:
            send = route.calls[path] = route.instance.channel.unary_stream(path)
        call = None
        try:
            try:
                check_size(request, "the request", outcome="not_dispatched")
                call = send(request, metadata=((CONTEXT_KEY, admitted.context), *sent.metadata))
                response: Any = await call.read()
                # The end of the stream carries the status.
                if response is grpc.aio.EOF or await call.read() is not grpc.aio.EOF:
                    raise _not_one(route.instance, none=response is grpc.aio.EOF)
                check_size(response, "the answer", outcome="unknown")
                await _pass_initial(call, context)
                await _pass_trailing(call, context)
                return response  # type: ignore[no-any-return]
            except MeshError as error:
                status = to_status(error)
            except grpc.aio.AioRpcError as error:
                status = await provider_status(error, route.instance)
        except asyncio.CancelledError:
            # Of the call, or of the wait for how its provider ended.
            status = _cancelled(admitted.execution)
        finally:
            self._executions.end(execution)
            self._held.drop(execution)
            if call is not None and not call.done():
                call.cancel()
        await _abort(context, status)
        raise AssertionError("abort raises")

    async def _stream(self, path: str, context: Context) -> None:
        metadata: Any = context.invocation_metadata()
        try:
            envelope = Envelope.read(path, metadata, context.time_remaining())
            admitted = self._admit(envelope)
        except MeshError as refused:
            await _abort(context, to_status(refused))
            raise
        instance = admitted.route.instance
        call: Any = instance.channel.stream_stream(path)(
            metadata=((CONTEXT_KEY, admitted.context), *envelope.forwarded)
        )
        sending = asyncio.create_task(_send(context, call, admitted))
        status: WireStatus | None = None
        try:
            try:
                await _pass_initial(call, context)
                while (response := await call.read()) is not grpc.aio.EOF:
                    check_size(response, "the answer", outcome="unknown")
                    await context.write(response)
                await _pass_trailing(call, context)
            except MeshError as error:
                status = to_status(error)
            except grpc.aio.AioRpcError as error:
                status = await provider_status(error, instance)
        except asyncio.CancelledError:
            # Of the call, or of the wait for how its provider ended.
            status = _cancelled(admitted.execution)
        finally:
            self._executions.end(admitted.execution)
            sending.cancel()
            if not call.done():
                call.cancel()
            await asyncio.wait((sending,))
        if status is not None:
            await _abort(context, status)


async def _send(context: Context, call: Any, admitted: Admitted) -> None:
    """Passes the caller's messages on. What ends the call early is told by its responses."""
    try:
        while (request := await context.read()) is not grpc.aio.EOF:
            check_size(request, "the request", outcome="unknown")
            if not await write(call, request):
                return
        await call.done_writing()
    except MeshError as too_large:
        admitted.execution.cancel(too_large)
    except (grpc.aio.AioRpcError, asyncio.InvalidStateError):
        return


def _not_one(instance: Instance, *, none: bool) -> MeshError:
    """A provider's answer to a unary call that is not one message."""
    answer = "without a message" if none else "with more than one message"
    return MeshError("protocol_violation", f"{instance.module} answered {answer}", outcome="unknown")


async def _pass_initial(call: Any, context: Context) -> None:
    initial = passed(await call.initial_metadata())
    if initial:
        await context.send_initial_metadata(initial)


async def _pass_trailing(call: Any, context: Context) -> None:
    trailing = passed(await call.trailing_metadata())
    if trailing:
        context.set_trailing_metadata(trailing)


def _cancelled(execution: Execution) -> WireStatus:
    """The status of a call that the mesh cancelled. A cancelled `grpc.aio` handler sends none by itself.

    A caller that cancelled hears no status, and giving it one leaks native memory: the error goes on.
    """
    reason = execution.cancelled
    if reason is None:
        raise asyncio.CancelledError
    task = asyncio.current_task()
    if task is not None:
        task.uncancel()
    if not reason.outcome:
        reason = MeshError(reason.code, reason.message, **{**reason.details, "outcome": "unknown"})
    return to_status(reason)


async def _abort(context: Context, status: WireStatus) -> None:
    await context.abort(status.code, status.message, status.trailers)
