"""Shell completion: what the running mesh has, under what is typed. Without a mesh there is nothing."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import TYPE_CHECKING

import typer

if TYPE_CHECKING:
    from router.cli.session import Session


def modules(context: typer.Context, incomplete: str) -> list[str]:
    """The modules."""
    return _completed(context, incomplete, lambda session: [row.id for row in session.status().modules])


def services(context: typer.Context, incomplete: str) -> list[str]:
    """The services, with their majors."""
    return _completed(
        context,
        incomplete,
        lambda session: [f"{row.service}@{row.major}" for row in session.status().services],
    )


def methods(context: typer.Context, incomplete: str) -> list[str]:
    """The methods of the service that stands before."""

    def declared(session: Session) -> list[str]:
        given = context.params
        described = session.describe(given.get("service") or "", given.get("as_module") or "")
        return [method.name for method in described.descriptor.methods]

    return _completed(context, incomplete, declared)


def tools(context: typer.Context, incomplete: str) -> list[str]:
    """The tools, as MODULE/TOOL."""
    return _completed(
        context, incomplete, lambda session: [f"{row.module}/{row.tool.id}" for row in session.tools()]
    )


def executions(context: typer.Context, incomplete: str) -> list[str]:
    """The executions that live."""
    return _completed(context, incomplete, lambda session: [row.id for row in session.executions()])


def join_words() -> None:
    """bash ends a word at `@` and hands on `a.b@1` as three; of those before the completed one, makes one."""
    if os.environ.get("_WUU_MESH_COMPLETE") != "complete_bash":
        return
    words, current = os.environ["COMP_WORDS"].split("\n"), int(os.environ["COMP_CWORD"])
    while "@" in (before := words[: current - 1]):
        at = before.index("@")
        words[at - 1 : at + 2] = ["".join(words[at - 1 : at + 2])]
        current -= 2
    os.environ.update(COMP_WORDS="\n".join(words), COMP_CWORD=str(current))


def _completed(context: typer.Context, incomplete: str, names: Callable[[Session], list[str]]) -> list[str]:
    from contract.errors import MeshError
    from router.cli.exits import NoMesh
    from router.cli.session import Session

    try:
        with Session.of(context.params.get("home")) as session:
            return sorted({name for name in names(session) if name.startswith(incomplete)})
    except (NoMesh, MeshError, OSError):
        return []
