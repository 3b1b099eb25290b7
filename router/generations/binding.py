"""Binding: what a consumer is told about where its calls go."""

from __future__ import annotations

from contract.context import ROUTER
from router.generations.generation import Generation
from router.generations.kernel import SERVED
from wuu.mesh.v1.lifecycle_pb2 import Binding


def bindings(generation: Generation, module: str) -> list[Binding]:
    """What a consumer is told about where its calls go."""
    told: list[Binding] = []
    for edge in generation.graph.nodes[module].bindings:
        route = generation.route(module, edge.service, edge.major)
        told.append(
            Binding(
                service=edge.service,
                major=edge.major,
                provider=edge.provider,
                descriptor=route.descriptor,
                file_descriptor_set=route.instance.package.descriptors,
            )
        )
    declaration = generation.instances[module].declaration
    told.extend(
        Binding(service=required.name, major=1, provider=ROUTER, descriptor=SERVED[required.name])
        for required in (declaration.required_services if declaration else ())
        if required.name in SERVED
    )
    return told
