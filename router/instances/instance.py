"""One start of one module: its token, its key, its socket, its incarnation."""

from __future__ import annotations

import asyncio
import secrets
import time
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import grpc

from contract.context import Phase
from contract.errors import MeshError
from contract.handshake import Handshake
from contract.transport import CHANNEL_OPTIONS
from router.instances.children import Child
from router.instances.log import tail
from router.packages.package import Package
from router.relay.http2.outbound import Channel
from wuu.mesh.v1.declaration_pb2 import Declaration

if TYPE_CHECKING:
    from router.admission.execution import Execution
    from router.generations.generation import Generation

REPORT_WAIT = 0.5
"""Seconds that the end of a plugin waits for the word of the bridge."""

State = Literal["starting", "active", "blocked", "failed", "stopping", "stopped"]

OBITUARY_WAIT = 1.0
"""Seconds that a failed call waits for the exit of the process that failed it."""


@dataclass(slots=True, eq=False)
class Instance:
    """A module that runs, or ran. Identity is the object: no two starts are the same."""

    package: Package
    socket: Path
    log: Path
    incarnation: str
    """16 hex digits; the first 8 name its socket."""
    timeout: float
    """Seconds that bound its start and each step of its lifecycle."""
    token: str = field(default_factory=lambda: secrets.token_urlsafe(32))
    """What it names itself by to the router."""
    key: bytes = field(default_factory=lambda: secrets.token_bytes(32))
    """What signs the contexts that it accepts."""
    state: State = "starting"
    """See `ModuleStatus.state`."""
    phase: Phase = Phase.PHASE_PREPARATION
    declaration: Declaration | None = None
    """Known after initialize."""
    required: frozenset[str] = frozenset()
    """What it may call, as `name@major`."""
    features: frozenset[str] = frozenset()
    """The host features that it requires."""
    generation: Generation | None = None
    """The newest generation that has it: where its calls outside any execution go."""
    child: Child | None = None
    """Its process; None before the spawn, and where the spawn failed."""
    failure: MeshError | None = None
    """Why it cannot be called; None while it can."""
    executions: set[Execution] = field(default_factory=set)
    """The live executions that it owns."""
    leases: dict[str, Generation] = field(default_factory=dict)
    """The generations that it keeps alive, by the key of the lease."""
    bound: dict[tuple[str, int], Instance] = field(default_factory=dict)
    """The instances that it was bound to as it was prepared, by service and major."""
    after: tuple[Instance, ...] = ()
    """The instances that it was started after for the sake of its package; they end after it, if they can."""
    dependants: set[Instance] = field(default_factory=set)
    """The instances that were bound to it and have not ended. They end first."""
    ending: bool = False
    """Its stop has begun; it is shut down once."""
    ended: asyncio.Event = field(default_factory=asyncio.Event)
    """Set once it is stopped and everything of it is gone."""
    revoked: MeshError | None = None
    """Why nothing but cleanup may be called of it or by it any more; None while it may."""
    withdrawn: MeshError | None = None
    """Why what it contributes is not offered any more; None while it is."""
    outside: int = 0
    """How many of its executions count against `max_in_flight`: descendants of its own do not."""
    stray_lines: int = 0
    """See `ModuleStatus.stray_lines`, and so the next two."""
    last_stray_line: str = ""
    reported: asyncio.Event = field(default_factory=asyncio.Event)
    """Set once it, or the bridge for it, has reported that it cannot go on."""
    active_since: float | None = None
    """When its activation ended, in the clock of `time.monotonic()`, seconds; None where it never did."""
    start_ms: int = 0
    started_at: float = field(default_factory=time.monotonic)
    """In the clock of `time.monotonic()`, seconds."""
    module: str = field(init=False)
    """The id of its module."""
    id: str = field(init=False)
    """The audience of its contexts."""
    max_in_flight: int = field(init=False)
    """How many calls it serves at once; see `Runtime`."""
    channel: grpc.aio.Channel = field(init=False)
    """For what the router itself calls of it."""
    calls: Channel = field(init=False)
    """For what the relay brings to it."""

    def __post_init__(self) -> None:
        self.module = self.package.manifest.id
        self.id = f"{self.module}@{self.incarnation}"
        self.max_in_flight = self.package.runtime.max_in_flight
        self.channel = grpc.aio.insecure_channel(f"unix:{self.socket}", options=CHANNEL_OPTIONS)
        self.calls = Channel(self.socket)

    @property
    def is_plugin(self) -> bool:
        """It speaks JSON lines, and the bridge speaks for it."""
        return self.package.runtime.protocol == "wuu-plugin-v1"

    def handshake(self, router: str) -> Handshake:
        """What it is told on its first line."""
        return Handshake(
            module=self.module,
            instance=self.id,
            listen=str(self.socket),
            router=router,
            token=self.token,
            key=self.key.hex(),
        )

    def declare(self, declaration: Declaration, features: Iterable[str]) -> None:
        """Keeps what initialize answered."""
        self.features = frozenset(features)
        self.declaration = declaration
        self.required = frozenset(f"{r.name}@{r.major}" for r in declaration.required_services)

    def declared(self, service: str) -> int:
        """The major in which it requires a service that was named without one.

        Raises `invalid_request` when it requires several; 1 when it requires none, for admission to refuse.
        """
        majors = [int(key.rpartition("@")[2]) for key in self.required if key.startswith(f"{service}@")]
        if len(majors) > 1:
            names = ", ".join(f"{service}@{major}" for major in sorted(majors))
            raise MeshError(
                "invalid_request",
                f"{self.module} declares {names}; name the major version",
                outcome="not_dispatched",
            )
        return majors[0] if majors else 1

    def reach(self, state: State) -> None:
        """Enters a state."""
        self.state = state
        if state == "active":
            self.active_since = time.monotonic()
        self.start_ms = round((time.monotonic() - self.started_at) * 1000)

    def fail(self, error: MeshError) -> None:
        """It cannot be called any more, and why. The first reason stands."""
        if self.failure is None:
            self.failure = error
            self.reach("failed")

    def bind(self, providers: dict[tuple[str, int], Instance]) -> None:
        """Keeps what it is bound to from its preparation on."""
        self.bound = providers
        for provider in providers.values():
            provider.dependants.add(self)

    def last_words(self) -> str:
        """The end of its log, for a message; empty where it said nothing."""
        said = tail(self.log)
        return f"; it last said: {said}" if said else ""

    async def last_report(self) -> None:
        """Waits for the word of the bridge on a plugin that exited; its pipe may be read a little later."""
        if self.is_plugin:
            with suppress(TimeoutError):
                async with asyncio.timeout(REPORT_WAIT):
                    await self.reported.wait()

    async def obituary(self, transport: str, *, dispatched: bool = True) -> MeshError:
        """Why a call got no answer: how the process ended and what it said last.

        `transport` is what the connection says; it stands for a process that lives on. `dispatched` False:
        the process never took up the call.
        """
        if self.child is not None and not self.child.exited.done():
            await asyncio.wait([self.child.exited], timeout=OBITUARY_WAIT)
        await self.last_report()
        if self.child is not None and self.child.exited.done():
            ended = f"{self.module} {self.child.exited.result()}{self.last_words()}"
        elif self.failure is not None:
            ended = self.failure.message
        else:
            ended = f"{self.module} cannot be reached: {transport}"
        return MeshError(
            "service_unavailable",
            ended,
            outcome="unknown" if dispatched else "not_dispatched",
            remedy=f"See `wuu-mesh logs {self.module}`.",
        )
