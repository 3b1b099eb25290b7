"""What a Python provider is written with.

>>> class Echo(Module):
...     provides = [Dynamic("example.echo", {"echo": echo})]
>>> serve(Echo())
"""

from contract.context import CallContext
from contract.continuation import SERVICE_CONTINUATION
from contract.errors import MeshError
from provider_kit.call import Call
from provider_kit.delegate import delegate
from provider_kit.mesh import Mesh
from provider_kit.module import Module, configuration, requirement
from provider_kit.program import serve
from provider_kit.provided import Dynamic, Handler, Provided, describe_dynamic

__all__ = [
    "SERVICE_CONTINUATION",
    "Call",
    "CallContext",
    "Dynamic",
    "Handler",
    "Mesh",
    "MeshError",
    "Module",
    "Provided",
    "configuration",
    "delegate",
    "describe_dynamic",
    "requirement",
    "serve",
]
