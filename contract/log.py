"""Logs: one JSON object per line on standard error, in every process of the mesh."""

from __future__ import annotations

import logging
import sys
from contextvars import ContextVar

from pythonjsonlogger.json import JsonFormatter

speaker: ContextVar[str] = ContextVar("speaker", default="")
"""The module in whose name the present task logs; empty where the process says it all."""


def log_to_stderr(module: str = "") -> None:
    """Sends everything from INFO up to standard error: `timestamp`, `level`, `event`, `module` and extras."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(
        JsonFormatter(
            "%(levelname)s %(message)s",
            rename_fields={"levelname": "level", "message": "event", "speaker": "module"},
            rename_fields_keep_missing=False,
            timestamp=True,
            json_ensure_ascii=False,
        )
    )

    def name_speaker(record: logging.LogRecord) -> bool:
        if spoken := speaker.get() or module:
            record.speaker = spoken
        return True

    handler.addFilter(name_speaker)
    logging.basicConfig(level=logging.INFO, handlers=[handler], force=True)
