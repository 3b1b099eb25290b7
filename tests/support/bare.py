"""The bare provider: one written without the kit, as an author in another language would.

It serves `bare.wire@1` by hand and does what the kit never does: it looks at metadata, sends statuses of its
own making, claims the kernel's domain, and answers with messages that no proto describes.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import grpc
import msgspec
from google.rpc import error_details_pb2, status_pb2

from contract.errors import DETAILS_KEY
from contract.handshake import Handshake, read_handshake
from provider_kit.program import start
from tests.support.serving import serve
from wuu.mesh.v1.declaration_pb2 import Declaration, MethodDescriptor, ServiceDescriptor, Shape
from wuu.mesh.v1.lifecycle_pb2 import InitializeResponse

WIRE = "bare.v1.Wire"
"""The gRPC service that it serves."""

Context = grpc.aio.ServicerContext[bytes, bytes]


class Failing(msgspec.Struct):
    """A status to end with."""

    status: str = "ABORTED"
    message: str = "as asked"
    reason: str = ""
    """The reason of an `ErrorInfo`; empty: there is none."""
    domain: str = ""
    metadata: dict[str, str] = {}
    details: str = ""
    """What stands in place of the details, readable or not."""


async def echo(request: bytes, _: Context) -> bytes:
    """The request."""
    return request


async def metadata(_: bytes, context: Context) -> bytes:
    """The metadata that came with the call; some of its own goes back, before and behind the answer."""
    await context.send_initial_metadata(
        (("x-initial", "before"), ("x-initial-bin", b"\x00\xff"), ("wuu-initial", "no"))
    )
    context.set_trailing_metadata(
        (("x-trailing", "behind"), ("x-trailing-bin", b"\xff\x00"), ("wuu-trailing", "no"))
    )
    received: Any = context.invocation_metadata()
    return msgspec.json.encode([[key, v if isinstance(v, str) else v.hex()] for key, v in received])


async def fail(request: bytes, context: Context) -> bytes:
    """Ends with the status that the request describes, and metadata of its own behind it."""
    asked = msgspec.json.decode(request, type=Failing)
    trailers: list[tuple[str, str | bytes]] = [("x-trailing", "behind"), ("wuu-trailing", "no")]
    if asked.reason:
        info = error_details_pb2.ErrorInfo(reason=asked.reason, domain=asked.domain, metadata=asked.metadata)
        status = status_pb2.Status(code=grpc.StatusCode[asked.status].value[0], message=asked.message)
        status.details.add().Pack(info)
        trailers.append((DETAILS_KEY, status.SerializeToString()))
    elif asked.details:
        trailers.append((DETAILS_KEY, asked.details.encode()))
    await context.abort(grpc.StatusCode[asked.status], asked.message, tuple(trailers))
    raise AssertionError("abort raises")


async def large(request: bytes, _: Context) -> bytes:
    """As many bytes as the request says."""
    return bytes(int(request))


async def nothing(_: bytes, __: Context) -> AsyncIterator[bytes]:
    """Ends well without the answer that a unary call has."""
    no_answers: tuple[bytes, ...] = ()
    for answer in no_answers:
        yield answer


async def stutter(request: bytes, context: Context) -> AsyncIterator[bytes]:
    """One message, and then the status that the request describes."""
    yield request
    await fail(request, context)


_UNARY = {"Echo": echo, "Metadata": metadata, "Fail": fail, "Large": large}
_STREAMS = {"Nothing": (nothing, Shape.SHAPE_UNARY), "Stutter": (stutter, Shape.SHAPE_SERVER_STREAM)}


async def initialize(_: bytes, __: Context) -> bytes:
    """What it declares."""
    shapes = dict.fromkeys(_UNARY, Shape.SHAPE_UNARY) | {rpc: shape for rpc, (_, shape) in _STREAMS.items()}
    wire = ServiceDescriptor(
        name="bare.wire",
        version="1.0.0",
        grpc_service=WIRE,
        methods=[
            MethodDescriptor(
                name=rpc.lower(), rpc=rpc, shape=shape, input_schema="bare.any", output_schema="bare.any"
            )
            for rpc, shape in shapes.items()
        ],
    )
    return InitializeResponse(
        lifecycle_version=2, declaration=Declaration(provided_services=[wire])
    ).SerializeToString()


async def _run(handshake: Handshake) -> None:
    unary: dict[str, Any] = {rpc: grpc.unary_unary_rpc_method_handler(takes) for rpc, takes in _UNARY.items()}
    streams: dict[str, Any] = {
        rpc: grpc.unary_stream_rpc_method_handler(takes) for rpc, (takes, _) in _STREAMS.items()
    }
    await serve(handshake, initialize, {WIRE: {**unary, **streams}})


if __name__ == "__main__":
    start(read_handshake, _run)
