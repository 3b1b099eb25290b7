"""A plugin that does what each request tells it, on the standard library alone.

`probe.py RESULT OPTIONS`: RESULT is the JSON that it answers to `initialize`, as text. OPTIONS is JSON:
`first` (text to write before anything is read), `silent` (methods to leave unanswered), `exit` (methods on
which to exit with status 0), `errors` (by method, the error to answer), `say` (by method, the text to write).

A request of a service, tool or capability carries `{"do": …}` as its params, arguments or input. In a text
that is to be written, `$ID` stands for the id of the request.
"""

from __future__ import annotations

import json
import os
import sys
import threading
from dataclasses import dataclass, field
from typing import Any


@dataclass
class Asked:
    """A request to do something."""

    id: str
    params: dict[str, Any]
    line: bytes
    """The line as it arrived."""

    @property
    def order(self) -> dict[str, Any]:
        """What to do."""
        order: dict[str, Any] = (
            self.params.get("params") or self.params.get("arguments") or self.params.get("input") or {}
        )
        return order

    def told(self, text: str) -> str:
        """A text with the id of the request."""
        return text.replace("$ID", self.id)


@dataclass
class Wave:
    """Questions to the host that are answered together."""

    of: str
    """The request that is answered once all are."""
    left: int
    answers: dict[str, Any] = field(default_factory=dict)


class Probe:
    """One run of the plugin."""

    def __init__(self, result: str, options: dict[str, Any]) -> None:
        self.result = result
        self.options = options
        self.seen: list[list[Any]] = []
        self.held: dict[str, list[str]] = {}
        self.asked: dict[str, Wave] = {}
        self.last = 0

    def run(self) -> None:
        """Reads to the end of the input."""
        self.write(self.options.get("first", ""))
        for line in sys.stdin.buffer:
            frame = json.loads(line)
            if "method" in frame:
                self.serve(frame["method"], Asked(frame["id"], frame.get("params") or {}, line))
            else:
                self.answered(frame)

    def write(self, text: str) -> None:
        """Writes text as it is."""
        sys.stdout.buffer.write(text.encode())
        sys.stdout.buffer.flush()

    def answer(self, asked: str, result: object) -> None:
        """Answers a request."""
        self.write(json.dumps({"id": asked, "result": result}) + "\n")

    def serve(self, method: str, asked: Asked) -> None:
        """Does what the request says."""
        seen = [method, asked.id, asked.params.get("execution_id")]
        self.seen.append(seen)
        if method in self.options.get("silent", ()):
            return
        if method in self.options.get("exit", ()):
            os._exit(0)
        if method in self.options.get("errors", {}):
            self.write(json.dumps({"id": asked.id, "error": self.options["errors"][method]}) + "\n")
        elif method in self.options.get("say", {}):
            self.write(asked.told(self.options["say"][method]))
        elif method == "initialize":
            seen.append(asked.params)
            self.write(f'{{"id":"{asked.id}","result":{self.result}}}\n')
        elif method == "service.changed":
            seen.append(asked.params)
            self.answer(asked.id, None)
        elif method in ("prepare", "activate", "shutdown"):
            self.answer(asked.id, None)
        elif method == "execution.cancel":
            for late in self.held.pop(asked.params["execution_id"], ()):
                self.answer(late, "late")
        else:
            getattr(self, "do_" + asked.order.get("do", "params"))(asked)

    def answered(self, frame: dict[str, Any]) -> None:
        """The host answers."""
        wave = self.asked.pop(frame["id"])
        wave.answers[frame["id"]] = {key: frame[key] for key in frame if key != "id"}
        wave.left -= 1
        if not wave.left:
            self.answer(wave.of, list(wave.answers.values()))

    def do_params(self, asked: Asked) -> None:
        """Answers the params, in the shape of the method."""
        if "tool_id" in asked.params:
            self.answer(asked.id, {"result": {"structured_content": asked.params}})
        else:
            self.answer(asked.id, {"output": asked.params} if "capability" in asked.params else asked.params)

    def do_line(self, asked: Asked) -> None:
        """Answers the line as it arrived, in hex."""
        self.answer(asked.id, asked.line.hex())

    def do_size(self, asked: Asked) -> None:
        """Answers how long the line was."""
        self.answer(asked.id, len(asked.line))

    def do_say(self, asked: Asked) -> None:
        """Writes a text."""
        self.write(asked.told(asked.order["text"]))

    def do_grow(self, asked: Asked) -> None:
        """Writes `bytes` times an x, without ever ending the line."""
        left = asked.order["bytes"]
        while left > 0:
            left -= os.write(1, b"x" * min(left, 1 << 20))

    def do_large(self, asked: Asked) -> None:
        """Answers a string of that many bytes."""
        self.answer(asked.id, "x" * asked.order["bytes"])

    def do_hold(self, asked: Asked) -> None:
        """Answers only once the execution is cancelled, too late."""
        self.held.setdefault(asked.params["execution_id"], []).append(asked.id)

    def do_seen(self, asked: Asked) -> None:
        """Answers what has been asked so far: [method, id, execution, …]."""
        self.answer(asked.id, self.seen)

    def do_pid(self, asked: Asked) -> None:
        """Answers the process id."""
        self.answer(asked.id, os.getpid())

    def do_die(self, asked: Asked) -> None:
        """Exits, having written a text."""
        self.write(asked.told(asked.order.get("text", "")))
        os._exit(asked.order.get("status", 1))

    def do_stall(self, asked: Asked) -> None:
        """Answers, and reads no more."""
        self.answer(asked.id, None)
        threading.Event().wait()

    def do_close_input(self, asked: Asked) -> None:
        """Answers, and takes no more input."""
        os.close(0)
        self.answer(asked.id, None)
        threading.Event().wait()

    def do_ask(self, asked: Asked) -> None:
        """Asks the host `times` times, and answers the list of what it answered, in that order.

        Without `scoped: false`, the calls are made within the execution of the request.
        """
        order = asked.order
        wave = Wave(asked.id, order.get("times", 1))
        params = order["params"]
        if order.get("scoped", True):
            params = {"execution_id": asked.params["execution_id"], **params}
        for _ in range(wave.left):
            self.last += 1
            mine = f"plugin-{self.last}"
            self.asked[mine] = wave
            wave.answers[mine] = None
            method = order.get("method", "host.service.call")
            self.write(json.dumps({"id": mine, "method": method, "params": params}) + "\n")

    def do_expect(self, asked: Asked) -> None:
        """Writes a text, and answers the list of what the host answered to the one id in it."""
        self.write(asked.order["text"])
        self.asked[asked.order["id"]] = Wave(asked.id, 1)


if __name__ == "__main__":
    Probe(sys.argv[1], json.loads(sys.argv[2])).run()
