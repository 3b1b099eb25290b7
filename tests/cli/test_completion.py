"""Completion: a shell is offered what the running mesh has."""

from __future__ import annotations

import shlex

import pytest

from tests.cli.command import script
from tests.support.mesh import Mesh

PRESS_TAB = """
eval "$(_WUU_MESH_COMPLETE=source_bash wuu-mesh)"
COMP_WORDS=({words})
COMP_CWORD={current}
"$(complete -p wuu-mesh | sed 's/.* -F \\([^ ]*\\).*/\\1/')" wuu-mesh
printf '%s\\n' "${{COMPREPLY[@]}}"
"""


def offered(mesh: Mesh, *words: str) -> list[str]:
    """What bash is offered behind `wuu-mesh WORDS`, split as bash does."""
    split = ["wuu-mesh", *words]
    text = PRESS_TAB.format(words=shlex.join(split), current=len(split) - 1)
    done = script(text, mesh)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout.split()


@pytest.mark.parametrize(
    ("words", "completions"),
    [
        (["st"], ["status"]),
        (["logs", "b"], ["blocked", "borrower"]),
        (["reload", "b"], ["blocked", "borrower"]),
        (["disable", "no"], ["notes"]),
        (["call", "probe.no"], ["probe.notes@1"]),
        # bash takes the @ for the end of a word.
        (["call", "probe.notes", "@", "1", "ec"], ["echo"]),
        (["tool", "run", "notes/ec"], ["notes/echo"]),
        (["logs", "--home", "nowhere", "b"], []),
        (["explain", "probe.no"], ["probe.notes@1"]),
        (["explain", "probe.notes", "@", "1", "--consumer", "b"], ["blocked", "borrower"]),
        (["gra"], ["graph"]),
        (["graph", "--fo"], ["--format"]),
        (["graph", "--format", "m"], ["mermaid"]),
    ],
)
async def test_bash_is_offered_what_the_mesh_has(
    mesh: Mesh, words: list[str], completions: list[str]
) -> None:
    assert offered(mesh, *words) == completions


@pytest.mark.parametrize("shell", ["zsh", "fish"])
async def test_a_shell_gets_its_script(mesh: Mesh, shell: str) -> None:
    done = script(f"_WUU_MESH_COMPLETE=source_{shell} wuu-mesh", mesh)
    assert (done.returncode, done.stderr) == (0, "")
    assert f"_WUU_MESH_COMPLETE=complete_{shell}" in done.stdout
