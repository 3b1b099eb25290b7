"""Revocation: what is disabled or removed ends at once, in every generation. Source: *Generations*.

Its executions are cancelled with all that they called, its calls are refused, `cleanup` methods aside, and
what it and who stood on it contributed is offered no more. A module that goes on under the same id is not
revoked.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable

from contract.errors import MeshError
from router.admission.execution import Executions
from router.composition.graph import Node
from router.composition.reason import DISABLED
from router.events import Events
from router.generations.generation import Generation
from router.instances.instance import Instance


def revoke(
    generation: Generation, alive: Collection[Generation], executions: Executions, events: Events
) -> None:
    """Revokes in every living generation what `generation`, which was committed, does not run any more."""
    instances = {instance for each in alive for instance in each.members()}
    for module in sorted({instance.module for instance in instances}):
        own = [each for each in instances if each.module == module and each.revoked is None]
        node = generation.graph.nodes.get(module)
        if not own or (node is not None and node.state == "ready"):
            continue
        if node is None or node.state == "disabled":
            why = _why(node)
            _revoke(
                module,
                MeshError("module_revoked", f"{module} {why}", outcome="not_dispatched"),
                own,
                executions,
            )
            events.emit("module", module, "revoked", f"{module} {why}")
        elif any(each.withdrawn is None for each in own):
            error = MeshError("service_unavailable", f"{module} {node.reason}", outcome="not_dispatched")
            for instance in own:
                instance.withdrawn = error
            events.emit("module", module, "inactive", node.reason, node.reason_code)


def _why(node: Node | None) -> str:
    if node is None:
        return "was removed from the composition"
    return "was disabled" if node.reason == DISABLED else node.reason


def _revoke(module: str, error: MeshError, own: Iterable[Instance], executions: Executions) -> None:
    for instance in own:
        instance.revoked = instance.withdrawn = error
    cancelled = MeshError(error.code, error.message, outcome="unknown")
    for execution in executions:
        if module in (execution.owner.module, execution.caller):
            execution.cancel(cancelled)
