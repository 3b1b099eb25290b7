"""Revocation: what is disabled or removed ends at once, in every generation. Source: *Generations*.

Its executions are cancelled with all that they called, its calls are refused, `cleanup` methods aside, and
what it and who stood on it contributed is offered no more. A module that goes on under the same id is not
revoked.
"""

from __future__ import annotations

from collections.abc import Iterable

from contract.errors import MeshError
from router.admission.execution import Executions
from router.events import Events
from router.generations.generation import Generation


def revoke(
    generation: Generation,
    before: Generation,
    alive: Iterable[Generation],
    executions: Executions,
    events: Events,
) -> None:
    """Revokes every module that `generation` does not run any more and `before` did."""
    for module in sorted(before.graph.nodes.keys()):
        node = generation.graph.nodes.get(module)
        if module in before.instances and (node is None or node.state == "disabled"):
            why = "was removed from the composition" if node is None else "was disabled"
            error = MeshError("module_revoked", f"{module} {why}", outcome="not_dispatched")
            _revoke(module, error, alive, executions)
            events.emit("module", module, "revoked", f"{module} {why}")
        elif module in before.instances and node is not None and node.state == "blocked":
            error = MeshError("service_unavailable", f"{module} {node.reason}", outcome="not_dispatched")
            for each in alive:
                if (instance := each.instances.get(module)) is not None:
                    instance.withdrawn = error
            events.emit("module", module, "inactive", node.reason, node.reason_code)


def _revoke(module: str, error: MeshError, alive: Iterable[Generation], executions: Executions) -> None:
    for generation in alive:
        for instance in generation.members():
            if instance.module == module:
                instance.revoked = instance.withdrawn = error
    cancelled = MeshError(error.code, error.message, outcome="unknown")
    for execution in executions:
        if module in (execution.owner.module, execution.caller):
            execution.cancel(cancelled)
