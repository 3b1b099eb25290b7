"""Control calls: the rpcs of `wuu.mesh.v1.Control`, as the relay of the control socket finds them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from google.protobuf.message import Message
from google.protobuf.message_factory import GetMessageClass

from router.admission.envelope import Envelope
from router.control.service import ControlService
from router.kernel.call import parsed
from router.relay.local import Serve
from wuu.mesh.v1 import control_pb2


class ControlCalls:
    """Serves every rpc of the proto."""

    def __init__(self, service: ControlService) -> None:
        described: Any = control_pb2.DESCRIPTOR.services_by_name["Control"]
        self._typed = {
            f"/{described.full_name}/{rpc.name}": _serving(
                GetMessageClass(rpc.input_type), getattr(service, rpc.name)
            )
            for rpc in described.methods
        }

    def find(self, envelope: Envelope) -> Serve | None:
        """What serves a call; None where a provider does."""
        return self._typed.get(envelope.path)


def _serving(kind: type[Message], serve: Callable[[Any], Awaitable[Message]]) -> Serve:
    async def answer(request: bytes, _: Envelope) -> bytes:
        return (await serve(parsed(kind, request))).SerializeToString()

    return answer
