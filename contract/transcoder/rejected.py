"""Rejected: JSON or a message that the contract does not know."""

from __future__ import annotations


class Rejected(ValueError):
    """JSON or a message that the contract does not know, and where."""

    def __init__(self, pointer: str, rule: str) -> None:
        super().__init__(f"{pointer or '/'}: {rule}")
        self.pointer = pointer
        self.rule = rule
