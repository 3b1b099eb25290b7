"""The actor as a native module: `tests.delegation.actor tools | decorator | plain`.

`tools` is a provider of `agent.tools@1`; `decorator` stands in front of one, and `plain` too, without the
right to continue.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Awaitable, Sequence
from typing import Any, ClassVar

import msgspec

from provider_kit import (
    SERVICE_CONTINUATION,
    Call,
    Dynamic,
    MeshError,
    Module,
    delegate,
    describe_dynamic,
    requirement,
    serve,
)
from tests.delegation.script import GATE, METHODS, TOOLS
from wuu.mesh.v1.declaration_pb2 import ServiceRequirement
from wuu.mesh.v1.lifecycle_pb2 import InitializeRequest


class Tools(Module):
    """A provider of tools, at the end of the chain."""

    requires: ClassVar[Sequence[ServiceRequirement]] = (requirement(GATE),)

    def __init__(self) -> None:
        self.provides = [
            Dynamic(
                "agent.tools",
                {"execute": self.execute, "list": self.list_tools, "last": self.last},
                preparation=("list",),
            )
        ]
        self._calls = 0
        self._module = ""
        self._lingered = asyncio.Event()
        self._last: list[Any] = []

    async def configure(self, request: InitializeRequest) -> None:
        self._module = request.module

    async def list_tools(self, params: bytes, call: Call) -> bytes:
        """Who was asked by whom, for an ordinary method; fails with the code that is given."""
        self._calls += 1
        asked = msgspec.json.decode(params) if params else None
        if asked:
            raise MeshError(asked["code"], "as asked", domain="wuu", pointer="/code", outcome="unknown")
        return msgspec.json.encode({**self._told(call), "calls": self._calls})

    async def last(self, _params: bytes, _call: Call) -> bytes:
        """What became of the actions of the last call, once one that lingered is over."""
        await self._lingered.wait()
        return msgspec.json.encode(self._last)

    async def execute(self, params: bytes, call: Call) -> bytes:
        """Follows the script."""
        self._calls += 1
        outcomes: list[Any] = []
        for action in msgspec.json.decode(params).get(self._module, []):
            if action["do"] == "fail":
                raise MeshError(action["code"], "as scripted", pointer="/do")
            outcomes.append(await _outcome(self._act(action, call, params)))
        self._last = outcomes
        if {"result": "lingered"} in outcomes:
            self._lingered.set()
        return msgspec.json.encode({**self._told(call), "params": params.decode(), "outcomes": outcomes})

    def _told(self, call: Call) -> dict[str, Any]:
        context = call.context
        return {
            "module": self._module,
            "caller": context.caller,
            "generation": context.generation,
            "continuable": bool(context.continuation),
            "deadline": context.deadline_unix_ms,
        }

    async def _act(self, action: dict[str, Any], call: Call, params: bytes) -> Any:
        match action["do"]:
            case "proceed":
                return msgspec.Raw(await call.proceed())
            case "twice":
                return await asyncio.gather(_outcome(_json(call.proceed())), _outcome(_json(call.proceed())))
            case "forward":
                return msgspec.Raw(await call.mesh.invoke(TOOLS, "execute", params))
            case "list":
                return msgspec.Raw(await call.mesh.invoke(TOOLS, "list"))
            case "use":
                mesh = self.mesh.within(action["execution"] or call.context.execution)
                return len(await mesh.proceed(action["id"]))
            case "leave":
                proceeding = asyncio.ensure_future(call.proceed())
                await call.mesh.invoke(GATE, "hanging", _key(action))
                proceeding.cancel()
                await asyncio.wait((proceeding,))
                return proceeding.cancelled()
            case "outside":
                return len(await self.mesh.proceed(action["id"]))
            case "ids":
                return [call.context.continuation, call.context.execution]
            case "wait":
                return msgspec.Raw(await call.mesh.invoke(GATE, "wait", _key(action)))
            case "linger":
                waiting = asyncio.ensure_future(self.mesh.invoke(GATE, "wait", _key(action)))
                while not waiting.done():
                    try:
                        await asyncio.shield(waiting)
                    except asyncio.CancelledError:
                        continue
                return "lingered"
        raise ValueError(action)


class Decorator(Tools):
    """Stands in front of another provider of tools."""

    requires = (requirement(TOOLS), requirement(GATE))
    host_features: ClassVar[Sequence[str]] = (SERVICE_CONTINUATION,)

    def __init__(self) -> None:
        super().__init__()
        descriptor = describe_dynamic("agent.tools", METHODS, preparation=("list",))
        self.provides = [delegate(descriptor, {"execute": self.execute, "last": self.last})]


class Plain(Decorator):
    """The same without the right to continue."""

    host_features = ()


async def _json(answer: Awaitable[bytes]) -> msgspec.Raw:
    return msgspec.Raw(await answer)


async def _outcome(action: Awaitable[Any]) -> dict[str, Any]:
    try:
        return {"result": await action}
    except MeshError as error:
        told = {"code": error.code, "message": error.message, "domain": error.domain}
        return {"error": {**told, "outcome": error.outcome, "details": dict(error.details)}}


def _key(action: dict[str, Any]) -> bytes:
    return msgspec.json.encode({"key": action["key"]})


if __name__ == "__main__":
    serve({"tools": Tools, "decorator": Decorator, "plain": Plain}[sys.argv[1]]())
