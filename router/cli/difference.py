"""Difference: what tells one generation from the one before, for people and for programs."""

from __future__ import annotations

from typing import Any

from rich.console import Console

from router.cli.terminal import printable
from wuu.mesh.v1 import control_pb2


def difference_json(difference: control_pb2.Difference) -> dict[str, Any]:
    """A difference as `--json` prints it."""
    return {
        "added": list(difference.added),
        "removed": list(difference.removed),
        "replaced": list(difference.replaced),
        "carried": list(difference.carried),
        "bindings": [
            {
                "consumer": change.consumer or None,
                "service": change.service,
                "major": change.major,
                "before": change.before or None,
                "after": change.after or None,
            }
            for change in difference.bindings
        ],
        "blocked": [problem_json(each) for each in difference.blocked],
    }


def problem_json(problem: control_pb2.Problem) -> dict[str, str]:
    """A problem as `--json` prints it."""
    return {"where": problem.where, "message": problem.message, "code": problem.code}


def print_difference(out: Console, difference: control_pb2.Difference) -> None:
    """Prints a difference for people; of what it has nothing of, not a word."""
    for what, modules in (
        ("added", difference.added),
        ("removed", difference.removed),
        ("replaced", difference.replaced),
        ("carried over", difference.carried),
    ):
        if modules:
            out.print(f"{what}: {', '.join(modules)}", soft_wrap=True)
    if difference.bindings:
        out.print("bindings changed:")
    for change in difference.bindings:
        binding = f"{change.consumer or 'everybody'}: {change.service}@{change.major}"
        out.print(f"  {binding} {change.before or 'nobody'} → {change.after or 'nobody'}", soft_wrap=True)
    if difference.blocked:
        out.print("not running:")
    for each in difference.blocked:
        out.print(printable(f"  {each.where}: {each.code}: {each.message}"), soft_wrap=True)
