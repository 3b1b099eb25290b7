"""A language of the suite: how its provider and its client are built and started."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest
from filelock import FileLock

from tests.interop.python.wire import SHAPES, WIRE
from tests.support.composition import Entry
from wuu.mesh.v1.declaration_pb2 import Declaration, MethodDescriptor, ServiceDescriptor
from wuu.mesh.v1.lifecycle_pb2 import InitializeResponse

ROOT = Path(__file__).parent

NODE = ROOT / "node"
GO = ROOT / "go"


@dataclass(frozen=True, kw_only=True)
class Language:
    """One gRPC library, at both ends."""

    name: str
    server: Sequence[str]
    """The command of its provider, without the declaration."""
    client: Sequence[str]
    """The command of its client."""

    @property
    def service(self) -> str:
        """What its provider provides."""
        return f"interop.{self.name}@1"

    def provider(self) -> Entry:
        """Its provider, in a composition."""
        return Entry(id=f"interop-{self.name}", argv=(*self.server, self._declaration().hex()))

    def _declaration(self) -> bytes:
        """The answer to `Initialize`. The provider is given it, so it needs no code that was generated."""
        methods = [
            MethodDescriptor(
                name=rpc.lower(),
                rpc=rpc,
                shape=shape,
                input_schema="interop.any",
                output_schema="interop.any",
            )
            for rpc, shape in SHAPES.items()
        ]
        service = ServiceDescriptor(
            name=f"interop.{self.name}", version="1.0.0", grpc_service=WIRE, methods=methods
        )
        declaration = Declaration(provided_services=[service])
        return InitializeResponse(lifecycle_version=2, declaration=declaration).SerializeToString()


def _python(name: str) -> Language:
    def command(end: str) -> tuple[str, ...]:
        return ("python", "-P", str(ROOT / "python" / f"{name}_{end}.py"))

    return Language(name=name, server=command("server"), client=command("client"))


AIO = _python("aio")
SYNC = _python("sync")

_JS = Language(
    name="node", server=("node", str(NODE / "server.mjs")), client=("node", str(NODE / "client.mjs"))
)

_BINARY = str(GO / "build" / "interop")

_GO = Language(name="go", server=(_BINARY, "serve"), client=(_BINARY, "call"))

EVERY = os.environ.get("WUU_TEST_INTEROP") == "all"
"""Whether Go takes part, whose first build takes a minute."""

LANGUAGES: dict[str, Language] = {each.name: each for each in (AIO, SYNC, _JS, *((_GO,) if EVERY else ()))}
"""The languages that take part."""


def build() -> None:
    """Has every end ready to start. The first time needs a network."""
    with FileLock(NODE / ".lock"):
        lock, stamp = NODE / "package-lock.json", NODE / "node_modules" / ".installed"
        if not stamp.exists() or stamp.read_bytes() != lock.read_bytes():
            _run("npm", "ci", "--no-audit", "--no-fund", cwd=NODE)
            shutil.copy(lock, stamp)
    if EVERY:
        with FileLock(GO / ".lock"):
            _run("go", "build", "-o", _BINARY, ".", cwd=GO)


def _run(*command: str, cwd: Path) -> None:
    if shutil.which(command[0]) is None:
        pytest.fail(f"the interop suite needs {command[0]} on PATH", pytrace=False)
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.fail(f"{' '.join(command)} failed in {cwd}:\n{done.stdout}{done.stderr}", pytrace=False)
