"""One call that a provider serves."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

from contract.context import CallContext
from provider_kit.mesh import Mesh

Stub = TypeVar("Stub")


@dataclass(frozen=True, slots=True)
class Call:
    """What a handler is given beside the request. It lives as long as the handler runs."""

    context: CallContext
    """What the router vouches for: caller, execution, phase, deadline, … The only source of identity."""

    mesh: Mesh
    """Calls to required services on behalf of this call: cancelled with it, and in its generation."""

    @property
    def caller(self) -> str:
        """The module that calls."""
        return self.context.caller

    def stub(self, stub: Callable[[Any], Stub], service: str) -> Stub:
        """See `Mesh.stub`."""
        return self.mesh.stub(stub, service)
