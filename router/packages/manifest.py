"""Manifest: a package's `plugin.json`.

Source: *Plugin authoring reference*, the package root. It is read and checked as a whole; fields that the
reference does not know are accepted and left to others.
"""

from __future__ import annotations

import posixpath
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec
import semver

from contract.context import OPERATOR, ROUTER
from router.composition.position import Located, Malformed, locate
from router.limits import MAX_TIMEOUT
from router.names import BRIDGE, ROUTER_LOG
from router.packages.contribution import Contributes, Desktop, Family, Interface, StorageTransfers
from router.packages.platform import CALVER, PLATFORM
from router.packages.relation import check_range

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


class Dependency(msgspec.Struct, frozen=True, kw_only=True):
    """Another package that this one needs, or uses where it is there."""

    id: str
    """Its id."""
    version: str = ""
    """The range of its versions that will do; every one without it."""
    optional: bool = False
    """Whether this one does without it."""


class Manifest(msgspec.Struct, frozen=True, kw_only=True, rename={"storage_transfers": "storageTransfers"}):
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
    runtime: Runtime | None = None
    """How its process is started; None: the package is declarative and offers no module."""
    minimum_wuu_version: str = ""
    """The oldest Wuu that it runs with, such as 2026.1108.0. Also `minimumWuuVersion`."""
    platforms: tuple[str, ...] = ()
    """The hosts that it is for, such as `linux` or `darwin-arm64`; empty: all."""
    requires: tuple[str, ...] = ()
    """Packages that it needs, in any version."""
    dependencies: tuple[Dependency, ...] = ()
    """Packages that it needs or uses, with their versions."""
    breaks: tuple[str, ...] = ()
    """Packages that it cannot run beside."""
    conflicts: tuple[str, ...] = ()
    """Packages that it should not run beside."""
    skills: str | tuple[str | dict[str, Any], ...] | dict[str, Any] = ()
    """Skills, by the contract of skills."""
    hooks: str | tuple[str | dict[str, Any], ...] | dict[str, Any] = ()
    """Hooks, by the contract of hooks."""
    mcp_servers: dict[str, dict[str, Any]] = {}
    """MCP servers by name. Also `mcpServers`."""
    contributes: Contributes = Contributes()
    """Themes, skins, settings, commands and what the desktop shows."""
    desktop: Desktop | None = None
    """Its part of the desktop."""
    interface: Interface = Interface()
    """How it is shown."""
    requested_permissions: tuple[str | dict[str, Any], ...] = ()
    """The authority that it asks for. It is told, and confines nothing."""
    storage_transfers: StorageTransfers = StorageTransfers()
    """Storage that it hands over or takes over."""

    @property
    def family(self) -> Family | None:
        """The packages that it is shown with; None where their id or name is missing."""
        family = self.interface.family
        return family if family.id.strip() and family.name.strip() else None


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


_ALIASES = {"minimumWuuVersion": "minimum_wuu_version", "mcpServers": "mcp_servers"}
"""Fields that the source writes in two ways."""

_FORMER = {"slots": "contributes.presenters and registerUISlot", "surfaces": "contributes.navigation"}
"""Contributions of the past, and what came in their place."""

_ANY = "*"
"""What stands for a key of a mapping until it is known."""

_IDS = "write an array of ids of packages, or leave it out"

_REMEDIES = {
    "": "see the fields of a package in the plugin authoring reference",
    "/schema_version": 'write "schema_version": 1',
    "/id": 'write a stable id such as "example.notes"',
    "/name": "write a name for people",
    "/version": 'write a version such as "0.1.0"',
    "/description": "write text, or leave it out",
    "/runtime": 'write {"protocol": "wuu-plugin-v1", "command": …}, or leave it out: then it is no module',
    "/runtime/protocol": 'write "wuu-plugin-v1" for JSON lines or "wuu-mesh-grpc-v1" for gRPC',
    "/runtime/command": "write a name on PATH, or a path within the package",
    "/runtime/args": "write an array of strings",
    "/runtime/timeout": "write seconds, greater than 0 and at most 86400, or leave it out",
    "/runtime/env": "write an array of names of environment variables",
    "/runtime/max_in_flight": "write an integer of at least 1, or leave it out",
    "/minimum_wuu_version": 'write a version of Wuu such as "2026.1108.0", or leave it out',
    "/platforms": 'write an array of platforms such as "linux" or "darwin-arm64", or leave it out',
    "/requires": _IDS,
    "/dependencies": 'write an array of {"id", "version", "optional"}, or leave it out',
    "/dependencies/id": "write the id of another package",
    "/dependencies/version": 'write a range such as "^1.0.0" or ">=1.2.0 <2.0.0", or leave it out',
    "/dependencies/optional": "write true or false, or leave it out",
    "/breaks": _IDS,
    "/conflicts": _IDS,
    "/mcp_servers": "write an object of servers by name, or leave it out",
    "/contributes/slots": f"use {_FORMER['slots']}",
    "/contributes/surfaces": f"use {_FORMER['surfaces']}",
    "/desktop/entry": "write the path of a module within the package",
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
    if twice := _written_twice(located.value):
        raise _bad(root, module, *twice)
    try:
        manifest = msgspec.convert(_canonical(located.value), Manifest)
    except msgspec.ValidationError as invalid:
        pointer, rule = _place(str(invalid))
        exact = _with_key(_canonical(located.value), pointer)
        raise _bad(root, module, exact, rule, written=located.value) from None
    broken = next(_broken_rules(located, manifest), None)
    if broken is not None:
        raise _bad(root, module, *broken, written=located.value)
    return manifest


def _written_twice(value: Any) -> tuple[str, str] | None:
    names = value if isinstance(value, dict) else {}
    for alias, field in _ALIASES.items():
        if alias in names and field in names:
            return f"/{alias}", f"is another word for /{field}, which is given, too; leave one of them out"
    return None


def _canonical(value: Any) -> Any:
    """The manifest with each field under the name that it has here."""
    if not isinstance(value, dict):
        return value
    return {_ALIASES.get(name, name): each for name, each in value.items()}


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
    if manifest.runtime is not None:
        yield from _broken_runtime(manifest.runtime)
    if manifest.minimum_wuu_version and not CALVER.fullmatch(manifest.minimum_wuu_version):
        yield "/minimum_wuu_version", f"'{manifest.minimum_wuu_version}' is not a version of Wuu"
    for index, name in enumerate(manifest.platforms):
        if not PLATFORM.fullmatch(name):
            yield f"/platforms/{index}", f"'{name}' is not a platform"
    yield from _broken_relations(manifest)
    written: Any = located.value
    for field in ("runtime", "desktop"):
        if field in written and written[field] is None:
            yield f"/{field}", "is null"
    for former in _FORMER:
        if former in written.get("contributes", {}):
            yield f"/contributes/{former}", "is no longer a contribution"
    if manifest.desktop is not None and _leads_out(manifest.desktop.entry):
        yield "/desktop/entry", f"'{manifest.desktop.entry}' leads out of the package"


def _broken_runtime(runtime: Runtime) -> Iterator[tuple[str, str]]:
    command = runtime.command
    if not command.startswith("/") and _leads_out(command):
        yield "/runtime/command", f"'{command}' leads out of the package"
    if "\0" in command:
        yield "/runtime/command", "has a NUL"
    for index, argument in enumerate(runtime.args):
        if "\0" in argument:
            yield f"/runtime/args/{index}", "has a NUL"
    for index, name in enumerate(runtime.env):
        if not ENVIRONMENT_NAME.fullmatch(name):
            yield f"/runtime/env/{index}", f"'{name}' is not the name of an environment variable"


def _broken_relations(manifest: Manifest) -> Iterator[tuple[str, str]]:
    named = {
        "requires": manifest.requires,
        "dependencies": tuple(each.id for each in manifest.dependencies),
        "breaks": manifest.breaks,
        "conflicts": manifest.conflicts,
    }
    for field, modules in named.items():
        counted = Counter[str]()
        for index, module in enumerate(modules):
            counted[module] += 1
            pointer = f"/{field}/{index}" + ("/id" if field == "dependencies" else "")
            if not MODULE_ID.fullmatch(module) or len(module) > MODULE_ID_LIMIT:
                yield pointer, f"'{module}' is not the id of a package"
            if module == manifest.id:
                yield pointer, f"'{module}' is the package itself"
            if counted[module] == 2:
                yield pointer, f"'{module}' is named twice"
    for index, dependency in enumerate(manifest.dependencies):
        if why := check_range(dependency.version):
            yield f"/dependencies/{index}/version", why
        if dependency.optional and dependency.id in manifest.requires:
            rule = f"'{dependency.id}' is in /requires, so that it cannot be optional"
            yield f"/dependencies/{index}/optional", rule


def _leads_out(path: str) -> bool:
    return path.startswith("/") or posixpath.normpath(path).split("/")[0] == ".."


def _place(message: str) -> tuple[str, str]:
    """The pointer and the rule in a message of msgspec, which says ``… - at `$.runtime.args[0]` ``."""
    rule, _, path = message.partition(" - at `$")
    path = path.removesuffix("`").replace("[...]", f"[{_ANY}]")
    pointer = re.sub(rf"\.([^.\[`]+)|\[(\d+|{re.escape(_ANY)})\]", r"/\1\2", path)
    missing = re.fullmatch("Object missing required field `(.+)`", rule)
    return (f"{pointer}/{missing[1]}", "is required") if missing else (pointer, rule)


def _with_key(value: Any, pointer: str) -> str:
    """The pointer with the key of a mapping in it, of which msgspec says only that it is some key."""
    before, some, after = pointer.partition(f"/{_ANY}")
    if not some:
        return pointer
    parts = before.split("/")[1:]
    holder: Any = value
    for part in parts[:-1]:
        holder = holder[int(part) if isinstance(holder, list) else part]
    mapping = holder[parts[-1]]
    for key, each in mapping.items():
        holder[parts[-1]] = {key: each}
        try:
            msgspec.convert(value, Manifest)
        except msgspec.ValidationError:
            return f"{before}/{key}{after}"
    return before


def _bad(root: Path, module: str, pointer: str, rule: str, *, written: Any = None) -> BadPackage:
    remedy = _REMEDIES.get(re.sub(r"/\d+(?=/|$)", "", pointer), "correct it")
    for alias, field in _ALIASES.items():
        if isinstance(written, dict) and alias in written and f"{pointer}/".startswith(f"/{field}/"):
            pointer = pointer.replace(field, alias, 1)
    place = f"{MANIFEST}: {pointer}" if pointer else MANIFEST
    return BadPackage(root, f"{place}: {rule}; {remedy}", module=module)
