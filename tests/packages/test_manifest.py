"""The manifest: what a package says about itself, and what is said of a bad one."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from router.packages import BadPackage, read_manifest
from tests.packages.making import RUNTIME, write


def message(root: Path) -> str:
    with pytest.raises(BadPackage) as bad:
        read_manifest(root)
    assert bad.value.root == root
    assert str(bad.value) == f"{root}: {bad.value.message}"
    return bad.value.message


def test_a_manifest_says_who_the_module_is_and_how_it_starts(tmp_path: Path) -> None:
    runtime = {
        "protocol": "wuu-mesh-grpc-v1",
        "command": "./bin/run",
        "args": ["--x"],
        "timeout": 5,
        "env": ["HOME_PAGE"],
        "max_in_flight": 8,
    }
    manifest = read_manifest(write(tmp_path, description="For notes.", runtime=runtime))
    assert (manifest.id, manifest.name, manifest.version) == ("example.notes", "Notes", "0.1.0")
    assert manifest.description == "For notes."
    assert manifest.runtime is not None
    assert manifest.runtime.protocol == "wuu-mesh-grpc-v1"
    assert (manifest.runtime.command, manifest.runtime.args) == ("./bin/run", ("--x",))
    assert (manifest.runtime.timeout, manifest.runtime.env) == (5.0, ("HOME_PAGE",))
    assert manifest.runtime.max_in_flight == 8


def test_what_is_left_out_has_the_product_s_defaults(tmp_path: Path) -> None:
    manifest = read_manifest(write(tmp_path, runtime=RUNTIME))
    assert manifest.description == ""
    assert manifest.runtime is not None
    assert (manifest.runtime.args, manifest.runtime.env) == ((), ())
    assert (manifest.runtime.timeout, manifest.runtime.max_in_flight) == (30.0, 1024)


def test_fields_of_others_are_accepted(tmp_path: Path) -> None:
    desktop = {"entry": "dist/renderer.js"}
    interface = {"family": {"id": "x", "name": "y"}}
    read_manifest(write(tmp_path, desktop=desktop, interface=interface, dependencies=[], made_up=1))


@pytest.mark.parametrize("version", ["1.0.0", "0.0.1-rc.1", "2.3.4-a+b.5"])
def test_a_version_is_semver(tmp_path: Path, version: str) -> None:
    assert read_manifest(write(tmp_path, version=version)).version == version


@pytest.mark.parametrize("command", ["node", "./bin/run", "bin/../run", "/usr/bin/env", "..x/run"])
def test_a_command_is_a_name_or_a_path_within_the_package_or_absolute(tmp_path: Path, command: str) -> None:
    manifest = read_manifest(write(tmp_path, runtime=RUNTIME | {"command": command}))
    assert manifest.runtime is not None
    assert manifest.runtime.command == command


@pytest.mark.parametrize("command", ["../run", "bin/../../run", "./../run", "..", "a/../.."])
def test_a_command_never_leads_out_of_the_package(tmp_path: Path, command: str) -> None:
    assert message(write(tmp_path, runtime=RUNTIME | {"command": command})) == (
        f"plugin.json: /runtime/command: '{command}' leads out of the package; "
        "write a name on PATH, or a path within the package"
    )


def test_a_text_that_is_not_json_is_shown_with_line_and_column(tmp_path: Path) -> None:
    (tmp_path / "plugin.json").write_text('{\n  "id": x}')
    assert message(tmp_path) == "plugin.json:2:9: x is not JSON; names and text stand in double quotes"


def test_a_manifest_that_cannot_be_read_says_so(tmp_path: Path) -> None:
    assert message(tmp_path) == "plugin.json: cannot be read: No such file or directory"
    (tmp_path / "plugin.json").mkdir()
    assert message(tmp_path) == "plugin.json: cannot be read: Is a directory"


def test_a_manifest_that_is_no_object_says_so(tmp_path: Path) -> None:
    (tmp_path / "plugin.json").write_text("[]")
    assert message(tmp_path).startswith("plugin.json: Expected `object`, got `array`; ")


def test_a_key_given_twice_is_refused(tmp_path: Path) -> None:
    text = (write(tmp_path) / "plugin.json").read_text()
    (tmp_path / "plugin.json").write_text(text.replace('"id"', '"id": "other",\n"id"'))
    assert message(tmp_path) == (
        'plugin.json: /id: is given again on line 2; write a stable id such as "example.notes"'
    )


@pytest.mark.parametrize(
    ("fields", "start"),
    [
        ({"schema_version": 2}, "/schema_version: Invalid enum value 2; write "),
        ({"schema_version": None}, '/schema_version: is required; write "schema_version": 1'),
        ({"id": None}, "/id: is required; write a stable id"),
        ({"id": 7}, "/id: Expected `str`, got `int`; write a stable id"),
        ({"id": "Upper"}, "/id: 'Upper' does not match ^[a-z0-9][a-z0-9._-]*$; write"),
        ({"id": "a/b"}, "/id: 'a/b' does not match"),
        ({"id": "a\n"}, "/id: 'a\n' does not match"),
        ({"id": "a" * 129}, "/id: has more than 128 characters; write"),
        ({"id": "wuu.operator"}, "/id: 'wuu.operator' is a caller of the mesh itself; write"),
        ({"id": "wuu.mesh"}, "/id: 'wuu.mesh' is a caller of the mesh itself; write"),
        ({"id": "wuu.router"}, "/id: 'wuu.router' is a part of the mesh itself; write"),
        ({"id": "wuu.bridge"}, "/id: 'wuu.bridge' is a part of the mesh itself; write"),
        ({"name": ""}, "/name: Expected `str` of length >= 1; write a name"),
        ({"version": "1.0"}, "/version: '1.0' is not a SemVer version; write a version such as"),
        ({"version": "01.0.0"}, "/version: '01.0.0' is not a SemVer version"),
        ({"version": "1.0.0\n"}, "/version: '1.0.0\n' is not a SemVer version"),
        ({"runtime": 7}, "/runtime: Expected `object | null`, got `int`; write {"),
        ({"runtime": {"command": "x"}}, "/runtime/protocol: is required; write"),
        (
            {"runtime": RUNTIME | {"protocol": "grpc"}},
            "/runtime/protocol: Invalid enum value 'grpc'; write \"wuu-plugin-v1\" for",
        ),
        ({"runtime": RUNTIME | {"command": ""}}, "/runtime/command: Expected `str` of length >= 1; write"),
        ({"runtime": RUNTIME | {"command": 1}}, "/runtime/command: Expected `str`, got `int`; write"),
        ({"runtime": RUNTIME | {"command": "a\0b"}}, "/runtime/command: has a NUL; write"),
        (
            {"runtime": RUNTIME | {"args": ["a", 1]}},
            "/runtime/args/1: Expected `str`, got `int`; write an array of strings",
        ),
        ({"runtime": RUNTIME | {"args": ["\0"]}}, "/runtime/args/0: has a NUL; write an array of strings"),
        ({"runtime": RUNTIME | {"timeout": 0}}, "/runtime/timeout: Expected `float` > 0.0; write seconds"),
        ({"runtime": RUNTIME | {"env": ["A=b"]}}, "/runtime/env/0: 'A=b' is not the name of an environment"),
        ({"runtime": RUNTIME | {"max_in_flight": 0}}, "/runtime/max_in_flight: Expected `int` >= 1; write"),
    ],
)
def test_a_broken_field_is_shown_with_pointer_rule_and_remedy(
    tmp_path: Path, fields: dict[str, object], start: str
) -> None:
    assert message(write(tmp_path, **fields)).startswith(f"plugin.json: {start}")


def test_a_timeout_past_every_number_is_refused(tmp_path: Path) -> None:
    text = (write(tmp_path, runtime=RUNTIME | {"timeout": 77}) / "plugin.json").read_text()
    (tmp_path / "plugin.json").write_text(text.replace("77", "1e999"))
    assert message(tmp_path).startswith(
        "plugin.json: /runtime/timeout: Expected `float` <= 86400.0; write seconds"
    )


def test_a_broken_package_is_remembered_as_the_module_that_it_would_be(tmp_path: Path) -> None:
    def module(root: Path) -> str:
        with pytest.raises(BadPackage) as bad:
            read_manifest(root)
        return bad.value.module

    assert module(write(tmp_path / "dir", version="x")) == "example.notes"
    assert module(write(tmp_path / "other", id=None)) == "other"
    (tmp_path / "dir" / "plugin.json").write_text("{")
    assert module(tmp_path / "dir") == "dir"


def test_a_text_that_is_not_json_is_remembered_by_the_id_that_stands_in_it(tmp_path: Path) -> None:
    (tmp_path / "plugin.json").write_text('{"schema_version": 1, "id": "example.notes",}')
    with pytest.raises(BadPackage) as bad:
        read_manifest(tmp_path)
    assert bad.value.module == "example.notes"


def test_a_manifest_that_is_no_plain_file_is_not_opened(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "plugin.json")
    assert message(tmp_path) == "plugin.json: is not a plain file; write one"
