"""Resolution: how long it takes to resolve a composition of many modules. Nothing is started."""

from __future__ import annotations

import time
from collections.abc import Iterator

from router.composition.document import Document, ModuleEntry, Selection
from router.composition.resolve import Known, resolve
from wuu.mesh.v1.declaration_pb2 import (
    Declaration,
    MethodDescriptor,
    ServiceDescriptor,
    ServiceRequirement,
)

BINDINGS = 4
"""That each module has, those at the bottom aside: they provide what the others stand on."""


def resolution_ms(modules: int, times: int) -> float:
    """The best of several resolutions of that many modules with four bindings each, in milliseconds.

    The best, since whatever else the machine does only ever adds to it.
    """
    document, known = composition(modules)
    graph = resolve(document, known)
    bound = sum(len(node.bindings) for node in graph.nodes.values())
    if bound != modules * BINDINGS:
        raise AssertionError(f"{bound} bindings, not {modules * BINDINGS}")
    return min(_timed(document, known, times))


def _timed(document: Document, known: dict[str, Known], times: int) -> Iterator[float]:
    for _ in range(times):
        begun = time.perf_counter()
        resolve(document, known)
        yield (time.perf_counter() - begun) * 1000


def composition(modules: int) -> tuple[Document, dict[str, Known]]:
    """A document and what its modules declare: half of the services have an alternative and a selection.

    The modules that consume are `modules`; beside them stand the alternatives, which nobody is bound to.
    """
    names = [f"bench.module-{index}" for index in range(modules)]
    spares = [f"bench.spare-{index}" for index in range(0, modules, 2)]
    grounds = [f"bench.ground-{index}" for index in range(BINDINGS)]
    known = {
        name: _known(name, f"bench.service-{index}", _required(index)) for index, name in enumerate(names)
    }
    known |= {
        spare: _known(spare, f"bench.service-{2 * index}", ()) for index, spare in enumerate(spares)
    }
    known |= {ground: _known(ground, f"bench.ground-{index}", ()) for index, ground in enumerate(grounds)}
    selections = tuple(
        Selection(f"bench.service-{index}", 1, names[index], None, f"bench:{index}")
        for index in range(0, modules, 2)
    )
    document = Document(
        version=4,
        profile="headless",
        modules=dict.fromkeys(known, ModuleEntry()),
        services=selections,
        packages=(),
        name="bench",
    )
    return document, known


def _required(index: int) -> tuple[str, ...]:
    """What a module stands on: some near, some far, all before it; at the bottom the ground."""
    before = {index - 1, index // 2, index // 3, index * 7 // 8} - {index}
    found = [f"bench.service-{each}" for each in sorted(before) if each >= 0]
    return tuple(found + [f"bench.ground-{each}" for each in range(BINDINGS - len(found))])


def _known(module: str, service: str, required: tuple[str, ...]) -> Known:
    method = MethodDescriptor(name="call", input_schema="bench.any", output_schema="bench.any")
    return Known(
        module,
        "1.0.0",
        Declaration(
            provided_services=[ServiceDescriptor(name=service, version="1.0.0", methods=[method])],
            required_services=[ServiceRequirement(name=name, major=1, required=True) for name in required],
        ),
    )
