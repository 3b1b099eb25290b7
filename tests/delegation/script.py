"""What an actor does in a call of `agent.tools@1 execute`, whatever it speaks.

The params are the script of everybody on the way: by module, what it does one after the other. Nobody on the
way can change them, so each finds its own part. An actor answers who it is, who called it, with which text,
and what became of each action: `{"result"}` or `{"error"}`.
"""

from __future__ import annotations

from typing import Any

TOOLS = "agent.tools@1"
GATE = "probe.gate@1"
FEATURE = "service.continuation.v1"

METHODS = ("execute", "list", "last", "extra")
"""What a decorator declares; the provider behind it has no `extra`."""

Action = dict[str, Any]


def proceed() -> Action:
    """Continues the call."""
    return {"do": "proceed"}


def twice() -> Action:
    """Continues the call twice at once, and tells what became of both."""
    return {"do": "twice"}


def forward() -> Action:
    """Calls `execute` of what it is bound to, as if it were any service."""
    return {"do": "forward"}


def listed() -> Action:
    """Calls `list` of what it is bound to."""
    return {"do": "list"}


def use(id: str, execution: str = "") -> Action:  # noqa: A002
    """Continues by this id, in this execution; empty: in that of the call."""
    return {"do": "use", "id": id, "execution": execution}


def leave(key: str) -> Action:
    """Continues the call, and leaves what is continued once somebody waits at the gate."""
    return {"do": "leave", "key": key}


def outside(id: str) -> Action:  # noqa: A002
    """Continues by this id, in no execution."""
    return {"do": "outside", "id": id}


def ids() -> Action:
    """Tells the continuation and the execution of the call."""
    return {"do": "ids"}


def wait(key: str) -> Action:
    """Waits at the gate, within the call."""
    return {"do": "wait", "key": key}


def linger(key: str) -> Action:
    """Waits at the gate, and does not heed that the call is cancelled meanwhile."""
    return {"do": "linger", "key": key}


def fail(code: str) -> Action:
    """Fails the call."""
    return {"do": "fail", "code": code}
