"""What a Python provider is written with.

>>> class Echo(Module):
...     provides = [Provided(ECHO, EchoService)]
>>> serve(Echo())
"""

from contract.errors import MeshError
from provider_kit.call import Call
from provider_kit.mesh import Mesh
from provider_kit.module import Module, Provided, configuration, requirement
from provider_kit.program import serve

__all__ = ["Call", "Mesh", "MeshError", "Module", "Provided", "configuration", "requirement", "serve"]
