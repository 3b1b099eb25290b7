"""The environment of a child: little, so that nothing secret of the operator's goes to every module."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from pathlib import Path

ENVIRONMENT = ("HOME", "LANG", "LC_ALL", "LOGNAME", "PATH", "SHELL", "TMPDIR", "TZ", "USER")
"""What every child inherits; the manifest names what it needs beside."""


def environment(inherited: Mapping[str, str], named: tuple[str, ...]) -> dict[str, str]:
    """The environment of a child: the fixed list and what its manifest names.

    PATH begins with the directory of the mesh's own Python, so that `python` has the kit.
    """
    env = {name: inherited[name] for name in (*ENVIRONMENT, *named) if name in inherited}
    # What a Python provider prints is in its log at once, and not lost with it.
    env["PYTHONUNBUFFERED"] = "1"
    # What stands in a snapshot is what was installed, and nothing that a start leaves there.
    env["PYTHONDONTWRITEBYTECODE"] = "1"
    env["PATH"] = os.pathsep.join([str(Path(sys.executable).parent), env.get("PATH", os.defpath)])
    return env
