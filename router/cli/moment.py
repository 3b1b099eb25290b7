"""Moment: when something was, in milliseconds since the Unix epoch, as people and programs read it."""

from __future__ import annotations

from datetime import datetime

NEVER = "–"


def clock(unix_ms: int) -> str:
    """The local time of day, to the millisecond."""
    return f"{_local(unix_ms):%H:%M:%S}.{unix_ms % 1000:03}"


def date(unix_ms: int) -> str:
    """The local date and time; of what never was, a dash."""
    return f"{_local(unix_ms):%Y-%m-%d %H:%M:%S}" if unix_ms else NEVER


def age(unix_ms: int, now_ms: int) -> str:
    """How long ago, in the unit that it fills."""
    seconds = max(now_ms - unix_ms, 0) / 1000
    if seconds < 60:
        return f"{seconds:.1f} s"
    minutes = int(seconds) // 60
    if minutes < 60:
        return f"{minutes} min {int(seconds) % 60:02} s"
    return f"{minutes // 60} h {minutes % 60:02} min"


def _local(unix_ms: int) -> datetime:
    return datetime.fromtimestamp(unix_ms // 1000).astimezone()
