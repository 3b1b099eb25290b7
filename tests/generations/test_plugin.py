"""A plugin reaches the kernel's own services over JSON lines like any other service."""

from __future__ import annotations

import asyncio
import sys

import msgspec

from tests.support.composition import Entry, probe
from tests.support.mesh import running

PLUGIN = """
import json, sys
method = {"input_schema": "a.b", "output_schema": "a.b"}
service = {"name": "plugin.holder", "version": "1.0.0", "methods": {"hold": method, "let": method}}
required = [{"name": name, "major_version": 1, "required": True}
            for name in ("wuu.mesh.leases", "execution.update", "probe.gate")]
declared = {"protocol_version": 3, "lifecycle_version": 2, "provided_services": [service],
            "required_services": required}
asked = {}

def say(frame):
    print(json.dumps(frame), flush=True)

for line in sys.stdin:
    frame = json.loads(line)
    if "method" not in frame:
        request, steps = asked.pop(frame["id"])
        if "error" in frame or not steps:
            say({"id": request, **{k: v for k, v in frame.items() if k != "id"}})
            continue
    elif frame["method"] == "service.invoke":
        request, scope = frame["id"], {"execution_id": frame["params"]["execution_id"]}
        steps = [{**scope, **step} for step in frame["params"]["params"]]
    else:
        say({"id": frame["id"], "result": declared if frame["method"] == "initialize" else None})
        continue
    own = f"own-{request}-{len(steps)}"
    asked[own] = (request, steps[1:])
    say({"id": own, "method": "host.service.call", "params": steps[0]})
"""
"""It makes the calls that it is asked for one after the other, and answers with the last result."""


async def test_a_plugin_holds_a_lease_and_says_how_far_it_is() -> None:
    holder = Entry(id="holder", argv=(sys.executable, "-c", PLUGIN), runtime={"protocol": "wuu-plugin-v1"})
    gate = probe("gate", provides=["probe.gate@1"])
    async with running(gate, holder) as mesh:
        lease = {"service": "wuu.mesh.leases", "method": "acquire", "params": {"key": "k", "kind": "job"}}
        assert await mesh.call("plugin.holder@1", "hold", [lease]) == {"generation": "1"}
        (kept,) = (await mesh.generations())["1"].leases
        assert (kept.module, kept.key, kept.kind) == ("holder", "k", "job")
        update = {"service": "execution.update", "method": "call", "params": {"done": 1}}
        wait = {"service": "probe.gate", "method": "wait", "params": {"key": "g"}}
        call = asyncio.create_task(mesh.call("plugin.holder@1", "hold", [update, wait]))
        await mesh.call("probe.gate@1", "hanging", {"key": "g"})
        mine = next(each for each in await mesh.executions() if each.owner == "holder")
        assert msgspec.json.decode(mine.progress.utf8) == {"done": 1}
        await mesh.call("probe.gate@1", "let", {"key": "g"})
        assert await call == "g"
        release = {"service": "wuu.mesh.leases", "method": "release", "params": {"key": "k"}}
        assert await mesh.call("plugin.holder@1", "let", [release]) == {"released": True}
