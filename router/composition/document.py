"""Document: the operator's composition as it is written.

Source: *Vocabulary* and *Resolution* of the design; 产品 profile 与渲染器绑定.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass

from contract.declaration import SERVICE_NAME
from router.composition.bundle import PROFILES
from router.composition.nearest import nearest
from router.composition.position import Located, Malformed, locate, step
from router.composition.rejected import Problem, Rejected
from router.limits import MAX_TIMEOUT

VERSION = 4
"""The version of the document's form that is read here."""

DEFAULT_PROFILE = "headless"
"""The profile of a document that names none."""


@dataclass(frozen=True, slots=True)
class ModuleEntry:
    """What the composition says about one module."""

    enabled: bool = True
    """A disabled module stays in the graph and is never started."""
    config: bytes | None = None
    """The module's configuration: a JSON object, byte for byte as written; None where there is none."""
    timeout: float | None = None
    """Seconds that bound every step (start, initialize, prepare, activate, service-changed); None: what the
    manifest says."""


@dataclass(frozen=True, slots=True)
class Selection:
    """The choice of a provider for one service."""

    service: str
    major: int
    provider: str
    consumer: str | None
    """The module that the choice is for; None: every module without a choice of its own."""
    source: str
    """Where the choice was made: `NAME:LINE` of the document, or `profile PROFILE`."""


@dataclass(frozen=True, slots=True)
class Document:
    """A composition that obeys the rules of its form; whether the names in it exist is not looked at yet."""

    version: int
    profile: str
    modules: Mapping[str, ModuleEntry] | None
    """None: not given, so those of the profile. An empty set stays empty."""
    services: tuple[Selection, ...]
    packages: tuple[str, ...]
    """Directories or globs in which packages are found, relative to the document's directory."""
    name: str
    """The file's name, for diagnostics."""
    revoked: frozenset[str] = frozenset()
    """Modules that the operator disabled since. A selection of one stands, and has nobody to serve it; in a
    document that says so itself it would be a contradiction."""


def parse_document(text: bytes, *, name: str) -> Document:
    """The document in `text`; `name` stands in the places of its problems.

    Raises `Rejected` with every problem: with line and column where the text is not JSON, otherwise with the
    pointer to the value.
    """
    try:
        located = locate(text)
    except Malformed as malformed:
        where = f"{name}:{malformed.line}:{malformed.column}"
        raise Rejected((Problem(where, malformed.message),)) from None
    reader = _Reader(name, located)
    document = reader.document()
    if reader.problems:
        raise Rejected(tuple(reader.problems))
    return document


class _Reader:
    """Reads values and notes what is wrong with them, so that one run finds every problem.

    What is wrong is read as something harmless; the document is dropped in the end.
    """

    def __init__(self, name: str, located: Located) -> None:
        self.name = name
        self.located = located
        self.problems: list[Problem] = []
        for pointer, line in located.repeated:
            self.note(pointer, f"is given again on line {line}; keep one")

    def note(self, pointer: str, message: str) -> None:
        where = f"{self.name}: {pointer}" if pointer else self.name
        self.problems.append(Problem(where, message))

    def document(self) -> Document:
        fields = self.members(
            self.located.value, "", ("version", "profile", "modules", "services", "packages")
        )
        self.version(fields)
        return Document(
            version=VERSION,
            profile=self.profile(fields.get("profile", DEFAULT_PROFILE)),
            modules=self.modules(fields["modules"]) if "modules" in fields else None,
            services=self.services(fields.get("services", [])),
            packages=self.packages(fields.get("packages", [])),
            name=self.name,
        )

    def version(self, fields: Mapping[str, object]) -> None:
        if "version" not in fields:
            self.note("/version", f'is required: write "version": {VERSION}')
            return
        value = fields["version"]
        if type(value) is not int or value != VERSION:
            self.note("/version", f"{_shown(value)} is not a known version; write version {VERSION}")

    def profile(self, value: object) -> str:
        if isinstance(value, str) and value in PROFILES:
            return value
        hint = nearest(value, PROFILES) if isinstance(value, str) else ""
        known = f"; known: {', '.join(PROFILES)}"
        self.note("/profile", f"{_shown(value)} is not a profile{hint or known}")
        return DEFAULT_PROFILE

    def modules(self, value: object) -> Mapping[str, ModuleEntry]:
        entries = self.members(value, "/modules", None)
        return {module: self.entry(entry, step("/modules", module)) for module, entry in entries.items()}

    def entry(self, value: object, pointer: str) -> ModuleEntry:
        if isinstance(value, bool):
            return ModuleEntry(enabled=value)
        if not isinstance(value, dict):
            self.note(pointer, f"must be true, false or an object, not {_shown(value)}")
            return ModuleEntry()
        fields = self.members(value, pointer, ("enabled", "config", "timeout"))
        enabled = fields.get("enabled", True)
        if not isinstance(enabled, bool):
            self.note(f"{pointer}/enabled", f"must be true or false, not {_shown(enabled)}")
        config = None
        if "config" in fields:
            self.members(fields["config"], f"{pointer}/config", None)
            config = self.located.raw(f"{pointer}/config")
        timeout = None
        if "timeout" in fields:
            timeout = self.timeout(fields["timeout"], f"{pointer}/timeout")
        return ModuleEntry(enabled is True, config, timeout)

    def timeout(self, value: object, pointer: str) -> float:
        if isinstance(value, int | float) and not isinstance(value, bool) and 0 < value <= MAX_TIMEOUT:
            return float(value)
        self.note(
            pointer, f"must be seconds, greater than 0 and at most {MAX_TIMEOUT:.0f}, not {_shown(value)}"
        )
        return 0.0

    def services(self, value: object) -> tuple[Selection, ...]:
        selections = [
            self.selection(element, f"/services/{index}")
            for index, element in enumerate(self.elements(value, "/services"))
        ]
        first: dict[tuple[str | None, str, int], Selection] = {}
        for index, selection in enumerate(selections):
            if not selection.service or not selection.major:
                continue
            other = first.setdefault((selection.consumer, selection.service, selection.major), selection)
            if other is not selection:
                consumer = f"consumer '{selection.consumer}'" if selection.consumer else "every consumer"
                message = (
                    f"{selection.service}@{selection.major} is selected twice for {consumer}: "
                    f"'{other.provider}' at {other.source} and '{selection.provider}' at {selection.source}"
                )
                self.note(f"/services/{index}", f"{message}; keep one")
        return tuple(selections)

    def selection(self, value: object, pointer: str) -> Selection:
        fields = self.members(value, pointer, ("service", "major", "provider", "consumer"))
        service = self.string(fields, pointer, "service")
        if service and not SERVICE_NAME.fullmatch(service):
            self.note(f"{pointer}/service", f"'{service}' is not a service name such as state.documents")
        return Selection(
            service=service,
            major=self.major(fields, pointer),
            provider=self.string(fields, pointer, "provider"),
            consumer=self.string(fields, pointer, "consumer") if "consumer" in fields else None,
            source=f"{self.name}:{self.located.line(pointer)}",
        )

    def major(self, fields: Mapping[str, object], pointer: str) -> int:
        if "major" not in fields:
            self.note(f"{pointer}/major", "is required: the service's major version, such as 1")
            return 0
        value = fields["major"]
        if type(value) is int and value >= 1:
            return value
        self.note(f"{pointer}/major", f"must be an integer of at least 1, not {_shown(value)}")
        return 0

    def packages(self, value: object) -> tuple[str, ...]:
        patterns = self.elements(value, "/packages")
        for index, pattern in enumerate(patterns):
            if not isinstance(pattern, str) or not pattern:
                self.note(
                    f"/packages/{index}",
                    f'must be a directory or a glob such as "./plugins/*", not {_shown(pattern)}',
                )
        return tuple(map(str, patterns))

    def string(self, fields: Mapping[str, object], pointer: str, field: str) -> str:
        if field not in fields:
            self.note(f"{pointer}/{field}", "is required")
            return ""
        value = fields[field]
        if isinstance(value, str) and value:
            return value
        self.note(f"{pointer}/{field}", f"must be a string that is not empty, not {_shown(value)}")
        return ""

    def elements(self, value: object, pointer: str) -> list[object]:
        if isinstance(value, list):
            return value
        self.note(pointer, f"must be an array, not {_shown(value)}")
        return []

    def members(self, value: object, pointer: str, known: Collection[str] | None) -> Mapping[str, object]:
        """The members of an object; `known` names the fields that it may have, None allows any."""
        if not isinstance(value, dict):
            self.note(pointer, f"must be an object, not {_shown(value)}")
            return {}
        for field in value:
            if known is not None and field not in known:
                hint = nearest(field, known) or f"; known: {', '.join(known)}"
                self.note(step(pointer, field), f"unknown field{hint}")
        return value


def _shown(value: object) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 60 else f"{text[:59]}…"
