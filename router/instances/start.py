"""The start of an instance and its end."""

from __future__ import annotations

import asyncio
import errno
import os
import secrets
from dataclasses import dataclass, field
from pathlib import Path

import msgspec

from contract.context import Phase
from contract.errors import MeshError
from contract.handshake import Attach
from router.home import Home
from router.instances import health, lifecycle
from router.instances import log as logs
from router.instances.bridge import Bridge
from router.instances.children import Child, Children, Spawn
from router.instances.environment import environment
from router.instances.instance import Instance
from router.packages.manifest import BadPackage
from router.packages.package import Package

EXIT_GRACE = 0.5
"""Seconds that a process has to exit once its lifeline ended, and again once it got SIGTERM."""

_REFUSALS = {
    errno.ENOEXEC: "its command is neither a program nor a script whose first line names its interpreter",
    errno.ENOENT: "the interpreter that the first line of its command names does not exist",
}
"""Why the system does not run a command that is there."""


@dataclass(slots=True)
class Starter:
    """What every start needs."""

    home: Home
    children: Children
    router: str
    """The gRPC target of the router, for instances."""
    bridge: Bridge = field(init=False)
    living: set[Path] = field(default_factory=set)
    """The logs of the instances that have not ended."""

    def __post_init__(self) -> None:
        self.bridge = Bridge(self.home, self.children)

    def instance(self, package: Package, timeout: float | None) -> Instance:
        """A new instance, not started. `timeout` goes before that of its manifest."""
        module = package.manifest.id
        incarnation = secrets.token_hex(8)
        return Instance(
            package=package,
            socket=self.home.sockets / incarnation[:8],
            log=logs.log_of(self.home.logs, module, incarnation),
            incarnation=incarnation,
            timeout=timeout or package.runtime.timeout,
        )

    async def start(self, instance: Instance) -> None:
        """Spawns the process and waits until its socket answers SERVING.

        Raises `service_unavailable` when the command does not exist or exits, `deadline_exceeded` when it
        never listens; the message quotes how it ended and what it said last. Raises OSError when the home
        cannot be written.
        """
        logs.begin(instance.log, self.living)
        self.living.add(instance.log)
        instance.child = await self._spawn(instance)
        healthy = asyncio.create_task(health.serving(instance))
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
        instance.calls.retire()
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
            await self.children.end(child, min(EXIT_GRACE, within / 4))
        elif child is not None and instance.declaration is not None:
            # It ended without having been asked to release what it held.
            ended = f"{instance.module} {child.exited.result()}"
            unconfirmed = instance.failure or MeshError("service_unavailable", ended)
        self.bridge.release(instance)
        instance.calls.close()
        await instance.channel.close()
        instance.socket.unlink(missing_ok=True)
        self.living.discard(instance.log)
        return unconfirmed

    async def _spawn(self, instance: Instance) -> Child:
        package = instance.package
        runtime = package.runtime
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
                bridge = await self.bridge.host(instance)
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
