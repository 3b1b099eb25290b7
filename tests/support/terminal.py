"""A terminal with a command in it, as a person would sit before it."""

from __future__ import annotations

import fcntl
import os
import re
import select
import struct
import subprocess
import termios
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

from tests.support.process import PATIENCE

_CONTROLS = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|\x1b\][^\x07]*\x07|\r")


class Terminal:
    """A pseudo-terminal of 120 columns and 40 lines, and the process that it belongs to."""

    def __init__(self, command: Sequence[str], *, env: Mapping[str, str], cwd: Path) -> None:
        self._ours, theirs = os.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 120, 0, 0))
        self.process = subprocess.Popen(
            command,
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            env={**env, "TERM": "xterm-256color"},
            cwd=cwd,
            start_new_session=True,
        )
        os.close(theirs)
        self.raw = ""
        """Everything that was written so far, controls and colours included."""

    @property
    def text(self) -> str:
        """Everything that was written so far, without controls."""
        return _CONTROLS.sub("", self.raw)

    def press(self, keys: str) -> None:
        """Types something; `\\x03` is Ctrl-C, for a process that has made the terminal its own."""
        os.write(self._ours, keys.encode())

    def until(self, text: str) -> str:
        """Reads until `text` was written; AssertionError where that never comes."""
        return self._read(lambda: text in self.text, text)

    def end(self) -> str:
        """Reads until the process ended and everything is read."""
        return self._read(lambda: False, "the end")

    def _read(self, enough: Callable[[], bool], awaited: str) -> str:
        deadline = time.monotonic() + PATIENCE
        while not enough():
            ready, _, _ = select.select([self._ours], [], [], deadline - time.monotonic())
            assert ready, f"{awaited!r} never came; there was {self.text!r}"
            try:
                received = os.read(self._ours, 65536)
            except OSError:
                received = b""  # Nobody has the other end any more.
            if not received:
                break
            self.raw += received.decode("utf-8", "replace")
        return self.text

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        os.close(self._ours)
