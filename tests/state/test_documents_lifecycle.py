"""What an instance does at each step of its lifecycle, and which stores it refuses."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing

import pytest

from contract.errors import MeshError
from providers.state.jsonl.record import first_line
from tests.state.conftest import Make
from tests.state.instance import DATA_SET, Place, refused, values_of


async def test_only_what_is_implemented_is_declared(make: Make, place: Place) -> None:
    instance = make(place)
    await instance.spawn()
    response = await instance.initialize()
    (service,) = response.declaration.provided_services
    assert (service.name, service.version) == ("state.documents", "1.0.0")
    assert [method.name for method in service.methods] == [
        *("read", "commit", "export", "compact", "import"),
        *("acquire-inspection", "release-inspection", "list-inspections", "reconcile-inspection"),
        "claim-namespaces",
    ]
    export = service.methods[2]
    assert (export.input_schema, export.output_schema) == (
        "state.documents.export.input.v2",
        "state.documents.export.output.v2",
    )
    assert not response.declaration.required_services


async def test_nothing_is_written_before_activate(make: Make, place: Place) -> None:
    instance = make(place)
    await instance.spawn()
    await instance.initialize()
    await instance.prepare()
    assert place.files() == {}
    with refused("host_error", "not active"):
        await instance.read("n")
    await instance.activate()
    assert place.path.exists()
    assert (await instance.read("n")).revision == "0"


async def test_preparation_leaves_a_store_as_it_is_killed_or_closed(make: Make, place: Place) -> None:
    instance = await make(place).start()
    await instance.put("n", a=b"1")
    await instance.kill()
    left = place.files()
    second = make(place)
    await second.spawn()
    await second.initialize()
    await second.prepare()
    assert place.files() == left
    await second.activate()
    assert values_of(await second.read("n")) == {"a": b"1"}
    await second.shutdown()
    with refused("host_error", "not active"):
        await second.read("n")
    closed = place.files()
    await second.initialize()
    await second.prepare()
    assert place.files() == closed
    assert await second.stop() == 0


async def test_the_operator_may_name_the_path(make: Make, place: Place) -> None:
    path = place.directory / "elsewhere.store"
    instance = await make(place, json.dumps({"path": str(path)}).encode()).start()
    await instance.put("n", a=b"1")
    assert path.exists() and not place.path.exists()


async def test_a_config_that_is_not_understood_is_refused_with_the_field(make: Make, place: Place) -> None:
    instance = make(place)
    await instance.spawn()
    for config, mention in (
        (b'{"pth": "/tmp/x"}', "pth"),
        (b'{"path": 1}', "$.path"),
        (b'{"path": "relative"}', "path: 'relative' is not an absolute path"),
        (b'{"path": ""}', "path"),
        (b"[]", place.module),
    ):
        instance.config = config
        with refused("invalid_request", place.module, mention):
            await instance.initialize()
    instance.config = json.dumps({"path": str(place.directory / "no" / "where")}).encode()
    await instance.initialize()
    with refused("host_error", "directory does not exist"):
        await instance.prepare()


def later_version(place: Place) -> None:
    """A store that a later release wrote."""
    if place.engine == "jsonl":
        place.path.write_bytes(first_line("0", DATA_SET).replace(b'"version":2', b'"version":7'))
        return
    with closing(sqlite3.connect(place.path)) as connection:
        connection.executescript("PRAGMA application_id = 0x57757553; PRAGMA user_version = 7;")


def of_something_else(place: Place) -> None:
    """A file of the engine's kind that is no store."""
    if place.engine == "jsonl":
        place.path.write_bytes(b'{"event":"an entry of somebody\'s log"}\n')
        return
    with closing(sqlite3.connect(place.path)) as connection:
        connection.executescript("CREATE TABLE customers (name)")


def of_no_kind(place: Place) -> None:
    """A file that the engine cannot read at all, and that is shorter than any store."""
    place.path.write_bytes(b"milk, eggs")


def of_zeros(place: Place) -> None:
    """A file that a machine without power might have left, but no provider began."""
    place.path.write_bytes(bytes(200))


async def test_a_store_that_cannot_be_trusted_is_refused_and_left_alone(make: Make, place: Place) -> None:
    instance = make(place)
    await instance.spawn()
    wrong = {later_version: "version 7", of_something_else: "", of_no_kind: "", of_zeros: ""}
    for lay, mention in wrong.items():
        lay(place)
        laid = place.files()
        await instance.initialize()
        with pytest.raises(MeshError) as refusal:
            await instance.prepare()
        assert refusal.value.code == "host_error"
        assert str(place.path) in refusal.value.message and mention in refusal.value.message
        assert "path" in refusal.value.remedy or "release" in refusal.value.remedy
        assert place.files() == laid
        place.path.unlink()
    await instance.initialize()
    await instance.prepare()
    place.path.touch()
    await instance.prepare()
