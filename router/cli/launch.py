"""Launch: the router as a child of `up`, from its start to the word of its end."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any, NoReturn

import msgspec
import typer

from router.cli.composition.named import reject, workspace
from router.cli.exits import EXIT_ERROR, EXIT_INTERRUPTED, fail
from router.home import Home, Running

_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Launch:
    """One router that this command starts.

    Ctrl-C (and SIGTERM, and SIGHUP) stops it, a second one kills it; what it ran ends with it.
    """

    def __init__(self, home: Home, composition: Path | None, *, attached: bool) -> None:
        """Starts it. An attached one stops when this command is gone."""
        self._home = home
        self._attached = attached
        self._router: subprocess.Popen[bytes] | None = None
        self.interrupts = 0
        self._watch_signals()
        command = [sys.executable, "-P", "-m", "router", str(home.root)]
        if composition is not None:
            command.append(str(composition))
        if (here := workspace()) is not None:
            command += ["--workspace", str(here)]
        if attached:
            command.append("--attached")
        self._router = subprocess.Popen(
            command,
            stdin=subprocess.PIPE if attached else subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            start_new_session=True,
        )
        if self.interrupts:
            self._pass_on()

    def announced(self) -> Running:
        """Waits until the router can be asked. A router that does not run ends the command."""
        message = self._said()
        if "control" not in message:
            self.finish(message)
        return msgspec.convert(message, Running)

    def finish(self, refusal: dict[str, Any] | None = None) -> NoReturn:
        """Ends the command as the router ended: with why it refused to run, or how it died."""
        refusal = refusal or self._said()
        status = self._process.wait()
        if refusal:
            if refusal["code"] == "invalid_request":
                reject(refusal["message"].splitlines())
            fail(refusal["exit"], f"{refusal['code']}: {refusal['message']}", refusal["remedy"])
        if self.interrupts > 1:
            fail(EXIT_INTERRUPTED, "the mesh was ended at once; its modules had no time to clean up")
        # Before it listens to signals, the first one ends it.
        if status == 0 or (self.interrupts and status == -signal.SIGTERM):
            if not self._attached:
                fail(
                    EXIT_INTERRUPTED if self.interrupts else EXIT_ERROR,
                    "the mesh was stopped before it was up",
                )
            typer.echo("mesh is down", err=True)
            raise typer.Exit
        ended = (
            f"was killed by {signal.Signals(-status).name}" if status < 0 else f"exited with status {status}"
        )
        fail(EXIT_ERROR, f"the router {ended}", f"Its log, wuu.router, is in {self._home.logs}.")

    @property
    def _process(self) -> subprocess.Popen[bytes]:
        assert self._router is not None
        return self._router

    def _said(self) -> dict[str, Any]:
        """The next line of what the router tells its parent; empty where it ended without one."""
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        return msgspec.json.decode(line, type=dict[str, Any]) if line else {}

    def _watch_signals(self) -> None:
        """A call that waits lets handlers run a few times a second; a thread hears of each signal at once."""
        heard, said = os.pipe()
        os.set_blocking(said, False)
        signal.set_wakeup_fd(said)
        for number in _SIGNALS:
            # What `nohup` or a script made us ignore stays ignored.
            if signal.getsignal(number) is not signal.SIG_IGN:
                signal.signal(number, lambda *_: None)
        threading.Thread(target=self._hear, args=(heard,), daemon=True).start()

    def _hear(self, heard: int) -> None:
        while os.read(heard, 1):
            self.interrupts += 1
            self._pass_on()

    def _pass_on(self) -> None:
        if self._router is not None:
            self._router.send_signal(signal.SIGKILL if self.interrupts > 1 else signal.SIGTERM)
