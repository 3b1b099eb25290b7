"""Given: the home that this command was given, for the commands that it tells somebody to type."""

from __future__ import annotations

import re
import shlex
from contextvars import ContextVar

_COMMAND = re.compile(r"`wuu-mesh (?!composition (?:migrate|schema))(?:tool |plugin |composition )?[a-z]+")
"""A command that takes `--home`, up to where the option stands."""

home: ContextVar[str] = ContextVar("home", default="")
"""What stands behind `--home`; empty where the home was named in another way, which goes on to hold."""


def repeated(text: str) -> str:
    """The text, with the `--home` that was given in each command in it, so that it means the same mesh."""
    option = home.get() and f" --home {shlex.quote(home.get())}"
    return _COMMAND.sub(lambda command: command.group() + option, text)
