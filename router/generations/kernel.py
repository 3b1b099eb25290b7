"""Kernel: the services that the router itself serves to modules. No module provides them."""

from __future__ import annotations

from contract.declaration import describe, major_of
from wuu.mesh.v1 import contributions_pb2, leases_pb2
from wuu.mesh.v1.declaration_pb2 import Declaration, MethodDescriptor, ServiceDescriptor

CONTRIBUTIONS = "wuu.mesh.contributions"
"""The service by which a registry reaches what a module contributes."""

LEASES = "wuu.mesh.leases"
"""The service by which work that outlives a call keeps its generation."""

EXECUTION_UPDATE = "execution.update"
"""The service by which an execution says how far it is. Its params are any JSON, its result is null."""

CONTRIBUTIONS_DESCRIPTOR = describe(contributions_pb2.DESCRIPTOR.services_by_name["Contributions"])
"""What every module that contributes serves, declared by the kernel in its stead."""

LEASES_DESCRIPTOR = describe(leases_pb2.DESCRIPTOR.services_by_name["Leases"])

EXECUTION_UPDATE_DESCRIPTOR = ServiceDescriptor(
    name=EXECUTION_UPDATE,
    version="1.0.0",
    methods=[
        MethodDescriptor(
            name="call", input_schema="execution.update.input.v1", output_schema="execution.update.output.v1"
        )
    ],
)

SERVED = {each.name: each for each in (LEASES_DESCRIPTOR, EXECUTION_UPDATE_DESCRIPTOR)}
"""What the router answers itself, by name."""

KERNEL_SERVICES = frozenset(
    (each.name, major_of(each.version)) for each in (CONTRIBUTIONS_DESCRIPTOR, *SERVED.values())
)
"""Services that a module may require and that no module provides."""


def without_kernel_services(declaration: Declaration | None) -> Declaration | None:
    """The declaration as resolution sees it: what the kernel serves needs no provider."""
    if declaration is None:
        return None
    seen = Declaration()
    seen.CopyFrom(declaration)
    del seen.required_services[:]
    seen.required_services.extend(
        r for r in declaration.required_services if (r.name, r.major) not in KERNEL_SERVICES
    )
    return seen
