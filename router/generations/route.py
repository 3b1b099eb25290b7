"""Route: where the calls to one service go."""

from __future__ import annotations

from dataclasses import dataclass

from contract.declaration import major_of
from router.generations.method import Method, method_of
from router.instances.instance import Instance
from wuu.mesh.v1.declaration_pb2 import ServiceDescriptor


@dataclass(frozen=True, slots=True)
class Route:
    """Where calls to one service go, with what admission has to know about it."""

    instance: Instance
    descriptor: ServiceDescriptor
    label: str
    """`name@major`."""
    by_path: dict[str, Method]
    """By gRPC path; empty for a dynamic service."""
    by_name: dict[str, Method]
    """By the contract's spelling."""


def route_to(instance: Instance, descriptor: ServiceDescriptor) -> Route:
    """The route to a service of an instance."""
    prefix = f"/{descriptor.grpc_service}/"
    return Route(
        instance=instance,
        descriptor=descriptor,
        label=f"{descriptor.name}@{major_of(descriptor.version)}",
        by_path={prefix + m.rpc: method_of(m) for m in descriptor.methods} if descriptor.grpc_service else {},
        by_name={m.name: method_of(m) for m in descriptor.methods},
    )
