"""The envelope: what a caller says about a call beside its payload."""

from __future__ import annotations

from dataclasses import dataclass

from contract.context import AS_KEY, EXECUTION_KEY, METHOD_KEY, MODULE_KEY, SERVICE_KEY, TOKEN_KEY


@dataclass(slots=True)
class Envelope:
    """What a caller says about a call beside its payload."""

    path: str
    """`/package.Service/Rpc`."""
    deadline: float | None
    """In the clock of `time.time()`, seconds."""
    token: str = ""
    service: str = ""
    execution: str = ""
    method: str = ""
    module: str = ""
    as_module: str = ""


ATTRIBUTES = {
    TOKEN_KEY: "token",
    SERVICE_KEY: "service",
    EXECUTION_KEY: "execution",
    METHOD_KEY: "method",
    MODULE_KEY: "module",
    AS_KEY: "as_module",
}
"""By the key of metadata, which attribute of the envelope it is."""
