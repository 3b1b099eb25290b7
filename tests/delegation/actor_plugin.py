"""The actor as a plugin: JSON lines on the standard library alone, each request in a thread of its own.

`actor_plugin.py MODULE tools | decorator`, as `actor.py`. What it passes on it passes on by hand.
"""

from __future__ import annotations

import json
import sys
import threading
from typing import Any

from tests.delegation.script import FEATURE, METHODS, TOOLS

SERVICE = TOOLS.partition("@")[0]


class Failed(Exception):
    """An error of the wire."""

    def __init__(self, error: dict[str, Any]) -> None:
        super().__init__(error)
        self.error = error


class Plugin:
    """One run."""

    def __init__(self, module: str, kind: str) -> None:
        self.module = module
        self.decorates = kind == "decorator"
        self.calls = 0
        self.offered: dict[str, Any] = {}
        self._writing = threading.Lock()
        self._asked: dict[str, tuple[threading.Event, list[Any]]] = {}

    def run(self) -> None:
        """Reads to the end of the input."""
        for line in sys.stdin:
            frame = json.loads(line)
            if "method" in frame:
                threading.Thread(target=self.serve, args=(frame,), daemon=True).start()
            else:
                answered, answer = self._asked.pop(frame["id"])
                answer.append(frame)
                answered.set()

    def serve(self, frame: dict[str, Any]) -> None:
        """Answers one request."""
        if frame["method"] == "execution.cancel":
            return
        try:
            answer = {"result": self.result(frame["method"], frame.get("params") or {})}
        except Failed as failed:
            answer = {"error": failed.error}
        self.say({"id": frame["id"], **answer})

    def result(self, method: str, params: dict[str, Any]) -> Any:
        """The result of a request."""
        if method == "initialize":
            self.offered = params
            return self.declaration()
        if method != "service.invoke":
            return None
        self.calls += 1
        if params["method"] == "execute":
            return self.execute(params)
        if self.decorates:
            return self.call(SERVICE, params["method"], params)
        if params["params"]:
            raise Failed({"code": params["params"]["code"], "message": "as asked"})
        return {**self.told(params), "calls": self.calls}

    def declaration(self) -> dict[str, Any]:
        """What it declares, in the schemas that the kit gives to the same service."""
        methods = METHODS if self.decorates else METHODS[:-1]
        schemas = {
            method: {f"{side}_schema": f"{SERVICE}.{method}.{side}.v1" for side in ("input", "output")}
            for method in methods
        }
        required = ["probe.gate", *([SERVICE] if self.decorates else [])]
        declared: dict[str, Any] = {
            "protocol_version": 3,
            "lifecycle_version": 2,
            "provided_services": [{"name": SERVICE, "version": "1.0.0", "methods": schemas}],
            "required_services": [{"name": name, "major_version": 1, "required": True} for name in required],
        }
        if self.decorates:
            declared["required_host_features"] = [FEATURE]
            declared["required_host_services"] = ["host.service.call", "host.service.continue"]
        return declared

    def told(self, params: dict[str, Any]) -> dict[str, Any]:
        """Who was asked by whom."""
        continuable = "continuation_id" in params
        return {"module": self.module, "caller": params["caller"], "continuable": continuable}

    def execute(self, params: dict[str, Any]) -> Any:
        """Follows the script."""
        outcomes = []
        for action in params["params"].get(self.module, []):
            if action["do"] == "fail":
                raise Failed({"code": action["code"], "message": "as scripted"})
            try:
                outcomes.append({"result": self.act(action, params)})
            except Failed as failed:
                outcomes.append({"error": failed.error})
        return {**self.told(params), "outcomes": outcomes}

    def act(self, action: dict[str, Any], params: dict[str, Any]) -> Any:
        """Does one action."""
        match action["do"]:
            case "proceed":
                return self.proceed(params["execution_id"], params["continuation_id"])
            case "use":
                return self.proceed(action["execution"] or params["execution_id"], action["id"])
            case "forward":
                return self.call(SERVICE, "execute", params)
            case "ids":
                return [params["continuation_id"], params["execution_id"]]
            case "wait":
                return self.call("probe.gate", "wait", {**params, "params": {"key": action["key"]}})
            case "ask":
                return self.ask("host.service.continue", action["params"])
        raise ValueError(action)

    def call(self, service: str, method: str, params: dict[str, Any]) -> Any:
        """Calls a service in the execution of a request."""
        asked = {"service": service, "method": method, "execution_id": params["execution_id"]}
        return self.ask("host.service.call", {**asked, "params": params["params"]})

    def proceed(self, execution: str, id: str) -> Any:  # noqa: A002
        """Continues a call."""
        return self.ask("host.service.continue", {"execution_id": execution, "continuation_id": id})

    def ask(self, method: str, params: dict[str, Any]) -> Any:
        """Asks the host, and waits for its answer."""
        with self._writing:
            mine = f"plugin-{threading.get_ident()}-{len(self._asked)}-{self.calls}"
            asked = self._asked[mine] = (threading.Event(), [])
        self.say({"id": mine, "method": method, "params": params})
        asked[0].wait()
        [frame] = asked[1]
        if "error" in frame:
            raise Failed(frame["error"])
        return frame["result"]

    def say(self, frame: dict[str, Any]) -> None:
        """Writes a frame."""
        with self._writing:
            sys.stdout.write(json.dumps(frame) + "\n")
            sys.stdout.flush()


Plugin(*sys.argv[1:]).run()
