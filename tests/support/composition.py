"""A composition as a test writes it: the document, and the packages that it names, in a directory."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec

from tests.support import bare as bare_provider
from tests.support import probe as probe_provider
from tests.support.script import Action, Config, StepName

RECORD = "record"
"""The file beside the composition in which probes record their steps."""


@dataclass(frozen=True, kw_only=True)
class Entry:
    """A module of the composition and the package that offers it."""

    id: str
    argv: Sequence[str] = ()
    """What its manifest starts; empty: the product offers the package."""
    config: Any = None
    """Its configuration; None: there is none."""
    enabled: bool = True
    timeout: float | None = None
    """Seconds that the composition gives to each step; None: what the manifest says."""
    runtime: Mapping[str, object] = field(default_factory=dict)
    """More fields of the manifest's runtime."""
    manifest: str | None = None
    """Stands in place of the whole manifest."""
    program: str = ""
    """The text of an executable file `program` in the package."""


def probe(
    id: str,  # noqa: A002
    *,
    provides: Sequence[str] = (),
    requires: Sequence[str] = (),
    methods: Sequence[str] = (),
    streams: str = "",
    tools: Sequence[str] = (),
    steps: Mapping[StepName, Action | Sequence[Action]] | None = None,
    lifecycle: int = 2,
    features: Sequence[str] = (),
    rubbish: Sequence[str] = (),
    enabled: bool = True,
    timeout: float | None = None,
    max_in_flight: int | None = None,
) -> Entry:
    """A probe: see `tests.support.script.Config`. It prints `rubbish` on standard output before it starts."""
    config = Config(
        provides=tuple(provides),
        requires=tuple(requires),
        methods=tuple(methods),
        streams=streams,
        tools=tuple(tools),
        record=f"../../{RECORD}",
        steps={
            step: (taken,) if isinstance(taken, Action) else tuple(taken)
            for step, taken in (steps or {}).items()
        },
        lifecycle=lifecycle,
        features=tuple(features),
    )
    return Entry(
        id=id,
        argv=(*command(probe_provider.__name__), *rubbish),
        config=json.loads(msgspec.json.encode(config)),
        enabled=enabled,
        timeout=timeout,
        runtime={} if max_in_flight is None else {"max_in_flight": max_in_flight},
    )


def command(program: str) -> tuple[str, ...]:
    """What starts a provider of the tests: as a module it is compiled once, and as a file at every start."""
    return ("python", "-P", "-m", program)


def bare(id: str) -> Entry:  # noqa: A002
    """The bare provider."""
    return Entry(id=id, argv=command(bare_provider.__name__))


def shell(id: str, script: str, *, timeout: float | None = None) -> Entry:  # noqa: A002
    """A module that is a line of shell, and so no provider at all."""
    return Entry(id=id, argv=("sh", "-c", script), timeout=timeout)


def select(service: str, provider: str, consumer: str | None = None) -> dict[str, object]:
    """A selection: `select("probe.a@1", "b")`."""
    name, _, major = service.partition("@")
    chosen: dict[str, object] = {"service": name, "major": int(major), "provider": provider}
    return chosen if consumer is None else {**chosen, "consumer": consumer}


def write(directory: Path, *entries: Entry, services: Iterable[Mapping[str, object]] = ()) -> Path:
    """Writes the packages and the composition; returns the path of the latter."""
    modules: dict[str, object] = {}
    packages = directory / "packages"
    for entry in entries:
        if entry.argv or entry.manifest:
            (packages / entry.id).mkdir(parents=True, exist_ok=True)
            manifest = entry.manifest or json.dumps(_manifest(entry))
            (packages / entry.id / "plugin.json").write_text(manifest)
        if entry.program:
            program = packages / entry.id / "program"
            program.write_text(entry.program)
            program.chmod(0o755)
        listed = {"enabled": entry.enabled, "config": entry.config, "timeout": entry.timeout}
        modules[entry.id] = {key: value for key, value in listed.items() if value is not None}
    document: dict[str, object] = {"version": 4, "modules": modules, "services": list(services)}
    if packages.is_dir():
        document["packages"] = ["packages/*"]
    composition = directory / "composition.json"
    composition.write_text(json.dumps(document, indent=1))
    return composition


def _manifest(entry: Entry) -> dict[str, object]:
    command, *args = entry.argv
    return {
        "schema_version": 1,
        "id": entry.id,
        "name": f"The module {entry.id}",
        "version": "1.2.3",
        "runtime": {"protocol": "wuu-mesh-grpc-v1", "command": command, "args": args, **entry.runtime},
    }
