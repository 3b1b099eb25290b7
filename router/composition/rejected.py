"""Rejected: a document that cannot become a graph, with everything that is wrong with it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing that is wrong with a document."""

    where: str
    """`NAME:LINE:COL`, `NAME:LINE`, `NAME: /POINTER`, or `profile PROFILE` for what the product adds."""
    message: str
    """What is wrong, and what to write instead."""

    def __str__(self) -> str:
        return f"{self.where}: {self.message}"


class Rejected(Exception):
    """The document has problems; all of them are listed at once."""

    def __init__(self, problems: tuple[Problem, ...]) -> None:
        super().__init__("\n".join(map(str, problems)))
        self.problems = problems
