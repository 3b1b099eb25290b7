"""A page of the documentation: its blocks of code, and what each of them claims."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from tests.examples.mesh import ROOT

_BLOCK = re.compile(r"^```(\S*) ?(\S*)\n(.*?)^```$", re.DOTALL | re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Block:
    """One block: three backticks, a language, and behind it what the block is of."""

    language: str
    subject: str
    """A path from the repository's root, a file that the reader makes, or a word."""
    text: str

    @property
    def kind(self) -> Literal["console", "wire", "excerpt", "file", "handshake", "text"]:
        """What the block claims.

        `console`: these commands print this. `wire`: the plugin of the subject speaks so. `excerpt`: the
        subject is a file of ours that says so. `file`: the reader makes it. `text`: nothing.
        """
        if self.language in ("console", "wire"):
            return "console" if self.language == "console" else "wire"
        if self.subject == "handshake":
            return "handshake"
        if self.language == "text":
            return "text"
        return "excerpt" if (ROOT / self.subject).is_file() else "file"


def blocks(name: str) -> tuple[Block, ...]:
    """The blocks of `docs/NAME`, in order."""
    page = (ROOT / "docs" / name).read_text()
    return tuple(Block(*found.groups()) for found in _BLOCK.finditer(page))


def commands(block: Block) -> Iterator[tuple[str, re.Pattern[str]]]:
    """The commands of a console block, with what each prints; `…` stands for anything."""
    for step in block.text.removeprefix("$ ").split("\n$ "):
        command, _, printed = step.partition("\n")
        pattern = re.escape(printed.strip()).replace("…", ".*")
        yield command, re.compile(pattern, re.DOTALL)


def frames(block: Block) -> Iterator[tuple[str, Any]]:
    """The frames of a wire block, each with the arrow before it. Folded lines are put together."""
    for frame in re.split(r"^(?=[→←] )", block.text, flags=re.MULTILINE):
        if frame:
            yield frame[0], json.loads(frame[1:])


def write_files(name: str, directory: Path) -> None:
    """Makes the files that the reader of a page makes."""
    for block in blocks(name):
        if block.kind == "file":
            path = directory / block.subject
            path.parent.mkdir(exist_ok=True)
            path.write_text(block.text)
