"""Resolution: how long it takes to resolve a composition of many modules. Nothing is started."""

from __future__ import annotations

import time
from collections.abc import Iterator

from bench.benchmark import Failed
from router.composition.composed import Composed, compose
from router.composition.document import Document, ModuleEntry, Selection
from router.composition.resolve import Known, resolve
from wuu.mesh.v1.declaration_pb2 import (
    Declaration,
    MethodDescriptor,
    ServiceDescriptor,
    ServiceRequirement,
)

BINDINGS = 4
"""That a module has on average."""


_NEAR = 16
"""Enough modules to choose from where the first ones coincide."""


def resolution_ms(modules: int, times: int) -> float:
    """The best of several resolutions of that many modules with four times as many bindings, in milliseconds.

    The best, since whatever else the machine does only ever adds to it.
    """
    composed, known = composition(modules)
    graph = resolve(composed, known)
    bound = sum(len(node.bindings) for node in graph.nodes.values())
    if bound != modules * BINDINGS:
        raise Failed(f"{bound} bindings, not {modules * BINDINGS}")
    return min(_timed(composed, known, times))


def _timed(composed: Composed, known: dict[str, Known], times: int) -> Iterator[float]:
    for _ in range(times):
        begun = time.perf_counter()
        resolve(composed, known)
        yield (time.perf_counter() - begun) * 1000


def composition(modules: int) -> tuple[Composed, dict[str, Known]]:
    """A composition and what its modules declare: every other service has an alternative and a selection."""
    names = [f"bench.module-{index}" for index in range(modules)]
    known = {
        name: _known(name, _provided(index, modules), _required(index)) for index, name in enumerate(names)
    }
    selections = tuple(
        Selection(_service(index), 1, names[index], None, f"bench:{index}") for index in range(1, modules, 2)
    )
    document = Document(
        version=4,
        profile="headless",
        modules=dict.fromkeys(names, ModuleEntry()),
        services=selections,
        name="bench",
    )
    return compose([document]), known


def _service(index: int) -> str:
    return f"bench.service-{index}"


def _provided(index: int, modules: int) -> list[str]:
    """Its own service and, for every other module, an alternative to the next one's."""
    alternative = index % 2 == 0 and index + 1 < modules
    return [_service(index), *([_service(index + 1)] if alternative else ())]


def _required(index: int) -> list[str]:
    """The services of modules before it, near and far. Some have one more: the first few have less."""
    lacking = BINDINGS * (BINDINGS + 1) // 2
    wanted = BINDINGS + (BINDINGS < index <= BINDINGS + lacking)
    before = list(dict.fromkeys((index - 1, index // 2, index // 3, index // 5, *range(min(index, _NEAR)))))
    return [_service(each) for each in before[:wanted] if 0 <= each < index]


def _known(module: str, provided: list[str], required: list[str]) -> Known:
    method = MethodDescriptor(name="call", input_schema="bench.any", output_schema="bench.any")
    return Known(
        module,
        "1.0.0",
        Declaration(
            provided_services=[
                ServiceDescriptor(name=name, version="1.0.0", methods=[method]) for name in provided
            ],
            required_services=[ServiceRequirement(name=name, major=1, required=True) for name in required],
        ),
    )
