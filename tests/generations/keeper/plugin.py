"""The keeper as a plugin: JSON lines, on the standard library alone."""

from __future__ import annotations

import json
import sys
from typing import Any

from tests.generations.keeper.store import METHODS, Keeper


def main() -> None:
    """Answers lines until there are no more."""
    keeper = Keeper(*sys.argv[1:])
    service = {"name": "keeper.words", "version": "1.0.0", "methods": METHODS}
    declared = {"protocol_version": 3, "lifecycle_version": 2, "provided_services": [service]}
    for line in sys.stdin:
        frame = json.loads(line)
        asked = frame.get("params", {})
        if frame["method"] == "execution.cancel":
            keeper.tell("cancelled")
            continue
        if asked.get("method") == "wait":
            keeper.tell("waits")
            continue
        answer: dict[str, Any] = {"result": declared if frame["method"] == "initialize" else None}
        try:
            match frame["method"]:
                case "prepare":
                    keeper.prepare()
                case "activate":
                    keeper.activate()
                case "shutdown":
                    keeper.release()
                case "service.invoke":
                    given = asked.get("params") or {}
                    answer = {"result": keeper.answer(asked["method"], given, asked["caller"])}
        except ValueError as unreadable:
            answer = {"error": {"code": "host_error", "message": f"the words cannot be read: {unreadable}"}}
        sys.stdout.write(json.dumps({"id": frame["id"], **answer}) + "\n")
        sys.stdout.flush()


main()
