"""Document: one composition file as it is written.

Source: *Vocabulary* and *Resolution* of the design; 产品 profile 与渲染器绑定.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from msgspec import Struct

from contract.declaration import SERVICE_NAME
from router.composition.bundle import BUNDLES, PROFILES
from router.composition.form import (
    SINCE,
    VERSION,
    VERSIONS,
    Choice,
    DocumentForm,
    Entry,
    PatchForm,
    RemovalForm,
    fields_of,
)
from router.composition.nearest import nearest
from router.composition.position import Located, Malformed, locate, step
from router.composition.rejected import Problem, Rejected
from router.limits import MAX_TIMEOUT

_ENDPOINT = re.compile(r"dns:///.+")

_MIGRATE = "`wuu-mesh composition migrate` rewrites the file"

Key = tuple[str, int]
"""A service and its major."""


@dataclass(frozen=True, slots=True)
class ModuleEntry:
    """What a composition says about one module. Of an entry in a patch None means: not said."""

    enabled: bool | None = True
    """A disabled module stays in the graph and is never started."""
    config: bytes | None = None
    """The module's configuration: a JSON object, byte for byte as written; None where there is none."""
    timeout: float | None = None
    """Seconds that bound every step (start, initialize, prepare, activate, service-changed); None: what the
    manifest says."""
    endpoint: str | None = None
    """Where the module is served, instead of being started; None: it is started."""
    source: str = field(default="", compare=False)
    """Where it was said last, as in `Selection`."""

    def changed_by(self, change: ModuleEntry) -> ModuleEntry:
        """The entry after a patch, which changes what it says."""
        return ModuleEntry(
            enabled=self.enabled if change.enabled is None else change.enabled,
            config=self.config if change.config is None else change.config,
            timeout=self.timeout if change.timeout is None else change.timeout,
            endpoint=self.endpoint if change.endpoint is None else change.endpoint,
            source=change.source,
        )


@dataclass(frozen=True, slots=True)
class Selection:
    """The choice of a provider for one service."""

    service: str
    major: int
    provider: str
    consumer: str | None
    """The module that the choice is for; None: every module without a choice of its own."""
    source: str
    """Where the choice was made: `NAME:LINE` of a document, `profile PROFILE` or `bundle BUNDLE`."""

    @property
    def edge(self) -> Edge:
        """What it chooses for."""
        return self.consumer, (self.service, self.major)


@dataclass(frozen=True, slots=True)
class Removal:
    """The one selection that a patch takes away."""

    service: str
    major: int
    consumer: str | None
    source: str
    """As in `Selection`."""

    @property
    def edge(self) -> Edge:
        """What there is to be no choice for."""
        return self.consumer, (self.service, self.major)


Edge = tuple[str | None, Key]
"""A consumer (None: every one) and what it requires."""


@dataclass(frozen=True, slots=True)
class Patch:
    """A change to what stands before it. Removals come first."""

    modules: Mapping[str, ModuleEntry] = field(default_factory=dict)
    services: tuple[Selection, ...] = ()
    removals: tuple[Removal, ...] = ()


@dataclass(frozen=True, slots=True)
class Reference:
    """A path or a pattern that a document has, relative to its own directory."""

    path: str
    document: str
    """The name of the document."""
    where: str
    """Its place, for problems."""


@dataclass(frozen=True, slots=True)
class Document:
    """A composition that obeys the rules of its form; whether the names in it exist is not looked at yet."""

    version: int
    name: str
    """The file's name, for diagnostics."""
    profile: str | None = None
    """None: not given."""
    bundles: tuple[str, ...] | None = None
    """The bundles that apply in the place of the profile's; None: not given."""
    modules: Mapping[str, ModuleEntry] | None = None
    """All the modules there are; None: not given. An empty set stays empty."""
    services: tuple[Selection, ...] = ()
    patches: tuple[Patch, ...] = ()
    packages: tuple[Reference, ...] = ()
    """Directories or patterns in which packages are found."""
    include: tuple[Reference, ...] = ()
    """Documents that apply before this one."""


def parse_document(text: bytes, *, name: str) -> Document:
    """The document in `text`; `name` stands in the places of its problems.

    Raises `Rejected` with every problem: with line and column where the text is not JSON, otherwise with the
    line and the pointer of the value.
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
        self.version = VERSION
        for pointer, line in located.repeated:
            self.note(pointer, f"is given again on line {line}; keep one")

    def note(self, pointer: str, message: str) -> None:
        self.problems.append(Problem(self.place(pointer), message))

    def place(self, pointer: str) -> str:
        """The line of the value, or of what it is missing in, and the pointer to it."""
        where = self.source(pointer)
        return f"{where}: {pointer}" if pointer else where

    def source(self, pointer: str) -> str:
        """`NAME:LINE`."""
        there = pointer
        while there and there not in self.located.spans:
            there = there.rpartition("/")[0]
        return f"{self.name}:{self.located.line(there)}"

    def document(self) -> Document:
        value = self.located.value
        if isinstance(value, dict) and value.get("version") in VERSIONS:
            self.version = value["version"]
        fields = self.members(value, "", DocumentForm)
        self.check_version(fields)
        self.check_schema(fields.get("$schema", ""))
        return Document(
            version=self.version,
            name=self.name,
            profile=self.profile(fields["profile"]) if "profile" in fields else None,
            bundles=self.bundles(fields["bundles"]) if "bundles" in fields else None,
            modules=self.modules(fields["modules"], "/modules") if "modules" in fields else None,
            services=self.selections(fields.get("services", []), "/services"),
            patches=self.patches(fields.get("patches", [])),
            packages=self.packages(fields.get("packages", [])),
            include=self.include(fields.get("include", [])),
        )

    def check_version(self, fields: Mapping[str, object]) -> None:
        if "version" not in fields:
            self.note("/version", f'is required: write "version": {VERSION}')
            return
        value = fields["version"]
        if type(value) is not int or value not in VERSIONS:
            self.note("/version", f"{_shown(value)} is not a known version; write version {VERSION}")

    def check_schema(self, value: object) -> None:
        if not isinstance(value, str):
            self.note("/$schema", f"must be a string, not {_shown(value)}")

    def profile(self, value: object) -> str:
        return self.named(value, "/profile", "profile", PROFILES)

    def bundles(self, value: object) -> tuple[str, ...]:
        return tuple(
            self.named(bundle, f"/bundles/{index}", "bundle", BUNDLES)
            for index, bundle in enumerate(self.elements(value, "/bundles"))
        )

    def named(self, value: object, pointer: str, kind: str, known: Mapping[str, object]) -> str:
        if isinstance(value, str) and value in known:
            return value
        hint = nearest(value, known) if isinstance(value, str) else ""
        known_names = f"; known: {', '.join(known)}"
        self.note(pointer, f"{_shown(value)} is not a {kind}{hint or known_names}")
        return next(iter(known))

    def modules(self, value: object, pointer: str) -> Mapping[str, ModuleEntry]:
        return {
            module: self.entry(entry, step(pointer, module), enabled=True)
            for module, entry in self.members(value, pointer).items()
        }

    def entry(self, value: object, pointer: str, *, enabled: bool | None) -> ModuleEntry:
        """`enabled`: what holds where nothing is said."""
        source = self.source(pointer)
        if isinstance(value, bool):
            return ModuleEntry(enabled=value, source=source)
        if not isinstance(value, dict):
            self.note(pointer, f"must be true, false or an object, not {_shown(value)}")
            return ModuleEntry(source=source)
        fields = self.members(value, pointer, Entry)
        if "enabled" in fields:
            said = fields["enabled"]
            if not isinstance(said, bool):
                self.note(f"{pointer}/enabled", f"must be true or false, not {_shown(said)}")
            enabled = said is True
        config = None
        if "config" in fields:
            self.members(fields["config"], f"{pointer}/config")
            config = self.located.raw(f"{pointer}/config")
        timeout = endpoint = None
        if "timeout" in fields:
            timeout = self.timeout(fields["timeout"], f"{pointer}/timeout")
        if "endpoint" in fields:
            endpoint = self.endpoint(fields["endpoint"], f"{pointer}/endpoint")
        return ModuleEntry(enabled, config, timeout, endpoint, source)

    def timeout(self, value: object, pointer: str) -> float:
        if isinstance(value, int | float) and not isinstance(value, bool) and 0 < value <= MAX_TIMEOUT:
            return float(value)
        self.note(
            pointer, f"must be seconds, greater than 0 and at most {MAX_TIMEOUT:.0f}, not {_shown(value)}"
        )
        return 0.0

    def endpoint(self, value: object, pointer: str) -> str:
        if isinstance(value, str) and _ENDPOINT.fullmatch(value):
            return value
        self.note(pointer, f'must be a target such as "dns:///host:443", not {_shown(value)}')
        return ""

    def patches(self, value: object) -> tuple[Patch, ...]:
        return tuple(
            self.patch(element, f"/patches/{index}")
            for index, element in enumerate(self.elements(value, "/patches"))
        )

    def patch(self, value: object, pointer: str) -> Patch:
        fields = self.members(value, pointer, PatchForm)
        return Patch(
            modules={
                module: self.entry(entry, step(f"{pointer}/modules", module), enabled=None)
                for module, entry in self.members(fields.get("modules", {}), f"{pointer}/modules").items()
            },
            services=self.selections(fields.get("services", []), f"{pointer}/services"),
            removals=self.removals(fields.get("remove_services", []), f"{pointer}/remove_services"),
        )

    def selections(self, value: object, pointer: str) -> tuple[Selection, ...]:
        selections = [
            self.selection(element, f"{pointer}/{index}")
            for index, element in enumerate(self.elements(value, pointer))
        ]
        first: dict[Edge, Selection] = {}
        for index, selection in enumerate(selections):
            if not selection.service or not selection.major:
                continue
            other = first.setdefault(selection.edge, selection)
            if other is not selection:
                twice = f"{selection.service}@{selection.major} is selected twice"
                message = (
                    f"{twice} for {whom(selection.consumer)}: "
                    f"'{other.provider}' at {other.source} and '{selection.provider}' at {selection.source}"
                )
                self.note(f"{pointer}/{index}", f"{message}; keep one")
        return tuple(selections)

    def selection(self, value: object, pointer: str) -> Selection:
        fields = self.members(value, pointer, Choice)
        service, major = self.key(fields, pointer)
        return Selection(
            service=service,
            major=major,
            provider=self.string(fields, pointer, "provider"),
            consumer=self.string(fields, pointer, "consumer") if "consumer" in fields else None,
            source=self.source(pointer),
        )

    def removals(self, value: object, pointer: str) -> tuple[Removal, ...]:
        return tuple(
            self.removal(element, f"{pointer}/{index}")
            for index, element in enumerate(self.elements(value, pointer))
        )

    def removal(self, value: object, pointer: str) -> Removal:
        fields = self.members(value, pointer, RemovalForm)
        service, major = self.key(fields, pointer)
        consumer = self.string(fields, pointer, "consumer") if "consumer" in fields else None
        return Removal(service, major, consumer, self.source(pointer))

    def key(self, fields: Mapping[str, object], pointer: str) -> Key:
        service = self.string(fields, pointer, "service")
        if service and not SERVICE_NAME.fullmatch(service):
            self.note(f"{pointer}/service", f"'{service}' is not a service name such as state.documents")
        return service, self.major(fields, pointer)

    def major(self, fields: Mapping[str, object], pointer: str) -> int:
        if "major" not in fields:
            self.note(f"{pointer}/major", "is required: the service's major version, such as 1")
            return 0
        value = fields["major"]
        if type(value) is int and value >= 1:
            return value
        self.note(f"{pointer}/major", f"must be an integer of at least 1, not {_shown(value)}")
        return 0

    def packages(self, value: object) -> tuple[Reference, ...]:
        return self.references(value, "/packages", 'a directory or a glob such as "./plugins/*"')

    def include(self, value: object) -> tuple[Reference, ...]:
        references = self.references(value, "/include", 'a path such as "./team.json"')
        for index, reference in enumerate(references):
            if reference.path.startswith("/"):
                self.note(f"/include/{index}", f"'{reference.path}' must be relative to this file")
        return references

    def references(self, value: object, pointer: str, what: str) -> tuple[Reference, ...]:
        references = []
        for index, element in enumerate(self.elements(value, pointer)):
            if not isinstance(element, str) or not element:
                self.note(f"{pointer}/{index}", f"must be {what}, not {_shown(element)}")
            references.append(Reference(str(element), self.name, self.place(f"{pointer}/{index}")))
        return tuple(references)

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

    def members(self, value: object, pointer: str, form: type[Struct] | None = None) -> Mapping[str, object]:
        """The members of an object; `form` says which it may have, None allows any."""
        if not isinstance(value, dict):
            self.note(pointer, f"must be an object, not {_shown(value)}")
            return {}
        if form is None:
            return value
        known = fields_of(form)
        for name in value:
            since = SINCE.get((form, name), 0)
            if name not in known:
                hint = nearest(name, known) or f"; known: {', '.join(known)}"
                self.note(step(pointer, name), f"unknown field{hint}")
            elif since > self.version:
                self.note(step(pointer, name), f"is of version {since}, not {self.version}; {_MIGRATE}")
        return value


def whom(consumer: str | None) -> str:
    """Whom a selection is for, in words."""
    return f"consumer '{consumer}'" if consumer else "every consumer"


def _shown(value: object) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 60 else f"{text[:59]}…"
