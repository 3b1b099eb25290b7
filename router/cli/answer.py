"""Answer: JSON on standard output."""

from __future__ import annotations

import sys
from typing import Any

import msgspec


def emit(value: Any) -> None:
    """A value, laid out."""
    _write(msgspec.json.format(msgspec.json.encode(value), indent=2))


def emit_line(value: Any) -> None:
    """A value on a line of its own, as one of many."""
    _write(msgspec.json.format(msgspec.json.encode(value), indent=-1))


def emit_json(text: bytes) -> None:
    """JSON text: laid out for a terminal, byte for byte for anything else."""
    _write(msgspec.json.format(text, indent=2) if sys.stdout.isatty() else text)


def _write(text: bytes) -> None:
    sys.stdout.buffer.write(text + b"\n")
    sys.stdout.buffer.flush()
