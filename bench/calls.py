"""What became of the calls that were made while the mesh swapped. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class Served:
    """Who answered one request."""

    provider: str
    generation: int


@dataclass(frozen=True, slots=True)
class Call:
    """One call of the operator, which makes one request or several within one execution."""

    requests: tuple[int, ...]
    """Their ids; no two requests have the same."""
    begun_ns: int
    ended_ns: int
    """Both in the clock of `time.perf_counter_ns()`."""
    newest: int
    """The newest generation of whose publication the operator knew as the call began."""
    end: Literal["answered", "failed", "lost"]
    generation: int = 0
    """Of its execution, where it was answered."""
    served: tuple[Served, ...] = ()
    """Who answered, by request."""

    @property
    def latency_ns(self) -> int:
        """From its begin to its end."""
        return self.ended_ns - self.begun_ns


@dataclass(frozen=True, slots=True)
class Window:
    """A span of time, in the clock of `time.perf_counter_ns()`."""

    begun_ns: int
    ended_ns: int

    def has(self, call: Call) -> bool:
        """Whether the call began in it."""
        return self.begun_ns <= call.begun_ns < self.ended_ns


@dataclass(frozen=True, slots=True)
class Counted:
    """What is wrong with calls; of right ones every figure is 0."""

    failed: int = 0
    """They were answered with an error."""
    lost: int = 0
    """They had no answer, or one although no provider served them."""
    duplicated: int = 0
    """Requests that were served more than once."""
    strayed: int = 0
    """They were answered by another provider than their generation selects, in part by another generation, or
    by one older than the operator knew."""

    def __add__(self, other: Counted) -> Counted:
        return Counted(
            self.failed + other.failed,
            self.lost + other.lost,
            self.duplicated + other.duplicated,
            self.strayed + other.strayed,
        )


def count(calls: Sequence[Call], served: Iterable[int], selected: Mapping[int, str]) -> Counted:
    """`served` are the requests that the providers served, `selected` the provider by generation."""
    times = Counter(served)
    answered = [call for call in calls if call.end == "answered"]
    unserved = sum(not all(times[request] for request in call.requests) for call in answered)
    return Counted(
        failed=sum(call.end == "failed" for call in calls),
        lost=sum(call.end == "lost" for call in calls) + unserved,
        duplicated=sum(each > 1 for each in times.values()),
        strayed=sum(_strayed(call, selected) for call in answered),
    )


def _strayed(call: Call, selected: Mapping[int, str]) -> bool:
    right = Served(selected.get(call.generation, ""), call.generation)
    return call.generation < call.newest or any(each != right for each in call.served)
