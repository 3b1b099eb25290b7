"""Held: requests that the relay has whole: nothing of them may be sent before, or all of them once more.

Everything else knows of a call that may be continued, and nobody else of what it carries.
"""

from __future__ import annotations

from dataclasses import dataclass

from router.admission.admission import Admitted
from router.admission.execution import Execution
from router.relay.request import Request


@dataclass(frozen=True, slots=True)
class Sent:
    """What was sent to a provider, its context aside."""

    request: Request
    body: bytes
    """Its message with its prefix."""


class Held:
    """What was sent in each live execution that may be continued and was not."""

    def __init__(self) -> None:
        self._sent: dict[Execution, Sent] = {}

    def keep(self, execution: Execution, sent: Sent) -> None:
        """Keeps it until it is taken or the execution ends."""
        self._sent[execution] = sent

    def take(self, execution: Execution) -> Sent | None:
        """Gives it away, for it is sent once more only once; None where it was not kept."""
        return self._sent.pop(execution, None)

    def drop(self, execution: Execution) -> None:
        """The execution has ended."""
        self._sent.pop(execution, None)


def must_be_whole(admitted: Admitted) -> bool:
    """Whether the request of a call is dispatched as a whole or not at all."""
    return admitted.method.journaled or admitted.execution.continuation is not None
