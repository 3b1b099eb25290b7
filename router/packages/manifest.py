"""Manifest: a package's `plugin.json`.

Source: *Plugin authoring reference*, the package root. What the reference defines beyond these fields
(`desktop`, `contributes`, `dependencies`, …) is accepted and left to others, and so are unknown fields.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Literal

import msgspec
import semver

from contract.context import OPERATOR, ROUTER
from router.composition.position import Located, Malformed, locate
from router.limits import MAX_TIMEOUT
from router.names import BRIDGE, ROUTER_LOG

MANIFEST = "plugin.json"
"""The name of the file that makes a directory a package."""

MANIFEST_LIMIT = 1 << 20
"""Bytes that it may have."""

MODULE_ID = re.compile(r"[a-z0-9][a-z0-9._-]*")
MODULE_ID_LIMIT = 128
"""Characters that a module's id may have."""

_ID_IN_TEXT = re.compile(rb'"id"\s*:\s*"([^"\\]+)"')
"""The id in a text that is not JSON as a whole."""

ENVIRONMENT_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")

_NotEmpty = Annotated[str, msgspec.Meta(min_length=1)]


class Runtime(msgspec.Struct, frozen=True, kw_only=True):
    """How the package's process is started, and what it speaks."""

    protocol: Literal["wuu-plugin-v1", "wuu-mesh-grpc-v1"]
    """`wuu-plugin-v1`: JSON lines on standard input and output. `wuu-mesh-grpc-v1`: gRPC."""
    command: _NotEmpty
    """A bare name, looked up when the process is started; a path within the package; or an absolute path."""
    args: tuple[str, ...] = ()
    """What follows the command."""
    timeout: Annotated[float, msgspec.Meta(gt=0, le=MAX_TIMEOUT)] = 30.0
    """Seconds that bound every step (start, initialize, prepare, activate, service-changed), where the
    composition says nothing else."""
    env: tuple[str, ...] = ()
    """Names of environment variables that the process gets beside the fixed ones."""
    max_in_flight: Annotated[int, msgspec.Meta(ge=1)] = 1024
    """Calls that an instance serves at once; past it `admission_full`."""


class Manifest(msgspec.Struct, frozen=True, kw_only=True):
    """What a package says about itself."""

    schema_version: Literal[1]
    """The form of the manifest."""
    id: str
    """The id of the module. Pattern: ^[a-z0-9][a-z0-9._-]*$, at most 128 characters."""
    name: _NotEmpty
    """For people."""
    version: str
    """The package's own version, strict SemVer."""
    description: str = ""
    """For people."""
    runtime: Runtime
    """How its process is started."""


class BadPackage(Exception):
    """A package that cannot be used: the file and the place in it, the rule, and the remedy."""

    def __init__(self, root: Path, message: str, *, module: str = "") -> None:
        super().__init__(f"{root}: {message}")
        self.root = root
        """The package's directory."""
        self.message = message
        """`FILE:LINE:COL: …`, `FILE: /POINTER: …` or `FILE: …`."""
        self.module = module or root.name
        """The module that it would be: its id where that can be read, otherwise the directory's name."""


_REMEDIES = {
    "": "see the fields of a package in the plugin authoring reference",
    "/schema_version": 'write "schema_version": 1',
    "/id": 'write a stable id such as "example.notes"',
    "/name": "write a name for people",
    "/version": 'write a version such as "0.1.0"',
    "/description": "write text, or leave it out",
    "/runtime": 'write {"protocol": "wuu-plugin-v1", "command": …}; a package without a process is no module',
    "/runtime/protocol": 'write "wuu-plugin-v1" for JSON lines or "wuu-mesh-grpc-v1" for gRPC',
    "/runtime/command": "write a name on PATH, or a path within the package",
    "/runtime/args": "write an array of strings",
    "/runtime/timeout": "write seconds, greater than 0 and at most 86400, or leave it out",
    "/runtime/env": "write an array of names of environment variables",
    "/runtime/max_in_flight": "write an integer of at least 1, or leave it out",
}
"""What to do about each field."""


def read_manifest(root: Path) -> Manifest:
    """The manifest of the package at `root`. Raises `BadPackage` with the first thing that is wrong."""
    path = root / MANIFEST
    try:
        str(root).encode()
    except UnicodeEncodeError:
        # Modules hear of it in messages, which have nothing else.
        raise BadPackage(root, f"{MANIFEST}: the name of its directory is not UTF-8; rename it") from None
    if path.exists() and not (path.is_file() or path.is_dir()):
        raise BadPackage(root, f"{MANIFEST}: is not a plain file; write one")
    try:
        if path.is_file() and path.stat().st_size > MANIFEST_LIMIT:
            raise BadPackage(root, f"{MANIFEST}: has more than {MANIFEST_LIMIT} bytes; write less")
        text = path.read_bytes()
    except OSError as unreadable:
        raise BadPackage(root, f"{MANIFEST}: cannot be read: {unreadable.strerror}") from None
    try:
        located = locate(text)
    except Malformed as malformed:
        named = _ID_IN_TEXT.search(text)
        module = named[1].decode("utf-8", "replace") if named else ""
        raise BadPackage(root, f"{MANIFEST}:{malformed}", module=module) from None
    module = _readable_id(located)
    try:
        manifest = msgspec.convert(located.value, Manifest)
    except msgspec.ValidationError as invalid:
        pointer, rule = _place(str(invalid))
        raise _bad(root, module, pointer, rule) from None
    broken = next(_broken_rules(located, manifest), None)
    if broken is not None:
        raise _bad(root, module, *broken)
    return manifest


def _readable_id(located: Located) -> str:
    value = located.value
    module = value.get("id") if isinstance(value, dict) else None
    return module if isinstance(module, str) else ""


def _broken_rules(located: Located, manifest: Manifest) -> Iterator[tuple[str, str]]:
    """The rules that types do not say, as (pointer, rule)."""
    for pointer, line in located.repeated:
        yield pointer, f"is given again on line {line}"
    if not MODULE_ID.fullmatch(manifest.id):
        yield "/id", f"'{manifest.id}' does not match ^[a-z0-9][a-z0-9._-]*$"
    if len(manifest.id) > MODULE_ID_LIMIT:
        yield "/id", f"has more than {MODULE_ID_LIMIT} characters"
    if manifest.id in (OPERATOR, ROUTER):
        # A module of that name would pass for the operator or the router in every signed context.
        yield "/id", f"'{manifest.id}' is a caller of the mesh itself"
    if manifest.id in (BRIDGE, ROUTER_LOG):
        # Its logs would push out those of the bridge or the router.
        yield "/id", f"'{manifest.id}' is a part of the mesh itself"
    if not semver.Version.is_valid(manifest.version):
        yield "/version", f"'{manifest.version}' is not a SemVer version"
    runtime = manifest.runtime
    command = runtime.command
    if not command.startswith("/") and posixpath.normpath(command).split("/")[0] == "..":
        yield "/runtime/command", f"'{command}' leads out of the package"
    if "\0" in command:
        yield "/runtime/command", "has a NUL"
    for index, argument in enumerate(runtime.args):
        if "\0" in argument:
            yield f"/runtime/args/{index}", "has a NUL"
    for index, name in enumerate(runtime.env):
        if not ENVIRONMENT_NAME.fullmatch(name):
            yield f"/runtime/env/{index}", f"'{name}' is not the name of an environment variable"


def _place(message: str) -> tuple[str, str]:
    """The pointer and the rule in a message of msgspec, which says ``… - at `$.runtime.args[0]` ``."""
    rule, _, path = message.partition(" - at `$")
    pointer = re.sub(r"\.([^.\[`]+)|\[(\d+)\]", r"/\1\2", path.removesuffix("`"))
    missing = re.fullmatch("Object missing required field `(.+)`", rule)
    return (f"{pointer}/{missing[1]}", "is required") if missing else (pointer, rule)


def _bad(root: Path, module: str, pointer: str, rule: str) -> BadPackage:
    remedy = _REMEDIES.get(re.sub(r"/\d+$", "", pointer), "correct it")
    place = f"{MANIFEST}: {pointer}" if pointer else MANIFEST
    return BadPackage(root, f"{place}: {rule}; {remedy}", module=module)
