"""The operator of a benchmark: calls over the control socket, many at once, without a command for each."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any, TypeVar

import grpc
import msgspec
from google.protobuf.message import Message

from bench.benchmark import Failed
from bench.mesh import RunningMesh
from contract.context import METHOD_KEY, MODULE_KEY, SERVICE_KEY
from contract.errors import from_rpc_error
from contract.transport import CHANNEL_OPTIONS, DYNAMIC, Metadata, unary
from router.home import Home, Running
from wuu.mesh.v1.control_pb2 import (
    ApplyRequest,
    ApplyResponse,
    CompositionSource,
    GenerationRecord,
    ListGenerationsRequest,
    ListGenerationsResponse,
    SetEnabledRequest,
    SetEnabledResponse,
    Transition,
)
from wuu.mesh.v1.dynamic_pb2 import InvokeRequest, InvokeResponse

Answer = TypeVar("Answer", bound=Message)

LISTED = 1000
"""Generations that are listed at most."""

_SETTLED_WITHIN = 30.0
_POLL = 0.02


class Operator:
    """One connection to the control socket. Failures are `MeshError`."""

    def __init__(self, channel: grpc.aio.Channel, running: Running, home: Home) -> None:
        self.running = running
        self.home = home
        self._channel = channel

    async def call(
        self, service: str, method: str, params: Mapping[str, Any] | None = None, *, module: str = ""
    ) -> Any:
        """Calls a dynamic service; `module` addresses a provider, whoever is selected."""
        request = InvokeRequest()
        if params is not None:
            request.params.utf8 = msgspec.json.encode(params)
        metadata = [(SERVICE_KEY, service), (METHOD_KEY, method)]
        if module:
            metadata.append((MODULE_KEY, module))
        answer = await self._unary(DYNAMIC, request, InvokeResponse, metadata)
        return msgspec.json.decode(answer.result.utf8)

    async def apply(self, composition: Mapping[str, Any], path: str) -> Transition:
        """Applies a composition, which must be committed."""
        document = msgspec.json.encode(composition)
        source = CompositionSource(layer="command line", path=path, document=document)
        request = ApplyRequest(sources=[source])
        answer = await self._unary("/wuu.mesh.v1.Control/Apply", request, ApplyResponse)
        return _committed(answer.transition)

    async def switch(self, module: str, *, enabled: bool) -> Transition:
        """Enables or disables a module, which must be committed."""
        request = SetEnabledRequest(module=module, enabled=enabled)
        answer = await self._unary("/wuu.mesh.v1.Control/SetEnabled", request, SetEnabledResponse)
        return _committed(answer.transition)

    async def generations(self, limit: int = LISTED) -> list[GenerationRecord]:
        """The generations, the newest first."""
        request = ListGenerationsRequest(limit=limit)
        path = "/wuu.mesh.v1.Control/ListGenerations"
        return list((await self._unary(path, request, ListGenerationsResponse)).generations)

    async def unclosed(self) -> int:
        """How many generations but the newest are still not closed after a while; waits until none is."""
        deadline = time.monotonic() + _SETTLED_WITHIN
        while True:
            _, *older = await self.generations()
            left = sum(each.state != "closed" for each in older)
            if not left or time.monotonic() > deadline:
                return left
            await asyncio.sleep(_POLL)

    async def _unary(
        self, path: str, request: Message, response: type[Answer], metadata: Metadata = ()
    ) -> Answer:
        try:
            answer = await unary(self._channel, path, request.SerializeToString(), metadata)
        except grpc.aio.AioRpcError as error:
            raise from_rpc_error(error) from None
        return response.FromString(answer)


@asynccontextmanager
async def operator(mesh: RunningMesh) -> AsyncIterator[Operator]:
    """A connection to a mesh that runs."""
    home = Home.at(mesh.home)
    running = home.running()
    if running is None:
        raise Failed("the mesh has not announced itself")
    async with grpc.aio.insecure_channel(f"unix:{running.control}", options=CHANNEL_OPTIONS) as channel:
        yield Operator(channel, running, home)


def _committed(transition: Transition) -> Transition:
    if transition.outcome != "committed" or transition.generation.state != "active":
        problems = [f"{each.where}: {each.message}" for each in transition.problems]
        said = "; ".join([*problems, *transition.generation.diagnostics])
        raise Failed(
            f"a transition was {transition.outcome}, its generation {transition.generation.state}: {said}"
        )
    return transition
