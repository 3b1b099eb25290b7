"""Continuation: the right of a decorator to go on with the very call that it was given.

Source: 局部扩展 provider; `proto/wuu/mesh/v1/continuation.proto`. It is bound to one live execution, to the
provider that the generation bound the decorator to, and to one use. What is sent the relay alone has.
"""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from typing import TYPE_CHECKING

from contract.continuation import SERVICE_CONTINUATION
from contract.declaration import major_of
from contract.errors import MeshError
from router.instances.instance import Instance

if TYPE_CHECKING:
    from router.admission.execution import Execution
    from router.generations.generation import Generation
    from router.generations.method import Method
    from router.generations.route import Route

SERVICE, MAJOR, METHOD = "agent.tools", 1, "execute"
"""The only calls that are continued: tools run in the name of whom they were admitted for."""

TOOLS = f"{SERVICE}@{MAJOR}"


@dataclass(slots=True, eq=False)
class Continuation:
    """What admission keeps of a call that may be continued."""

    id: str
    """Known to the decorator alone, from its context."""
    delegate: Route
    """Where it goes, whatever generations follow."""
    path: str
    """The gRPC path of the call."""
    method: str
    """What the caller named as the method; empty for a typed call."""
    used: bool = False


def issue(path: str, named: str, method: Method, route: Route, generation: Generation) -> Continuation | None:
    """The right that goes with a call to a decorator; None where it is no call that may be continued."""
    if not _is_execute(route.label, method) or not method.is_unary:
        return None
    decorator = route.instance
    if SERVICE_CONTINUATION not in decorator.features or TOOLS not in decorator.required:
        return None
    try:
        delegate = generation.route(decorator.module, SERVICE, MAJOR)
    except MeshError:
        # It does without, and so has nobody to go on with; an ordinary call of its own tells it why.
        return None
    return Continuation(secrets.token_urlsafe(16), delegate, path, named)


def check_ordinary(caller: Instance, label: str, method: Method) -> None:
    """Raises `service_not_authorized` where a decorator would send what only a continuation may."""
    if _is_execute(label, method) and _provides_tools(caller):
        raise _refused(
            "service_not_authorized",
            f"{caller.module} provides {TOOLS} itself, and may not call {METHOD} of another in its own name",
            remedy=f"Continue the call that is served, with {SERVICE_CONTINUATION}.",
        )


def redeem(id: str, execution: Execution | None, caller: Instance) -> Continuation:  # noqa: A002
    """The right to continue a live execution of the caller, which is used up by this.

    Raises the refusals that `wuu.mesh.v1.Continuations` names.
    """
    if SERVICE_CONTINUATION not in caller.features:
        raise _refused(
            "service_not_authorized",
            f"{caller.module} does not require {SERVICE_CONTINUATION}",
            remedy=f"Name {SERVICE_CONTINUATION} in `required_host_features`.",
        )
    if execution is None:
        raise _refused("execution_not_found", "a call is continued in its execution, and none is named")
    continuation = execution.continuation
    if continuation is None:
        raise _refused(
            "service_not_authorized",
            f"execution {execution.id} cannot be continued: it is {execution.service} {execution.method}",
            remedy=f"Continue {METHOD} of {TOOLS}, in a module that requires it too; call the rest as usual.",
        )
    if id != continuation.id:
        raise _refused(
            "execution_not_found",
            f"that is not the continuation of execution {execution.id}",
            remedy="Use `continuation` of the context of the call that is continued.",
        )
    if continuation.used:
        raise _refused(
            "execution_not_found",
            f"the continuation of execution {execution.id} was used",
            remedy="It serves once, however that ends. See what became of the first use.",
        )
    continuation.used = True
    return continuation


def _is_execute(label: str, method: Method) -> bool:
    return method.name == METHOD and label == TOOLS


def _provides_tools(instance: Instance) -> bool:
    return instance.declaration is not None and any(
        each.name == SERVICE and major_of(each.version) == MAJOR
        for each in instance.declaration.provided_services
    )


def _refused(code: str, message: str, **details: str) -> MeshError:
    return MeshError(code, message, outcome="not_dispatched", **details)
