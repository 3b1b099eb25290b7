"""Revisions: decimal strings without leading zeros and without bound.

They are compared and raised as strings, because no integer type and no conversion limit may bound them.
"""

from __future__ import annotations

import re

EMPTY = "0"
"""The revision of a store that nothing was ever committed to."""

_CANONICAL = re.compile(r"0|[1-9][0-9]*")


def is_revision(text: str) -> bool:
    """Whether the text is a revision in its only spelling."""
    return _CANONICAL.fullmatch(text) is not None


def following(revision: str) -> str:
    """The revision that the next commit makes."""
    kept = revision.rstrip("9")
    nines = len(revision) - len(kept)
    raised = f"{kept[:-1]}{int(kept[-1]) + 1}" if kept else "1"
    return raised + "0" * nines


def order(revision: str) -> tuple[int, str]:
    """What sorts revisions by their number."""
    return len(revision), revision


def is_before(one: str, other: str) -> bool:
    """Whether a revision comes before another."""
    return order(one) < order(other)
