"""The server of one socket of the router."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import grpc

from contract.transport import MESSAGE_LIMIT, SERVER_OPTIONS
from router.generations.shapes import Shapes
from router.relay.relay import Relay
from wuu.mesh.v1.declaration_pb2 import Shape

# The relay measures messages itself, to answer with a code; the transport only bounds what is held.
# Of an option that is given twice, gRPC takes the first.
_OPTIONS = (
    ("grpc.max_receive_message_length", 2 * MESSAGE_LIMIT),
    ("grpc.max_send_message_length", -1),
    *SERVER_OPTIONS,
)


class Calls(grpc.GenericRpcHandler):
    """Hands every call of a socket to its relay."""

    def __init__(self, relay: Relay, shapes: Shapes) -> None:
        self._relay = relay
        self._shapes = shapes
        self._handlers: dict[tuple[str, Shape], Any] = {}

    def service(self, handler_call_details: Any) -> Any:
        path: str = handler_call_details.method
        shape = self._shapes.of(path)
        if shape is None:
            # Admission refuses a path that nobody declares, whatever its shape.
            return self._relay.handler(path, Shape.SHAPE_UNARY)
        handler = self._handlers.get((path, shape))
        if handler is None:
            handler = self._handlers[path, shape] = self._relay.handler(path, shape)
        return handler


def server(
    *handlers: grpc.GenericRpcHandler, register: Callable[[grpc.aio.Server], object] = lambda _: None
) -> grpc.aio.Server:
    """A server for a socket of the router; `handlers` are asked in order, after what `register` adds."""
    made = grpc.aio.server(options=_OPTIONS)
    register(made)
    made.add_generic_rpc_handlers(handlers)
    return made
