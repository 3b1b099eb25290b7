"""Kernel call: one call of a service that the router serves itself."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeVar

from google.protobuf.message import DecodeError, Message

from contract.declaration import major_of
from contract.errors import MeshError
from router.admission.admission import check_phase, stricter
from router.admission.execution import Execution
from router.generations.method import method_of
from router.instances.instance import Instance
from wuu.mesh.v1.declaration_pb2 import ServiceDescriptor

Parsed = TypeVar("Parsed", bound=Message)


@dataclass(frozen=True, slots=True)
class KernelCall:
    """One call of a kernel service, as far as it was admitted."""

    request: bytes
    caller: Instance
    parent: Execution | None
    """The execution in which it is made; None outside of any, and where that does not matter."""
    method: str
    """Of a dynamic call."""

    def within(self, service: ServiceDescriptor, method: str, otherwise: str) -> Execution:
        """The execution in which it is made, in a phase that has the method.

        Raises `execution_not_found` with `otherwise` outside of any, and what `check_phase` raises.
        """
        if self.parent is None:
            raise refused("execution_not_found", otherwise)
        declared = next(each for each in service.methods if each.name == method)
        label = f"{service.name}@{major_of(service.version)}"
        check_phase(stricter(self.parent.phase, self.caller.phase), label, method_of(declared))
        return self.parent


def parsed(kind: type[Parsed], request: bytes) -> Parsed:
    """The request as a message. Raises `invalid_request`."""
    try:
        return kind.FromString(request)
    except DecodeError:
        raise refused("invalid_request", f"the request is not a {kind.DESCRIPTOR.full_name}") from None


def refused(code: str, message: str) -> MeshError:
    """What the router answers where nothing was done."""
    return MeshError(code, message, outcome="not_dispatched")
