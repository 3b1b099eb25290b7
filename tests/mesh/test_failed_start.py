"""What may go wrong before the commit: it costs the module and those that stand on it, and nobody else."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator

import pytest

from tests.support.caller import failure
from tests.support.composition import Entry, probe, shell
from tests.support.mesh import Mesh
from tests.support.script import Action

PLUGIN = {"protocol": "wuu-plugin-v1"}

HALF = '{"id":"1","res'
"""The output of a plugin that ends within a line."""


@pytest.fixture(scope="module")
async def mesh() -> AsyncIterator[Mesh]:
    mesh = Mesh(
        # Their own faults.
        Entry(id="no-command", argv=("no-such-command-anywhere",)),
        Entry(id="no-interpreter", argv=("./program",), program="#!/no/such/interpreter\n"),
        Entry(id="no-program", argv=("./program",), program="neither this nor that\n"),
        Entry(id="half-line", argv=("sh", "-c", f"read line; printf '{HALF}'"), runtime=PLUGIN),
        Entry(id="configured", argv=("sleep", "600"), runtime=PLUGIN, config={"depth": 3}),
        shell("exits", "echo the disk is on fire >&2; exit 3"),
        shell("never-listens", "echo I am not listening >&2; exec sleep 600", timeout=1),
        Entry(id="bad-manifest", manifest='{"schema_version": 1, "id": "bad-manifest"}'),
        Entry(id="torn-manifest", manifest='{"schema_version": 1,\n "id": }'),
        probe("linked"),
        probe("no-log"),
        probe("no-state"),
        probe("initialize-fails", steps={"initialize": Action(error="the config is odd")}),
        probe("old", provides=["probe.old@1"], lifecycle=1),
        probe("demanding", features=["time.travel.v1"]),
        probe("bad-declaration", provides=["Not.A.Name@1"]),
        probe("bad-version", provides=["probe.bad-version@1.0"]),
        probe(
            "prepare-fails", provides=["probe.failing@1"], steps={"prepare": Action(error="no such table")}
        ),
        probe("prepare-exits", steps={"prepare": Action(exit=4)}),
        # What others' faults do to them.
        probe("dependant", provides=["probe.dependant@1"], requires=["probe.failing@1"]),
        probe("dependant-of-dependant", requires=["probe.dependant@1"]),
        probe("lonely", provides=["probe.lonely@1"], requires=["probe.nobody-has-it@1"]),
        probe(
            "easy-going", provides=["probe.easy@1"], requires=["probe.failing@1?", "probe.nobody-has-it@1?"]
        ),
        # The rest.
        probe("fine", provides=["probe.fine@1"]),
        probe("chatty", provides=["probe.chatty@1"], rubbish=["hello", '{"not": "a frame"}']),
    )
    (mesh.directory / "packages" / "linked" / "elsewhere").symlink_to("/")
    for occupied in (mesh.home / "logs" / "no-log", mesh.home / "state" / "no-state"):
        occupied.parent.mkdir(parents=True)
        occupied.touch()
    mesh.start()
    yield mesh
    await mesh.close()


async def test_the_rest_starts(mesh: Mesh) -> None:
    assert await mesh.call("probe.fine@1", "echo", "hello") == "hello"
    active = [row["id"] for row in mesh.status()["modules"] if row["state"] == "active"]
    assert active == ["chatty", "easy-going", "fine"]
    assert mesh.status()["generation"]["state"] == "active"


@pytest.mark.parametrize(
    ("module", "code", "message"),
    [
        ("no-command", "service_unavailable", r"'no-such-command-anywhere' is not on PATH"),
        ("no-interpreter", "service_unavailable", r"interpreter .* does not exist"),
        ("no-program", "service_unavailable", r"neither a program nor a script"),
        ("half-line", "service_unavailable", r'exited with status 0.*the output ended here.*"id":"1","res'),
        ("half-line", "service_unavailable", r"did not answer initialize"),
        ("configured", "invalid_request", r"the plugin configured takes no `config`"),
        ("exits", "service_unavailable", r"exited with status 3 .*the disk is on fire"),
        ("never-listens", "deadline_exceeded", r"did not listen .* within 1 s.*I am not listening"),
        ("bad-manifest", "invalid_request", r"plugin\.json: /name: is required"),
        ("torn-manifest", "invalid_request", r"plugin\.json:2:8"),
        ("no-log", "host_error", r"the home cannot be written: .*/logs/no-log"),
        ("no-state", "host_error", r"the home cannot be written: .*/state/no-state"),
        ("linked", "invalid_request", r"elsewhere: is a symbolic link"),
        ("initialize-fails", "host_error", r"initialize: the config is odd"),
        ("old", "protocol_violation", r"old speaks lifecycle 1, not 2"),
        ("demanding", "protocol_violation", r"requires the host feature time\.travel\.v1"),
        ("bad-declaration", "protocol_violation", r"provided_services\[0\]\.name: 'Not\.A\.Name'"),
        ("bad-version", "protocol_violation", r"provided_services\[0\]\.version: '1\.0'"),
        ("prepare-fails", "host_error", r"prepare: no such table"),
        ("prepare-exits", "service_unavailable", r"exited with status 4"),
    ],
)
async def test_a_module_that_cannot_start_says_why(mesh: Mesh, module: str, code: str, message: str) -> None:
    row = mesh.module(module)
    assert (row["state"], row["error"]["code"]) == ("failed", code)
    assert re.search(message, row["error"]["message"]), row["error"]["message"]


@pytest.mark.parametrize(
    ("module", "code", "message"),
    [
        (
            "dependant",
            "service_unavailable",
            r"probe\.failing@1 of prepare-fails \(only provider\), which .*no such table",
        ),
        (
            "dependant-of-dependant",
            "service_unavailable",
            r"probe\.dependant@1 of dependant \(only provider\), which is blocked",
        ),
        ("lonely", "service_not_found", r"probe\.nobody-has-it@1, which no module .* provides"),
    ],
)
async def test_a_module_that_lacks_what_it_requires_is_blocked_and_says_why(
    mesh: Mesh, module: str, code: str, message: str
) -> None:
    row = mesh.module(module)
    assert (row["state"], row["error"]["code"]) == ("blocked", code)
    assert re.search(message, row["error"]["message"]), row["error"]["message"]


async def test_what_does_not_serve_does_not_run(mesh: Mesh) -> None:
    running = {row["id"] for row in mesh.status()["modules"] if row["pid"]}
    assert running == {"chatty", "easy-going", "fine"}
    # The guardian and the bridge beside them.
    assert len(mesh.router.descendants()) == len(running) + 2


async def test_no_module_is_activated_that_is_blocked_or_failed(mesh: Mesh) -> None:
    activated = {line.split()[0] for line in mesh.recorded() if line.endswith(" activate")}
    assert activated == {"chatty", "easy-going", "fine"}


async def test_a_call_of_a_module_that_failed_says_why(mesh: Mesh) -> None:
    error = await failure(mesh.call("probe.failing@1", "echo"))
    assert (error.code, error.outcome) == ("service_unavailable", "not_dispatched")
    assert "no such table" in error.message


async def test_a_call_of_a_module_that_is_blocked_says_why(mesh: Mesh) -> None:
    error = await failure(mesh.call("probe.lonely@1", "echo"))
    assert (error.code, error.outcome) == ("service_unavailable", "not_dispatched")
    assert "probe.nobody-has-it@1" in error.message


async def test_an_optional_service_whose_provider_failed_is_unavailable_and_not_absent(mesh: Mesh) -> None:
    failed = await mesh.call("probe.easy@1", "call", {"service": "probe.failing@1"})
    assert failed["error"]["code"] == "service_unavailable"
    absent = await mesh.call("probe.easy@1", "call", {"service": "probe.nobody-has-it@1"})
    assert absent["error"]["code"] == "service_optional_absent"


async def test_rubbish_on_standard_output_stands_in_the_log_and_breaks_nothing(mesh: Mesh) -> None:
    assert await mesh.call("probe.chatty@1", "echo", 1) == 1
    assert mesh.log("chatty") == 'hello\n{"not": "a frame"}\n'
