"""The logs of instances: one file per start, the newest few of a module kept."""

from __future__ import annotations

import os
import time
from collections.abc import Collection
from pathlib import Path

KEPT = 5
"""How many logs of one module are kept."""

TAIL_BYTES = 600
"""How much of the end of a log is quoted in an error."""

_INFO = '{"level": "INFO"'

SEARCHED_BYTES = 8192
"""How far back the quotation may reach for lines that are not part of a stack trace."""


def log_of(directory: Path, module: str, incarnation: str) -> Path:
    """The path of the log of one start, made now. By name they stand in the order of the starts."""
    return directory / module / f"{time.time_ns() // 1_000_000:013d}-{incarnation}.log"


def begin(log: Path, living: Collection[Path] = ()) -> None:
    """Makes an empty log; of its module all but the newest and those of `living` are removed.

    Raises OSError.
    """
    log.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    for old in sorted(log.parent.glob("*.log"), key=_age)[: -KEPT + 1]:
        if old not in living:
            old.unlink()
    log.touch(mode=0o600)


def latest_log(directory: Path, module: str) -> Path | None:
    """The log of the newest instance of a module; None where it never ran."""
    own = directory / module
    return max(own.glob("*.log"), key=_age, default=None) if own.is_dir() else None


def _age(log: Path) -> tuple[bool, str]:
    # Earlier versions named a log after its incarnation alone; those are the oldest.
    return "-" in log.stem, log.stem


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
