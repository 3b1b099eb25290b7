"""Executions: the scope of each admitted call, as a tree down which cancellation and deadlines run."""

from __future__ import annotations

import asyncio
import secrets
import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from contract.context import Phase
from contract.errors import MeshError

if TYPE_CHECKING:
    from router.admission.continuation import Continuation
    from router.generations.generation import Generation
    from router.instances.instance import Instance


class Execution:
    """One admitted call. `caller` made it; `owner`, the called instance, alone may use its id."""

    __slots__ = (
        "caller",
        "cancelled",
        "cancels",
        "children",
        "continuation",
        "counted",
        "deadline",
        "generation",
        "holds",
        "hops",
        "id",
        "method",
        "owner",
        "parent",
        "phase",
        "progress",
        "progressed",
        "service",
        "started",
        "timer",
    )

    def __init__(
        self,
        *,
        id: str,  # noqa: A002
        parent: Execution | None,
        caller: str,
        owner: Instance,
        generation: Generation,
        phase: Phase,
        service: str,
        method: str,
        hops: int,
        deadline: float | None,
        counted: bool,
        holds: bool,
        continuation: Continuation | None = None,
    ) -> None:
        self.id = id
        self.parent = parent
        self.caller = caller
        self.owner = owner
        self.generation = generation
        self.phase = phase
        self.service = service
        self.method = method
        self.hops = hops
        self.deadline = deadline
        """In the clock of `time.time()`, seconds; None where nothing bounds it."""
        self.counted = counted
        """It counts against the owner's `max_in_flight`."""
        self.holds = holds
        """It keeps its generation alive; what begins outside of any execution of a module does not."""
        self.continuation = continuation
        """The right of its owner to go on with it; None where there is none."""
        self.progress: bytes = b""
        """What its owner reported last, as JSON; empty where it did not."""
        self.progressed = 0.0
        """When, in the clock of `time.time()`, seconds."""
        self.children: set[Execution] | None = None
        self.started = time.time()
        self.cancels: Callable[[MeshError], None] | None = None
        """Ends both of its hops; None before and after what moves its bytes."""
        self.timer: asyncio.TimerHandle | None = None
        self.cancelled: MeshError | None = None
        """Why it was cancelled; None while it is live."""

    def cancel(self, reason: MeshError) -> int:
        """Cancels this execution and all below it, without waiting for anybody. The first reason stands.

        Returns how many were live until now.
        """
        if self.cancelled is not None:
            return 0
        self.cancelled = reason
        # Those below first: what ends here would end them, too, and for another reason.
        below = sum(child.cancel(reason) for child in tuple(self.children or ()))
        if self.cancels is not None:
            self.cancels(reason)
        return 1 + below

    def late(self) -> MeshError:
        """Its deadline has passed."""
        return MeshError(
            "deadline_exceeded",
            f"{self.owner.module} did not answer {self.service} {self.method} in time",
            outcome="unknown",
        )

    @property
    def is_late(self) -> bool:
        """Whether its deadline has passed."""
        return self.deadline is not None and self.deadline <= time.time()

    def descends_from(self, instance: Instance) -> bool:
        """Whether an execution above this one is inside the instance."""
        above = self.parent
        while above is not None:
            if above.owner is instance:
                return True
            above = above.parent
        return False


class Executions:
    """The live executions of the mesh."""

    def __init__(self) -> None:
        self._live: dict[str, Execution] = {}
        # Random per router, so that ids are unique per home for ever.
        self._prefix = secrets.token_hex(6)
        self._count = 0

    def __len__(self) -> int:
        return len(self._live)

    def __iter__(self) -> Iterator[Execution]:
        return iter(tuple(self._live.values()))

    def next_id(self) -> str:
        """A new id."""
        self._count += 1
        return f"{self._prefix}-{self._count:x}"

    def get(self, id: str) -> Execution | None:  # noqa: A002
        """The live execution of that id."""
        return self._live.get(id)

    def begin(self, execution: Execution) -> None:
        """Makes an admitted call live, and arms its deadline."""
        self._live[execution.id] = execution
        parent = execution.parent
        if parent is not None:
            if parent.children is None:
                parent.children = set()
            parent.children.add(execution)
        if execution.holds:
            execution.generation.hold()
        owner = execution.owner
        owner.executions.add(execution)
        owner.outside += execution.counted
        if execution.deadline is not None:
            execution.timer = asyncio.get_running_loop().call_later(
                max(execution.deadline - time.time(), 0.0), execution.cancel, execution.late()
            )

    def end(self, execution: Execution) -> None:
        """Closes the scope: what still runs below it is cancelled, and its id is dead."""
        del self._live[execution.id]
        if execution.timer is not None:
            execution.timer.cancel()
        if execution.parent is not None and execution.parent.children is not None:
            execution.parent.children.discard(execution)
        execution.owner.executions.discard(execution)
        execution.owner.outside -= execution.counted
        for child in tuple(execution.children or ()):
            child.cancel(
                MeshError("execution_cancelled", f"execution {execution.id} ended before what it called")
            )
        execution.cancels = None
        if execution.holds:
            execution.generation.let_go()
