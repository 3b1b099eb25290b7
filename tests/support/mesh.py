"""A mesh of processes under a home of its own, as a test starts, asks and stops it."""

from __future__ import annotations

import asyncio
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import asynccontextmanager, suppress
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar

from google.protobuf.message import Message

from router.cli.exits import NoMesh
from router.cli.happening import Happening
from router.cli.session import Session
from router.cli.status import status_json
from router.home import Home, Running
from router.packages.ledger import authorize
from tests.support.caller import Caller
from tests.support.composition import RECORD, Entry, write
from tests.support.process import PATIENCE, Process, is_alive
from tests.support.terminal import Terminal
from wuu.mesh.v1.control_pb2 import (
    ApplyRequest,
    ApplyResponse,
    CompositionSource,
    Event,
    ExecutionStatus,
    GenerationRecord,
    GetStatusRequest,
    GetStatusResponse,
    ListEventsRequest,
    ListEventsResponse,
    ListExecutionsRequest,
    ListExecutionsResponse,
    ListGenerationsRequest,
    ListGenerationsResponse,
    ReloadRequest,
    ReloadResponse,
    RollbackRequest,
    RollbackResponse,
    SetEnabledRequest,
    SetEnabledResponse,
    StopRequest,
    Transition,
)

Answered = TypeVar("Answered", bound=Message)

WUU_MESH = str(Path(sys.executable).with_name("wuu-mesh"))


class Mesh:
    """One home, its composition, and the mesh that runs there or not.

    Everything is below one short directory, sockets included, and goes with `close`.
    """

    def __init__(
        self,
        *entries: Entry,
        services: Iterable[Mapping[str, object]] = (),
        env: Mapping[str, str] | None = None,
    ) -> None:
        """Writes the composition; nothing is started. `env`: what the commands get beside."""
        self.directory = Path(tempfile.mkdtemp(prefix="wm-"))
        self.home = self.directory / "home"
        # How large a terminal is, it says itself.
        inherited = {name: value for name, value in os.environ.items() if name not in ("COLUMNS", "LINES")}
        self.env = {
            **inherited,
            "XDG_RUNTIME_DIR": str(self.directory / "run"),
            "XDG_CONFIG_HOME": str(self.directory / "config"),
            **(env or {}),
        }
        self._callers: list[Caller] = []
        self._commands: list[subprocess.Popen[bytes]] = []
        self.compose(*entries, services=services)

    def compose(self, *entries: Entry, services: Iterable[Mapping[str, object]] = ()) -> None:
        """Writes another composition. Its packages may run, whatever becomes of them."""
        self.composition = write(self.directory, *entries, services=services)
        if (self.directory / "packages").is_dir():
            self.authorize()

    def authorize(self) -> None:
        """Lets the packages run, whatever becomes of them."""
        authorize(Home.at(self.home), self.directory)

    # --- commands ---

    def cli(
        self, *arguments: str | Path, stdin: bytes = b"", env: Mapping[str, str] | None = None
    ) -> subprocess.CompletedProcess[str]:
        """Runs `wuu-mesh ARGUMENTS` on this home to its end."""
        done = subprocess.run(
            self.command(*arguments),
            input=stdin,
            capture_output=True,
            env={**self.env, **(env or {})},
            cwd=self.directory,
            timeout=60,
            check=False,
        )
        return subprocess.CompletedProcess(
            done.args, done.returncode, done.stdout.decode(), done.stderr.decode()
        )

    def command(self, *arguments: str | Path) -> list[str]:
        """The words of `wuu-mesh ARGUMENTS` on this home."""
        command, *rest = map(str, arguments)
        # `tool list` and the like take the option themselves.
        words = [command, rest.pop(0)] if command in ("tool", "plugin", "composition") else [command]
        return [WUU_MESH, *words, "--home", str(self.home), *rest]

    def spawn(self, *arguments: str | Path, **options: Any) -> subprocess.Popen[bytes]:
        """Starts `wuu-mesh ARGUMENTS` on this home and leaves it running; it ends with `close`."""
        started = subprocess.Popen(self.command(*arguments), env=self.env, cwd=self.directory, **options)
        self._commands.append(started)
        return started

    def terminal(self, *arguments: str | Path) -> Terminal:
        """Runs `wuu-mesh ARGUMENTS` on this home in a terminal."""
        return Terminal(self.command(*arguments), env=self.env, cwd=self.directory)

    # --- the mesh ---

    def start(self) -> None:
        """Starts the router as `up --detach` does, without that command; it runs on until `stop`."""
        program = (sys.executable, "-P", "-m", "router")
        router = subprocess.Popen(
            [*program, self.home, self.composition, "--workspace", self.directory],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            env=self.env,
            cwd=self.directory,
            start_new_session=True,
        )
        self._commands.append(router)
        assert router.stdout is not None
        said = json.loads(router.stdout.readline() or "{}")
        assert "control" in said, said
        published = ("active", "degraded")
        with Session.of(self.home) as session:
            for events in Happening(session).coming():
                if any(event.kind == "generation" and event.state in published for event in events):
                    return

    def up(self) -> subprocess.CompletedProcess[str]:
        """Starts the mesh as an operator does; it runs on until `stop`."""
        started = self.cli("up", "--detach", "-c", self.composition)
        assert started.returncode == 0, started.stderr
        return started

    @property
    def announced(self) -> Running | None:
        """What the mesh of this home left word of, be it alive or dead."""
        return Home.at(self.home).running()

    @property
    def running(self) -> bool:
        """Whether the mesh of this home runs."""
        return self.announced is not None and is_alive(self.announced.pid)

    @cached_property
    def session(self) -> Session:
        """A command's connection to the mesh."""
        return Session.of(self.home)

    def status(self) -> dict[str, Any]:
        """What `wuu-mesh status --json` says."""
        return status_json(self.session.status())

    async def idle(self) -> None:
        """Returns when no execution lives. Whoever cancels hears of the end before the router has made it."""
        request, status = GetStatusRequest().SerializeToString(), GetStatusResponse()
        async with asyncio.timeout(PATIENCE):
            while not status.router.pid or status.router.executions:
                answer = await self.operator.unary("/wuu.mesh.v1.Control/GetStatus", request, ())
                status.ParseFromString(answer.message)

    async def events(self) -> list[Event]:
        """What has happened until now."""
        found: list[Event] = []
        answer = await self.control(ListEventsRequest(), ListEventsResponse, "ListEvents")
        while answer.events:
            found += answer.events
            request = ListEventsRequest(cursor=answer.cursor)
            answer = await self.control(request, ListEventsResponse, "ListEvents")
        return found

    async def settled(self) -> None:
        """Returns once the newest generation is active."""
        answer = ListEventsResponse()
        async with asyncio.timeout(PATIENCE):
            while self.status()["generation"]["state"] != "active":
                request = ListEventsRequest(cursor=answer.cursor, wait_ms=1000)
                answer = await self.control(request, ListEventsResponse, "ListEvents")

    async def reached(self) -> None:
        """Returns once a mesh that is starting can be asked."""
        async with asyncio.timeout(PATIENCE):
            while not self.running:  # noqa: ASYNC110 (a file does not say when it is written)
                await asyncio.sleep(0.01)

    def without_packages(self) -> None:
        """Takes the packages away, so that nothing can be started anew: what fails stays failed."""
        shutil.rmtree(self.directory / "packages")

    async def happens(self, kind: str, subject: str, state: str) -> Event:
        """The first event of the mesh that says so, be it past or to come."""
        answer = ListEventsResponse()
        async with asyncio.timeout(PATIENCE):
            while True:
                request = ListEventsRequest(cursor=answer.cursor, wait_ms=1000).SerializeToString()
                page = await self.operator.unary("/wuu.mesh.v1.Control/ListEvents", request, ())
                answer.ParseFromString(page.message)
                for event in answer.events:
                    if (event.kind, event.subject, event.state) == (kind, subject, state):
                        return event

    def module(self, module: str) -> dict[str, Any]:
        """What status says about one module."""
        return next(row for row in self.status()["modules"] if row["id"] == module)

    @property
    def router(self) -> Process:
        """The router."""
        return Process(self._announced.pid)

    @cached_property
    def operator(self) -> Caller:
        """The operator, on the control socket."""
        return self._caller(f"unix:{self._announced.control}")

    async def instance(self, module: str, service: str) -> Caller:
        """The instance of a probe, on the socket of instances; `service` is one that it provides."""
        handshake = await self.operator.invoke(service, "shake", module=module)
        return self._caller(handshake["router"], handshake["token"])

    def stranger(self, token: str = "") -> Caller:
        """A process on the socket of instances that is none."""
        return self._caller(f"unix:{Path(self._announced.control).with_name('router')}", token)

    @property
    def _announced(self) -> Running:
        announced = self.announced
        assert announced is not None, "no mesh has announced itself"
        return announced

    def _caller(self, target: str, token: str = "") -> Caller:
        caller = Caller(target, token)
        self._callers.append(caller)
        return caller

    async def call(
        self, service: str, method: str, params: object = None, *, as_module: str = "", module: str = ""
    ) -> Any:
        """Calls a dynamic service as the operator."""
        return await self.operator.invoke(service, method, params, as_module=as_module, module=module)

    async def stop(self) -> None:
        """Stops the mesh and waits for the end of its router, which must have had no accident."""
        await self.hang_up()
        if not self.running:
            return
        router = self.router
        # One that is on its way out already cannot be asked.
        with suppress(NoMesh), Session.of(self.home) as session:
            session.ask(session.control.Stop, StopRequest())
        assert router.ends(), "the router did not stop"
        assert not self.accidents("wuu.router"), self.log("wuu.router")

    async def hang_up(self) -> None:
        """Closes every connection of this test to the mesh; new ones are made when they are asked for."""
        for caller in self._callers:
            await caller.close()
        self._callers.clear()
        if session := self.__dict__.pop("session", None):
            session.close()
        self.__dict__.pop("operator", None)

    async def close(self) -> None:
        """Stops the mesh if it runs, and removes everything."""
        try:
            await self.stop()
        finally:
            for command in self._commands:
                command.kill()
                command.wait()
                for stream in filter(None, (command.stdin, command.stdout, command.stderr)):
                    stream.close()
            if self.running:
                self.router.kill()
            shutil.rmtree(self.directory)

    # --- transitions ---

    async def control(self, request: Any, response: type[Answered], rpc: str) -> Answered:
        """One call of the control API. Raises `MeshError`."""
        path = f"/wuu.mesh.v1.Control/{rpc}"
        answer = await self.operator.unary(path, request.SerializeToString(), ())
        return response.FromString(answer.message)

    async def apply(
        self, *entries: Entry, services: Iterable[Mapping[str, object]] = (), dry_run: bool = False
    ) -> Transition:
        """Writes another composition and applies it."""
        self.compose(*entries, services=services)
        return await self.apply_file(dry_run=dry_run)

    async def apply_file(self, *, dry_run: bool = False) -> Transition:
        """Applies the composition as it stands in its file."""
        source = CompositionSource(
            layer="command line", path=str(self.composition), document=self.composition.read_bytes()
        )
        request = ApplyRequest(sources=[source], dry_run=dry_run)
        return (await self.control(request, ApplyResponse, "Apply")).transition

    async def reload(self, module: str = "") -> Transition:
        """Starts a module anew, or all."""
        return (await self.control(ReloadRequest(module=module), ReloadResponse, "Reload")).transition

    async def switch(self, module: str, *, enabled: bool) -> Transition:
        """Enables or disables a module."""
        request = SetEnabledRequest(module=module, enabled=enabled)
        return (await self.control(request, SetEnabledResponse, "SetEnabled")).transition

    async def rollback(self) -> Transition:
        """Applies the composition that was committed before."""
        return (await self.control(RollbackRequest(), RollbackResponse, "Rollback")).transition

    async def generations(self) -> dict[str, GenerationRecord]:
        """The generations, by id."""
        listed = await self.control(
            ListGenerationsRequest(limit=1000), ListGenerationsResponse, "ListGenerations"
        )
        return {each.id: each for each in listed.generations}

    async def executions(self) -> list[ExecutionStatus]:
        """The live executions."""
        answer = await self.control(ListExecutionsRequest(), ListExecutionsResponse, "ListExecutions")
        return list(answer.executions)

    # --- what it leaves in the home ---

    def log(self, module: str) -> str:
        """Every log of a module, oldest first."""
        logs = sorted((self.home / "logs" / module).glob("*.log"), key=lambda log: log.stat().st_mtime_ns)
        return "".join(log.read_text() for log in logs)

    def accidents(self, module: str) -> list[str]:
        """The exceptions in the logs of a module that nobody foresaw."""
        return re.findall(r'^Traceback.*|^.*"exception":.*', self.log(module), re.MULTILINE)

    def recorded(self) -> list[str]:
        """The steps that probes recorded, `MODULE STEP` each."""
        record = self.directory / RECORD
        return record.read_text().splitlines() if record.exists() else []


@asynccontextmanager
async def running(
    *entries: Entry,
    services: Iterable[Mapping[str, object]] = (),
    env: Mapping[str, str] | None = None,
) -> AsyncIterator[Mesh]:
    """A mesh that runs."""
    mesh = Mesh(*entries, services=services, env=env)
    try:
        mesh.start()
        yield mesh
    finally:
        await mesh.close()
