"""What a keeper does, whatever it speaks: it keeps words in a file, with a receipt for each that it took.

`NAME FILE RECORD`: who it is, where the words are, and a file to which it tells what it does beside.
"""

from __future__ import annotations

import json
import threading
from pathlib import Path
from typing import Any

TICK = 0.01
"""Seconds between two beats of its timer."""


class Keeper:
    """One start of it."""

    def __init__(self, name: str, words: str, record: str) -> None:
        self.name = name
        self.file = Path(words)
        self.record = Path(record)
        self.calls = 0
        self._released = threading.Event()
        self._timer = threading.Thread(target=self._tick, daemon=True)

    def tell(self, what: str) -> None:
        """Notes what happened."""
        with self.record.open("a") as record:
            record.write(f"{self.name} {what}\n")

    def prepare(self) -> None:
        """Reads the words; ValueError where they are none."""
        self._kept()

    def activate(self) -> None:
        """Starts its timer."""
        self._timer.start()

    def release(self) -> None:
        """Stops its timer, for good."""
        self._released.set()
        if self._timer.is_alive():
            self._timer.join()
        self.tell("released")

    def answer(self, method: str, params: dict[str, Any], caller: str) -> Any:
        """One call."""
        self.calls += 1
        if method == "who":
            return {"keeper": self.name, "caller": caller, "calls": self.calls}
        kept = self._kept()
        if method == "put" and params["id"] not in kept["receipts"]:
            kept["words"].append(params["word"])
            kept["receipts"][params["id"]] = len(kept["words"])
            self.file.write_text(json.dumps(kept))
        if method == "put":
            return {"keeper": self.name, "revision": kept["receipts"][params["id"]]}
        return {"keeper": self.name, "words": kept["words"]}

    def _kept(self) -> dict[str, Any]:
        if not self.file.exists():
            return {"words": [], "receipts": {}}
        kept: dict[str, Any] = json.loads(self.file.read_text())
        return kept

    def _tick(self) -> None:
        while not self._released.wait(TICK):
            self.tell("tick")


METHODS = {
    name: {"input_schema": "keeper.any", "output_schema": "keeper.any"}
    for name in ("who", "put", "read", "wait")
}
