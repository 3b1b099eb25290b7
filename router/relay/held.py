"""Held: the requests that the relay still has, since they may be sent once more.

Everything else knows of a call that may be continued, and nobody else of what it carries; a relay that never
sees whole messages holds its frames here instead.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from router.admission.execution import Execution


@dataclass(frozen=True, slots=True)
class Sent:
    """What was sent to a provider, its context aside."""

    path: str
    request: bytes
    metadata: Sequence[tuple[str, str | bytes]]


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
