"""Nearest: the name that someone may have meant."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches


def nearest(name: str, names: Iterable[str]) -> str:
    """`; did you mean '…'?` with the one of `names` that is closest to `name`; empty where none is close."""
    matches = get_close_matches(name, list(names), n=1)
    return f"; did you mean '{matches[0]}'?" if matches else ""
