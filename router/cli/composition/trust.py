"""`wuu-mesh composition trust` and `untrust`."""

from __future__ import annotations

from pathlib import Path

from router.cli.answer import emit
from router.cli.composition.named import accepted, workspace
from router.cli.exits import EXIT_USAGE, explained, fail, say
from router.home import Home
from router.reading import WORKSPACE, gather, workspace_file
from router.workspace import trust as trust_file
from router.workspace import untrust as untrust_file


def trust(root: Path | None, named: Path | None, *, json: bool) -> None:
    """Trusts the composition of a workspace, with what it includes."""
    with explained(), accepted(json=json):
        home, file = Home.at(root), _file(named)
        if not file.is_file():
            fail(EXIT_USAGE, f"{file}: No such file", "Name the directory of a workspace that has one.")
        sources = gather(file, WORKSPACE)
        trust_file(home, file, [each.text for each in sources])
        if json:
            emit({"trusted": [str(each.path) for each in sources]})
            return
        for each in sources:
            say(f"trusted as it is now: {each.path}")
        say("`wuu-mesh apply` takes it into a mesh that runs")


def untrust(root: Path | None, named: Path | None, *, json: bool) -> None:
    """Trusts the composition of a workspace no more."""
    with explained():
        home, file = Home.at(root), _file(named)
        if not untrust_file(home, file):
            fail(EXIT_USAGE, f"{file} is not trusted", "`wuu-mesh composition show` lists what applies.")
        if json:
            emit({"untrusted": str(file)})
            return
        say(f"ignored from now on: {file}")


def _file(named: Path | None) -> Path:
    directory = named if named is not None else workspace()
    if directory is None:
        fail(EXIT_USAGE, "the current directory was removed", "Name the directory of a workspace.")
    return workspace_file(directory.absolute())
