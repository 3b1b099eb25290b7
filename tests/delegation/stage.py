"""The chain of a test: modules by name, each in front of the next, and a gate at which they wait."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any

import msgspec

from tests.delegation.script import GATE, TOOLS, Action
from tests.support.composition import Entry, command, probe, select
from tests.support.mesh import Mesh
from tests.support.process import PATIENCE

GATEKEEPER = probe("gate", provides=[GATE])


def native(module: str, kind: str = "decorator") -> Entry:
    """An actor written with the kit."""
    return Entry(id=module, argv=(*command("tests.delegation.actor"), kind))


def plugin(module: str, kind: str = "decorator") -> Entry:
    """An actor that speaks JSON lines."""
    argv = (*command("tests.delegation.actor_plugin"), module, kind)
    return Entry(id=module, argv=argv, runtime={"protocol": "wuu-plugin-v1"})


def typed(module: str, kind: str) -> Entry:
    """An actor behind a gRPC service."""
    return Entry(id=module, argv=(*command("tests.delegation.typed"), kind))


def chain(modules: Sequence[str]) -> list[dict[str, object]]:
    """The first is selected for everybody, and each is bound to the next."""
    first, *_ = modules
    return [
        select(TOOLS, first),
        *(select(TOOLS, inner, consumer=outer) for outer, inner in pairwise(modules)),
    ]


async def execute(mesh: Mesh, *, within: float | None = None, **script: Sequence[Action]) -> Any:
    """Runs a script, by module, within so many seconds. Returns what the first of the chain answers."""
    return await mesh.operator.invoke(TOOLS, "execute", script, timeout=within)


def begun(mesh: Mesh, **script: Sequence[Action]) -> asyncio.Task[Any]:
    """Begins to run a script."""
    return asyncio.create_task(mesh.call(TOOLS, "execute", script))


async def at_gate(mesh: Mesh, key: str) -> None:
    """Returns once somebody waits there."""
    await mesh.call(GATE, "hanging", {"key": key})


async def over(mesh: Mesh, module: str) -> None:
    """Returns once the module serves nothing any more."""
    async with asyncio.timeout(PATIENCE):
        while any(each.owner == module for each in await mesh.executions()):
            pass


async def let(mesh: Mesh, key: str) -> None:
    """Lets them through."""
    await mesh.call(GATE, "let", {"key": key})


async def calls(mesh: Mesh, module: str) -> int:
    """How many calls a provider of tools was given until now, this one aside."""
    answer: Any = await mesh.operator.invoke(TOOLS, "list", module=module)
    return int(answer["calls"]) - 1


def layers(answer: Any) -> Iterator[Any]:
    """What each of a chain answered, from the outside."""
    while answer is not None:
        yield answer
        inner = [each["result"] for each in answer["outcomes"] if isinstance(each.get("result"), dict)]
        answer = inner[0] if inner else None


def error(outcome: Any, code: str) -> str:
    """The message of an outcome that is an error of the router before anything was dispatched."""
    assert outcome["error"]["code"] == code, outcome
    assert outcome["error"].get("outcome", "not_dispatched") == "not_dispatched", outcome
    return str(outcome["error"]["message"])


def text(params: Any) -> bytes:
    """JSON as the operator of these tests sends it."""
    return msgspec.json.encode(params)
