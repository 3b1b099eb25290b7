"""The script of a probe: what it is configured to be, and what its methods are asked."""

from __future__ import annotations

from typing import Literal

import msgspec

StepName = Literal["initialize", "prepare", "activate", "service-changed", "shutdown"]


class NestedCall(msgspec.Struct, forbid_unknown_fields=True, omit_defaults=True):
    """A call that the probe makes to another module while it serves one, or in a step of its lifecycle."""

    service: str
    method: str = "echo"
    params: msgspec.Raw = msgspec.Raw(b"null")
    tool: str = ""
    """`MODULE/TOOL`: the call runs a tool, with `params` as its arguments."""
    path: str = ""
    """Another gRPC path than that of dynamic calls."""
    execution: str | None = None
    """Made on behalf of this execution; None: that of the call which is served; empty: of none."""
    token: str = ""
    """Another token than the probe's own."""
    timeout: float | None = None
    """Seconds."""
    key: str = ""
    """Under which `hanging` and `cancelled` count the caller of it."""


class Action(msgspec.Struct, forbid_unknown_fields=True, omit_defaults=True):
    """What the probe does in a step of its lifecycle: the first of these that is given."""

    call: NestedCall | None = None
    """Its outcome is recorded and kept for the method `outcomes`, and the step goes on."""
    demand: NestedCall | None = None
    """The step fails where it does."""
    begin: NestedCall | None = None
    """It is made while the step goes on, and nobody waits for it."""
    error: str = ""
    """The step fails with `host_error` and this message."""
    hang: bool = False
    pause: float = 0.0
    """Seconds that the step takes."""
    exit: int | None = None
    """The process exits with this status, at once."""


class Config(msgspec.Struct, forbid_unknown_fields=True, omit_defaults=True):
    """The `config` of the probe's entry in the composition."""

    provides: tuple[str, ...] = ()
    """Dynamic services: `name@major` or `name@version`."""
    requires: tuple[str, ...] = ()
    """`name@major`, with `?` behind what it does without."""
    methods: tuple[str, ...] = ()
    """What the services declare; empty: every method that the probe has."""
    streams: str = ""
    """The typed service that it provides, as `name@major`."""
    tools: tuple[str, ...] = ()
    """The names of methods that it contributes as tools, too."""
    record: str = ""
    """A file to which a line `MODULE STEP` is appended with every step of the lifecycle."""
    steps: dict[StepName, tuple[Action, ...]] = {}
    """What it does in each step."""
    lifecycle: int = 2
    """The lifecycle that it says it speaks."""
    features: tuple[str, ...] = ()
    """The host features that it says it requires."""


class Waited(msgspec.Struct, forbid_unknown_fields=True):
    """What to hang under, or to wait for."""

    key: str = ""
    count: int = 1


class Crash(msgspec.Struct, forbid_unknown_fields=True):
    """How to end."""

    how: Literal["exit", "abort", "kill"] = "exit"
    status: int = 1


class Failing(msgspec.Struct, forbid_unknown_fields=True):
    """An error to fail with."""

    code: str
    message: str = "as asked"
    domain: str | None = None
    details: dict[str, str] = {}


class Report(msgspec.Struct, forbid_unknown_fields=True):
    """What to tell the router."""

    stray_lines: int = 0
    last_stray_line: str = ""
    code: str = ""
    """The code of a failure; empty: there is none."""
    message: str = ""


class Forked(msgspec.Struct, forbid_unknown_fields=True):
    """How the child stands."""

    session: bool = False
    """In a session, and so in a process group, of its own."""


class Job(msgspec.Struct, forbid_unknown_fields=True):
    """Work that outlives the call in which it begins."""

    key: str
    """Of its lease."""
    calls: tuple[NestedCall, ...]
    """Made one after the other, outside of any execution; then the lease is released."""
