"""Reading a composition: its files, layer by layer, and the packages that it can name.

The layers are the product, the installed packages, the user's file, the workspace's and the one of the
command line, each over those before it. A file may include others, which stand beneath it.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

import msgspec

from router.composition.composed import Composed, compose
from router.composition.document import Document, parse_document
from router.composition.form import VERSION
from router.composition.rejected import Problem, Rejected
from router.composition.resolve import resolve
from router.home import Home
from router.packages.discovery import (
    Discovery,
    directories_of,
    discover,
    first_party_directory,
    installed,
    offers_module,
)
from router.packages.ledger import Ledger
from router.packages.manifest import BadPackage
from router.workspace import is_trusted

INSTALLED = "installed"
USER = "user"
WORKSPACE = "workspace"
COMMAND_LINE = "command line"

LAYERS = (INSTALLED, USER, WORKSPACE, COMMAND_LINE)
"""The layers that files are of; what a later one says wins."""


@dataclass(frozen=True, slots=True)
class Source:
    """One file of a composition, as it was read."""

    layer: str
    path: Path
    """Absolute; what the file names is relative to its directory."""
    text: bytes


@dataclass(frozen=True, slots=True)
class Composition:
    """A composition as the operator gave it, and what was switched since: what a commit keeps."""

    sources: tuple[Source, ...] = ()
    """Its files, the one that applies first first; none: the product's own."""
    enabled: Mapping[str, bool] = field(default_factory=dict)
    """The modules that `enable` and `disable` named since."""

    @property
    def path(self) -> Path | None:
        """The file that applies last; None for the product's own."""
        return self.files[-1] if self.files else None

    @property
    def files(self) -> tuple[Path, ...]:
        """The files that somebody wrote, the one that applies first first."""
        return tuple(source.path for source in self.sources if source.layer != INSTALLED)

    @property
    def given(self) -> Path | None:
        """The file of the command line; None where none was named."""
        last = self.sources[-1] if self.sources else None
        return last.path if last is not None and last.layer == COMMAND_LINE else None

    @property
    def name(self) -> str:
        """What it is called where there is no room for a path."""
        return self.path.name if self.path is not None else "the product's own"

    def with_installed(self, ledger: Ledger) -> Composition:
        """The same over the packages that are installed now."""
        others = (source for source in self.sources if source.layer != INSTALLED)
        return replace(self, sources=(*installed_layer(ledger), *others))

    def composed(self) -> Composed:
        """What its documents come to. Raises `Rejected` with the problems of every file."""
        documents: list[Document] = []
        problems: list[Problem] = []
        for source in self.sources:
            try:
                documents.append(parse_document(source.text, name=str(source.path)))
            except Rejected as rejected:
                problems += rejected.problems
        if problems:
            raise Rejected(tuple(problems))
        return compose(documents).switched(self.enabled)


@dataclass(frozen=True, slots=True)
class Layers:
    """The files that a command found."""

    sources: tuple[Source, ...]
    untrusted: tuple[Source, ...] = ()
    """Those of a workspace that is not trusted: they do not apply."""

    @property
    def composition(self) -> Composition:
        """The composition that they are."""
        return Composition(self.sources)


def user_file() -> Path:
    """Where the user's layer is; it need not exist."""
    config = os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config"
    return Path(config) / "wuu-mesh" / "composition.json"


def workspace_file(workspace: Path) -> Path:
    """Where the layer of a workspace is; it need not exist."""
    return workspace / ".wuu" / "composition.json"


def layers(home: Home, given: Path | None, workspace: Path | None) -> Layers:
    """The files of a composition: `given` on the command line, in a workspace, where there is one.

    Raises OSError for one that cannot be read, and `Rejected` for an include that leads nowhere.
    """
    ledger = Ledger.read(home)
    sources = list(installed_layer(ledger))
    untrusted: tuple[Source, ...] = ()
    if user_file().is_file():
        sources += gather(user_file(), USER)
    if workspace is not None and workspace_file(workspace).is_file():
        found = gather(workspace_file(workspace), WORKSPACE)
        if is_trusted(ledger, found[-1].path, [each.text for each in found]):
            sources += found
        else:
            untrusted = found
    if given is not None:
        sources += gather(given, COMMAND_LINE)
    return Layers(tuple(sources), untrusted)


def installed_layer(ledger: Ledger) -> tuple[Source, ...]:
    """What the installed packages add to the product: each is a module that is enabled, or not.

    A package without a runtime is none. A file that names its `modules` has those alone.
    """
    modules = {row.id: row.enabled for row in ledger.installed.values() if offers_module(row.root)}
    if not modules:
        return ()
    document = {"version": VERSION, "patches": [{"modules": modules}]}
    return (Source(INSTALLED, ledger.home.ledger, msgspec.json.encode(document)),)


def gather(path: Path, layer: str) -> tuple[Source, ...]:
    """A file with everything that it includes, each file once and before whoever includes it.

    Raises OSError where the file itself cannot be read, and `Rejected` for includes that cannot or that lead
    back to where they came from.
    """
    gathering = _Gathering(layer)
    gathering.take(Path(os.path.abspath(path)), ())
    if gathering.problems:
        raise Rejected(tuple(gathering.problems))
    return tuple(gathering.sources.values())


@dataclass(slots=True)
class _Gathering:
    layer: str
    sources: dict[Path, Source] = field(default_factory=dict)
    problems: list[Problem] = field(default_factory=list)

    def take(self, path: Path, above: tuple[Path, ...]) -> None:
        if above and path.exists() and not path.is_file() and not path.is_dir():
            # A pipe might never end; one on the command line is the operator's own affair.
            raise ValueError("it is not a plain file")
        text = path.read_bytes()
        chain = (*above, path)
        try:
            include = parse_document(text, name=str(path)).include
        except Rejected:
            include = ()  # What is wrong with it is said with the problems of the others.
        for each in include:
            target = Path(os.path.abspath(path.parent / each.path))
            if target in chain:
                ring = " → ".join(str(step) for step in (*chain[chain.index(target) :], target))
                message = f"the includes lead back to where they began: {ring}"
                self.problems.append(Problem(each.where, message))
            elif target not in self.sources:
                try:
                    self.take(target, chain)
                except (OSError, ValueError) as unreadable:
                    why = unreadable.strerror if isinstance(unreadable, OSError) else unreadable
                    self.problems.append(Problem(each.where, f"{target} cannot be read: {why}"))
        self.sources.setdefault(path, Source(self.layer, path, text))


def read(composition: Composition, home: Home) -> tuple[Composed, Discovery]:
    """A composition with the packages that it can name, as they are now.

    Raises `Rejected` for what breaks a rule, as far as that can be said without declarations, and OSError for
    a directory that cannot be read.
    """
    composed, ledger = composition.composed(), Ledger.read(home)
    directories = [first_party_directory(), *directories_of(composed.packages), *installed(ledger)]
    discovery = replace(discover(directories), ledger=ledger)
    # Names that nobody offers are refused before anything is started.
    try:
        resolve(composed, discovery.offered)
    except Rejected as rejected:
        raise Rejected((*rejected.problems, *_suspects(composed, discovery))) from None
    return composed, discovery


def _suspects(composed: Composed, discovery: Discovery) -> Iterator[Problem]:
    """The packages that cannot be read, where the composition names a module that no other offers.

    One of them may be the missing one: of a manifest that is not JSON not even the id is known.
    """
    selections = composed.selections.values()
    named = {
        *composed.modules,
        *(each.provider for each in selections),
        *(each.consumer for each in selections),
    }
    if named - {None} <= discovery.offered.keys():
        return
    for broken in discovery.problems:
        if broken.module not in named:
            yield problem_of(broken)


def problem_of(broken: BadPackage) -> Problem:
    """A package that cannot be used, as a problem in its manifest."""
    place, _, rule = broken.message.partition(": ")
    where = str(broken.root / place).encode("utf-8", "replace").decode()
    return Problem(where, f"{rule} (the package cannot be used)")
