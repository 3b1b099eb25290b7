"""Starting and stopping instances: spawn, health, and the end."""

from __future__ import annotations

import asyncio
import errno
import os
import secrets
import signal
import sys
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import grpc
import msgspec
from google.protobuf.message import DecodeError
from grpc_health.v1 import health_pb2

from contract.context import Phase
from contract.errors import MeshError
from contract.handshake import Attach
from router.home import Home
from router.instances import lifecycle
from router.instances import log as logs
from router.instances.children import Child, Children, Spawn
from router.instances.instance import Instance
from router.names import BRIDGE
from router.packages.manifest import BadPackage
from router.packages.package import Package

ENVIRONMENT = ("HOME", "LANG", "LC_ALL", "LOGNAME", "PATH", "SHELL", "TMPDIR", "TZ", "USER")
"""What every child inherits; the manifest names what it needs beside."""

EXIT_GRACE = 0.5
"""Seconds that a process has to exit once its lifeline ended, and again once it got SIGTERM."""

BRIDGE_GRACE = 0.25
"""The same for the bridge, which holds nothing once its instances are stopped."""

HEALTH_POLL = 0.05
"""Seconds between looks at an instance that listens and does not serve yet."""

_REFUSALS = {
    errno.ENOEXEC: "its command is neither a program nor a script whose first line names its interpreter",
    errno.ENOENT: "the interpreter that the first line of its command names does not exist",
}
"""Why the system does not run a command that is there."""

_LOOK = "See `wuu-mesh logs`, and whether processes, descriptors and disk are left."

_HEALTH = "/grpc.health.v1.Health/Check"


@dataclass(slots=True)
class Starter:
    """What every start needs."""

    home: Home
    children: Children
    router: str
    """The gRPC target of the router, for instances."""
    _bridge: asyncio.Task[Child] | None = None
    _hosted: set[Instance] = field(default_factory=set)

    def instance(self, package: Package, timeout: float | None) -> Instance:
        """A new instance, not started. `timeout` goes before that of its manifest."""
        module = package.manifest.id
        incarnation = secrets.token_hex(8)
        return Instance(
            package=package,
            socket=self.home.sockets / incarnation[:8],
            log=logs.log_of(self.home.logs, module, incarnation),
            incarnation=incarnation,
            timeout=timeout or package.manifest.runtime.timeout,
        )

    async def start(self, instance: Instance) -> None:
        """Spawns the process and waits until its socket answers SERVING.

        Raises `service_unavailable` when the command does not exist or exits, `deadline_exceeded` when it
        never listens; the message quotes how it ended and what it said last. Raises OSError when the home
        cannot be written.
        """
        logs.begin(instance.log)
        instance.child = await self._spawn(instance)
        healthy = asyncio.create_task(_serving(instance))
        try:
            await asyncio.wait((healthy, instance.child.exited), return_when=asyncio.FIRST_COMPLETED)
            if not healthy.done():
                ended = instance.child.exited.result()
                raise MeshError(
                    "service_unavailable",
                    f"{instance.module} {ended} before it listened{instance.last_words()}",
                )
            healthy.result()
        finally:
            healthy.cancel()

    async def stop(self, instance: Instance, within: float) -> MeshError | None:
        """Shuts the instance down and ends its process group, in about `within` seconds.

        Shutdown comes first, where the instance has answered initialize; then its lifeline ends, then comes
        SIGTERM, then SIGKILL. Returns why its cleanup is unconfirmed; None where it is not.
        """
        instance.phase = Phase.PHASE_CLEANUP
        child = instance.child
        unconfirmed = None
        if child is not None and not child.exited.done():
            if instance.declaration is not None:
                bound = min(lifecycle.SHUTDOWN_TIMEOUT, within / 2)
                try:
                    async with asyncio.timeout(bound):
                        await lifecycle.shutdown(instance, bound)
                except TimeoutError:
                    silent = f"{instance.module} did not answer shutdown within {bound:g} s"
                    unconfirmed = MeshError("deadline_exceeded", silent)
                except MeshError as error:
                    unconfirmed = error
            await self._end(child, min(EXIT_GRACE, within / 4))
        self._hosted.discard(instance)
        await instance.channel.close()
        instance.socket.unlink(missing_ok=True)
        return unconfirmed

    async def stop_bridge(self) -> None:
        """Ends the bridge, once no instance needs it."""
        if self._bridge is None:
            return
        # One that could not be started has nothing to end.
        with suppress(MeshError):
            await self._end(await asyncio.shield(self._bridge), BRIDGE_GRACE)

    async def _end(self, child: Child, grace: float) -> None:
        """Ends a process: its lifeline, `grace` seconds later SIGTERM, and after as many again SIGKILL."""
        self.children.close(child)
        if await _exits(child, grace):
            return
        self.children.kill(child, signal.SIGTERM)
        if await _exits(child, grace):
            return
        self.children.kill(child)
        await child.exited

    async def _spawn(self, instance: Instance) -> Child:
        package = instance.package
        runtime = package.manifest.runtime
        env = environment(os.environ, runtime.env)
        handshake = instance.handshake(self.router)
        try:
            if runtime.protocol == "wuu-mesh-grpc-v1":
                spawn = Spawn(
                    name=instance.id,
                    role="instance",
                    argv=package.argv(),
                    cwd=package.root,
                    env=env,
                    log=instance.log,
                    line=msgspec.json.encode(handshake),
                )
            else:
                bridge = await self._running_bridge()
                self._hosted.add(instance)
                spawn = Spawn(
                    name=instance.id,
                    role="plugin",
                    argv=package.argv(),
                    cwd=package.root,
                    env=env,
                    log=instance.log,
                    host=bridge.name,
                    attach=Attach(
                        handshake=handshake,
                        log=str(instance.log),
                        package=str(package.root),
                        timeout=instance.timeout,
                    ),
                )
            return await self.children.spawn(spawn)
        except BadPackage as bad:
            why = bad.message
        except OSError as failure:
            why = _REFUSALS.get(failure.errno or 0, failure.strerror or str(failure))
        raise MeshError(
            "service_unavailable",
            f"{instance.module} cannot be started: {why}",
            remedy="Correct runtime.command in its plugin.json, or install the command.",
        )

    async def _running_bridge(self) -> Child:
        # One start, however many plugins ask at once.
        if self._bridge is None:
            self._bridge = asyncio.create_task(self._start_bridge())
        return await asyncio.shield(self._bridge)

    async def _start_bridge(self) -> Child:
        incarnation = secrets.token_hex(8)
        log = logs.log_of(self.home.logs, BRIDGE, incarnation)
        try:
            logs.begin(log)
            child = await self.children.spawn(
                Spawn(
                    name=f"{BRIDGE}@{incarnation}",
                    role="host",
                    argv=[sys.executable, "-P", "-m", "bridge_jsonl"],
                    cwd=self.home.root,
                    env=environment(os.environ, ()),
                    log=log,
                )
            )
        except OSError as failure:
            # The next plugin tries anew.
            self._bridge = None
            raise MeshError("host_error", f"the bridge does not start: {failure}", remedy=_LOOK) from None
        child.exited.add_done_callback(lambda _: self._bridge_is_gone())
        return child

    def _bridge_is_gone(self) -> None:
        # Nobody speaks for its plugins any more; the next plugin starts a new one.
        self._bridge = None
        for instance in self._hosted:
            if instance.child is not None:
                self.children.kill(instance.child)
        self._hosted.clear()


def environment(inherited: Mapping[str, str], named: tuple[str, ...]) -> dict[str, str]:
    """The environment of a child: the fixed list and what its manifest names.

    PATH begins with the directory of the mesh's own Python, so that `python` has the kit.
    """
    env = {name: inherited[name] for name in (*ENVIRONMENT, *named) if name in inherited}
    # What a Python provider prints is in its log at once, and not lost with it.
    env["PYTHONUNBUFFERED"] = "1"
    env["PATH"] = os.pathsep.join([str(Path(sys.executable).parent), env.get("PATH", os.defpath)])
    return env


async def _serving(instance: Instance) -> None:
    """Returns once the instance reports SERVING."""
    deadline = time.monotonic() + instance.timeout
    while (answer := await _health(instance, deadline - time.monotonic())) != "SERVING":
        if answer == grpc.StatusCode.UNIMPLEMENTED.name:
            raise MeshError(
                "protocol_violation",
                f"{instance.module} does not serve {_HEALTH}{instance.last_words()}",
                remedy="Serve grpc.health.v1.Health and report SERVING for the empty service name.",
            )
        if time.monotonic() + HEALTH_POLL >= deadline:
            late = answer == grpc.StatusCode.DEADLINE_EXCEEDED.name
            did = "did not listen on its socket" if late else f"reported {answer}, not SERVING,"
            raise MeshError(
                "deadline_exceeded",
                f"{instance.module} {did} within {instance.timeout:g} s{instance.last_words()}",
                remedy="Let it listen on the socket that the handshake names, or raise runtime.timeout.",
            )
        await asyncio.sleep(HEALTH_POLL)


async def _health(instance: Instance, timeout: float) -> str:
    """What the instance reports of itself, or the gRPC status with which it does not."""
    check: Any = instance.channel.unary_stream(_HEALTH)
    call = check(
        health_pb2.HealthCheckRequest().SerializeToString(), timeout=max(timeout, 0.0), wait_for_ready=True
    )
    try:
        response = await call.read()
        if response is grpc.aio.EOF:
            return "nothing"
        status = health_pb2.HealthCheckResponse.FromString(response).status
        return health_pb2.HealthCheckResponse.ServingStatus.Name(status)
    except grpc.aio.AioRpcError as error:
        return error.code().name
    except (DecodeError, ValueError):
        return "no grpc.health.v1.HealthCheckResponse"
    finally:
        if not call.done():
            call.cancel()


async def _exits(child: Child, within: float) -> bool:
    await asyncio.wait([child.exited], timeout=within)
    return child.exited.done()
