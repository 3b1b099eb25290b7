"""`events`: what happened, in order."""

from __future__ import annotations

import json
import re
import signal

from tests.cli.command import begun, end, heard
from tests.support.composition import probe
from tests.support.mesh import Mesh, running


async def test_those_that_are_kept_are_printed_with_their_time(mesh: Mesh) -> None:
    answer = mesh.cli("events")
    assert (answer.returncode, answer.stderr) == (0, "")
    lines = answer.stdout.splitlines()
    assert all(re.match(r"\d\d:\d\d:\d\d\.\d{3} [a-z]+ ", line) for line in lines)
    told = [line[13:] for line in lines]
    assert told.index("module notes starting") < told.index("module notes active")
    assert told.index("module notes active") < told.index("generation 1 active")
    assert any(line.startswith("module failed failed: service_unavailable: ") for line in told)


async def test_programs_get_an_object_on_each_line(mesh: Mesh) -> None:
    lines = [json.loads(line) for line in mesh.cli("events", "--json").stdout.splitlines()]
    assert [each["sequence"] for each in lines] == [*range(1, len(lines) + 1)]
    keys = {"sequence", "at_unix_ms", "kind", "subject", "state", "message", "code"}
    assert all(each.keys() == keys for each in lines)
    failed = next(each for each in lines if (each["subject"], each["state"]) == ("failed", "failed"))
    assert (failed["kind"], failed["code"]) == ("module", "service_unavailable")


async def test_followed_they_go_on_until_the_end_of_the_mesh() -> None:
    async with running(probe("a")) as mesh:
        with begun(mesh, "events", "--follow", "--json") as follow:
            heard(follow, '{"sequence":1,')
            await mesh.reload("a")
            await mesh.stop()
            code, said = end(follow)
    assert code == 0
    *lines, last = said.splitlines()
    assert last == "wuu-mesh: the mesh has stopped"
    told = [" ".join(json.loads(line)[key] for key in ("kind", "subject", "state")) for line in lines]
    assert told.index("transition reload a committed") < told.index("mesh  stopped")


async def test_following_is_done_when_it_is_interrupted(mesh: Mesh) -> None:
    with begun(mesh, "events", "-f") as follow:
        heard(follow, "")
        follow.send_signal(signal.SIGINT)
        assert end(follow)[0] == 0
