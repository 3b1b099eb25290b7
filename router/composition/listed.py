"""Listed: names in a sentence."""

from __future__ import annotations

from collections.abc import Sequence


def listed(names: Sequence[str], limit: int = 5) -> str:
    """`a, b and c`; what is past the limit is only counted."""
    shown = [*names[:limit], *([f"{len(names) - limit} more"] if len(names) > limit else [])]
    return " and ".join(filter(None, (", ".join(shown[:-1]), shown[-1])))
