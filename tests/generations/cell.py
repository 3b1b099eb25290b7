"""A cell of the table of faults: what a provider does wrong, at which step, and what is to come of it."""

from __future__ import annotations

from dataclasses import dataclass

from tests.generations.faulty import STATUS


@dataclass(frozen=True)
class Cell:
    """A row of the table, for one fault."""

    step: str
    fault: str
    outcome: str
    code: str
    old: str
    new: str
    journal: str
    provider_ended: str
    consumer_ended: str
    before: str
    during: str
    after: str

    @property
    def provider(self) -> str:
        """The module. Failures that are counted, or that nothing recovers, are of one with its own name."""
        if self.step != "service.changed":
            return "provider"
        return f"provider-{self.fault}" if self.deaf else "provider-changed"

    @property
    def crashes(self) -> bool:
        """Its process ends."""
        return self.fault in CRASHES

    @property
    def deaf(self) -> bool:
        """It does not answer in time."""
        return self.fault in ("hang", "late")


CRASHES = {
    "exit": f"exited with status {STATUS}",
    "abort": "was killed by SIGABRT",
    "kill": "was killed by SIGKILL",
}
"""How a crash is told."""
