"""Starting and stopping instances: spawn, health, and the end."""

from __future__ import annotations

import asyncio
import os
import secrets
import signal
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import grpc
import msgspec
from grpc_health.v1 import health_pb2

from contract.errors import MeshError
from contract.handshake import Attach
from router.home import Home
from router.instances.children import Child, Children, Spawn
from router.instances.instance import Instance
from router.instances.log import new_log
from router.packages.manifest import BadPackage
from router.packages.package import Package

ENVIRONMENT = ("HOME", "LANG", "LC_ALL", "LOGNAME", "PATH", "SHELL", "TMPDIR", "TZ", "USER")
"""What every child inherits; the manifest names what it needs beside."""

BRIDGE = "wuu.bridge"
"""The name under which the bridge is logged. It is a host of instances, not a module."""

EXIT_GRACE = 0.5
"""Seconds that a process has to exit once its lifeline ended, and again once it got SIGTERM."""

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

    def instance(self, package: Package) -> Instance:
        """A new instance, not started."""
        module = package.manifest.id
        incarnation = secrets.token_hex(8)
        return Instance(
            package=package,
            socket=self.home.sockets / incarnation[:8],
            log=new_log(self.home.logs, module, incarnation),
            incarnation=incarnation,
        )

    async def start(self, instance: Instance, timeout: float) -> None:
        """Spawns the process and waits until its socket answers SERVING.

        Raises `service_unavailable` when the command does not exist or exits, `deadline_exceeded` when it
        never listens; the message quotes how it ended and what it said last.
        """
        instance.child = await self._spawn(instance, timeout)
        healthy = asyncio.create_task(_serving(instance, timeout))
        await asyncio.wait((healthy, instance.child.exited), return_when=asyncio.FIRST_COMPLETED)
        if not healthy.done():
            healthy.cancel()
            ended = instance.child.exited.result()
            raise MeshError(
                "service_unavailable",
                f"{instance.module} {ended} before it listened{instance.last_words()}",
            )
        await healthy

    async def stop(self, instance: Instance) -> bool:
        """Ends the process: lifeline, then SIGTERM, then SIGKILL. False when it had to be killed."""
        child = instance.child
        if child is None:
            return True
        self.children.close(child)
        willing = await _exits(child, EXIT_GRACE)
        if not willing:
            self.children.kill(child, signal.SIGTERM)
            willing = await _exits(child, EXIT_GRACE)
        if not willing:
            self.children.kill(child)
            await child.exited
        self._hosted.discard(instance)
        await instance.channel.close()
        instance.socket.unlink(missing_ok=True)
        return willing

    async def stop_bridge(self) -> None:
        """Ends the bridge, once no instance needs it."""
        if self._bridge is None:
            return
        child = await asyncio.shield(self._bridge)
        self.children.close(child)
        if not await _exits(child, EXIT_GRACE * 2):
            self.children.kill(child)
            await child.exited

    async def _spawn(self, instance: Instance, timeout: float) -> Child:
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
                        handshake=handshake, log=str(instance.log), package=str(package.root), timeout=timeout
                    ),
                )
            return await self.children.spawn(spawn)
        except (OSError, BadPackage) as failure:
            reason = failure.message if isinstance(failure, BadPackage) else failure
            raise MeshError(
                "service_unavailable",
                f"{instance.module} cannot be started: {reason}",
                remedy="Correct runtime.command in its plugin.json, or install the command.",
            ) from None

    async def _running_bridge(self) -> Child:
        # One start, however many plugins ask at once.
        if self._bridge is None:
            self._bridge = asyncio.create_task(self._start_bridge())
        return await asyncio.shield(self._bridge)

    async def _start_bridge(self) -> Child:
        incarnation = secrets.token_hex(8)
        child = await self.children.spawn(
            Spawn(
                name=f"{BRIDGE}@{incarnation}",
                role="host",
                argv=[sys.executable, "-P", "-m", "bridge_jsonl"],
                cwd=self.home.root,
                env=environment(os.environ, ()),
                log=new_log(self.home.logs, BRIDGE, incarnation),
            )
        )
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
    env["PATH"] = os.pathsep.join([str(Path(sys.executable).parent), env.get("PATH", os.defpath)])
    return env


async def _serving(instance: Instance, timeout: float) -> None:
    request = health_pb2.HealthCheckRequest().SerializeToString()
    check: Any = instance.channel.unary_stream(_HEALTH)
    call = check(request, timeout=timeout, wait_for_ready=True)
    try:
        response = await call.read()
    except grpc.aio.AioRpcError as error:
        raise MeshError(
            "deadline_exceeded",
            f"{instance.module} did not listen on its socket within {timeout:g} s ({error.code().name})"
            f"{instance.last_words()}",
            remedy="Let it listen on the socket that the handshake names, or raise runtime.timeout.",
        ) from None
    finally:
        if not call.done():
            call.cancel()
    status = health_pb2.HealthCheckResponse.FromString(response).status
    if status != health_pb2.HealthCheckResponse.SERVING:
        name = health_pb2.HealthCheckResponse.ServingStatus.Name(status)
        raise MeshError("service_unavailable", f"{instance.module} reports {name}{instance.last_words()}")


async def _exits(child: Child, within: float) -> bool:
    await asyncio.wait([child.exited], timeout=within)
    return child.exited.done()
