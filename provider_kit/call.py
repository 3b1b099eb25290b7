"""One call that a provider serves."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar, overload

from google.protobuf.message import Message

from contract.context import CallContext
from provider_kit.mesh import Mesh, parsed
from wuu.mesh.v1.dynamic_pb2 import InvokeResponse

Stub = TypeVar("Stub")
Response = TypeVar("Response", bound=Message)


@dataclass(frozen=True, slots=True)
class Call:
    """What a handler is given beside the request. It lives as long as the handler runs."""

    context: CallContext
    """What the router vouches for: caller, execution, phase, deadline, … The only source of identity."""

    mesh: Mesh
    """Calls to required services on behalf of this call: cancelled with it, and in its generation."""

    @property
    def caller(self) -> str:
        """The module that calls."""
        return self.context.caller

    def stub(self, stub: Callable[[Any], Stub], service: str) -> Stub:
        """See `Mesh.stub`."""
        return self.mesh.stub(stub, service)

    @overload
    async def proceed(self) -> bytes: ...

    @overload
    async def proceed(self, response: type[Response]) -> Response: ...

    async def proceed(self, response: type[Response] | None = None) -> bytes | Response:
        """Goes on with this very call at the provider that we are bound to, and returns what it answers.

        That is the JSON of a dynamic service, or the message `response` of a typed one. A module that names
        `SERVICE_CONTINUATION` in `host_features` may do so once for each call of `agent.tools@1 execute`;
        see `wuu.mesh.v1.Continuations`. Raises MeshError: the provider's own, or the router's refusal.
        """
        answer = await self.mesh.proceed(self.context.continuation)
        if response is None:
            return parsed(InvokeResponse.FromString, answer, self.context.service).result.utf8
        return parsed(response.FromString, answer, self.context.service)
