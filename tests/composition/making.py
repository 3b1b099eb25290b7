"""Declarations and graphs, said briefly."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping

from router.composition.composed import compose
from router.composition.document import parse_document
from router.composition.graph import Graph
from router.composition.rejected import Rejected
from router.composition.resolve import Known, resolve
from wuu.mesh.v1.declaration_pb2 import Declaration, MethodDescriptor, ServiceDescriptor, ServiceRequirement

NAME = "mesh.json"


def known(
    module: str,
    *,
    provides: Iterable[str] = (),
    requires: Iterable[str] = (),
    schemas: Mapping[str, str] | None = None,
    unavailable: str = "",
) -> Known:
    """A module that provides services such as `a.b@1` and requires others; `c.d@1?` is optional.

    `schemas` are the input schemas by method; otherwise every service has one method, `read`.
    """
    declaration = Declaration()
    methods = [
        MethodDescriptor(name=name, input_schema=schema, output_schema="any.output")
        for name, schema in (schemas or {"read": "any.input"}).items()
    ]
    for each in provides:
        name, _, major = each.partition("@")
        declaration.provided_services.append(
            ServiceDescriptor(name=name, version=f"{major}.2.3", methods=methods)
        )
    for each in requires:
        name, _, major = each.removesuffix("?").partition("@")
        declaration.required_services.append(
            ServiceRequirement(name=name, major=int(major), required=not each.endswith("?"))
        )
    return Known(module, "1.0.0", declaration, unavailable)


def unknown(module: str, unavailable: str = "") -> Known:
    """A module whose declaration is not known."""
    return Known(module, "1.0.0", None, unavailable)


def choose(service: str, provider: str, consumer: str | None = None) -> dict[str, object]:
    """A selection as the document has it."""
    name, _, major = service.partition("@")
    selection: dict[str, object] = {"service": name, "major": int(major), "provider": provider}
    return selection if consumer is None else {"consumer": consumer, **selection}


def graph(
    *offered: Known,
    modules: Mapping[str, object] | None = None,
    services: Iterable[Mapping[str, object]] = (),
) -> Graph:
    """The graph of a document with all modules that are offered, or with `modules`, one selection a line."""
    entries = {each.module: True for each in offered} if modules is None else dict(modules)
    lines = ",\n".join(json.dumps(each) for each in services)
    text = f'{{"version": 4, "modules": {json.dumps(entries)}, "services": [\n{lines}\n]}}'
    document = parse_document(text.encode(), name=NAME)
    return resolve(compose([document]), {each.module: each for each in offered})


def problems_of(
    *offered: Known,
    modules: Mapping[str, object] | None = None,
    services: Iterable[Mapping[str, object]] = (),
) -> list[str]:
    """What rejects that document."""
    try:
        graph(*offered, modules=modules, services=services)
    except Rejected as rejected:
        return [str(problem) for problem in rejected.problems]
    return []
