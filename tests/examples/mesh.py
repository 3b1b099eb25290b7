"""A mesh as an operator has it: a home, a composition, and the commands that are typed."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any, Self

ROOT = Path(__file__).parents[2]
"""The repository."""

EXAMPLES = ROOT / "examples"

WUU_MESH = Path(sys.executable).with_name("wuu-mesh")

PATIENCE = 60.0
"""Seconds after which a command has failed."""


class RefusedError(Exception):
    """A command ended with an error of the mesh."""

    def __init__(self, said: str) -> None:
        super().__init__(said)
        self.code = said.removeprefix("wuu-mesh: ").partition(":")[0]
        """The code of the error."""


class Mesh:
    """A home with the example composition in it. As a context it ends with the mesh stopped and nothing left.

    Everything is below one short directory, sockets included.
    """

    def __init__(self, document: str | None = None) -> None:
        """`document` stands in place of `examples/composition.json`; its packages are `./*`, too."""
        self.directory = Path(tempfile.mkdtemp(prefix="wuu-ex-"))
        self.composition = self.directory / "composition.json"
        self.env = {
            **os.environ,
            "WUU_MESH_HOME": str(self.directory / "home"),
            "XDG_RUNTIME_DIR": str(self.directory),
            "COLUMNS": "120",
        }
        # A copy, so that a test may edit it. Its packages are where they were.
        text = document or (EXAMPLES / "composition.json").read_text()
        text = text.replace('"./*"', json.dumps(f"{EXAMPLES}/*"))
        self.composition.write_text(text)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        try:
            if (self.directory / "home" / "mesh.json").exists():
                self.down()
        finally:
            shutil.rmtree(self.directory)

    def edit(self, old: str, new: str) -> None:
        """Changes one place of the composition, as an operator does in an editor."""
        text = self.composition.read_text()
        assert text.count(old) == 1, f"{old} stands {text.count(old)} times in the composition"
        self.composition.write_text(text.replace(old, new))

    def run(self, *arguments: str) -> str:
        """What `wuu-mesh ARGUMENTS` prints. Raises `RefusedError` when it fails."""
        done = subprocess.run(
            [WUU_MESH, *arguments],
            capture_output=True,
            text=True,
            env=self.env,
            cwd=self.directory,
            timeout=PATIENCE,
            check=False,
        )
        if done.returncode:
            raise RefusedError(done.stderr.strip() or done.stdout.strip())
        return done.stdout

    def up(self) -> None:
        """Starts the mesh."""
        self.run("up", "-c", str(self.composition), "--detach")

    def down(self) -> None:
        """Stops the mesh."""
        self.run("down")

    def call(self, service: str, method: str, params: object = None, *options: str) -> Any:
        """`wuu-mesh call`, in values that JSON has."""
        given = [] if params is None else [json.dumps(params)]
        return json.loads(self.run("call", service, method, *given, *options))

    def tool(self, tool: str, arguments: object) -> Any:
        """`wuu-mesh tool run --json`."""
        return json.loads(self.run("tool", "run", tool, json.dumps(arguments), "--json"))

    def status(self) -> Any:
        """`wuu-mesh status --json`."""
        return json.loads(self.run("status", "--json"))

    def provider(self, service: str) -> Any:
        """The module that the composition selects for a service."""
        return next(
            row["provider"]
            for row in self.status()["services"]
            if row["service"] == service and row["source"]
        )

    @property
    def control(self) -> Path:
        """The control socket of the mesh that runs."""
        return Path(json.loads((self.directory / "home" / "mesh.json").read_bytes())["control"])

    def socket(self, module: str) -> Path:
        """The socket of a module's instance."""
        [instance] = (row["instance"] for row in self.status()["modules"] if row["id"] == module)
        return self.control.with_name(instance.partition("@")[2][:8])
