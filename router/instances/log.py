"""The logs of instances: one file per start, the newest few of a module kept."""

from __future__ import annotations

import os
from pathlib import Path

KEPT = 5
"""How many logs of one module are kept."""

TAIL_BYTES = 600
"""How much of the end of a log is quoted in an error."""

_INFO = '{"level": "INFO"'

SEARCHED_BYTES = 8192
"""How far back the quotation may reach for lines that are not part of a stack trace."""


def log_of(directory: Path, module: str, incarnation: str) -> Path:
    """The path of the log of one start."""
    return directory / module / f"{incarnation}.log"


def begin(log: Path) -> None:
    """Makes an empty log; all but the newest of its module are removed. Raises OSError."""
    log.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    logs = sorted(log.parent.glob("*.log"), key=lambda log: log.stat().st_mtime)
    for old in logs[: -KEPT + 1]:
        old.unlink()
    log.touch(mode=0o600)


def latest_log(directory: Path, module: str) -> Path | None:
    """The log of the newest instance of a module; None where it never ran."""
    own = directory / module
    if not own.is_dir():
        return None
    return max(own.glob("*.log"), key=lambda log: log.stat().st_mtime_ns, default=None)


def tail(log: Path) -> str:
    """The last lines of a log in one line of text.

    Indented lines are left out: in a stack trace they are the frames, and what went wrong is not among them.
    So are our own lines at INFO, which are no last words.
    """
    try:
        with log.open("rb") as opened:
            opened.seek(max(opened.seek(0, os.SEEK_END) - SEARCHED_BYTES, 0))
            last = opened.read()
    except OSError:
        return ""  # What cannot be read is not quoted.
    lines = [
        line
        for line in last.decode("utf-8", "replace").splitlines()
        if line[:1].strip() and not line.startswith(_INFO)
    ]
    said = " | ".join(lines[-8:])
    return said if len(said) <= TAIL_BYTES else "…" + said[-TAIL_BYTES:]
