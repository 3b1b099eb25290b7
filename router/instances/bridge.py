"""The bridge process, which speaks for every plugin: started for the first, anew once it is gone."""

from __future__ import annotations

import asyncio
import os
import secrets
import sys
from contextlib import suppress
from dataclasses import dataclass, field

from contract.errors import MeshError
from router.home import Home
from router.instances import log as logs
from router.instances.children import Child, Children, Spawn
from router.instances.environment import environment
from router.instances.instance import Instance
from router.names import BRIDGE

EXIT_GRACE = 0.25
"""Seconds that it has to exit, and again once it got SIGTERM: with its instances stopped it holds nothing."""


@dataclass(slots=True)
class Bridge:
    """The one process that hosts every plugin of a mesh."""

    home: Home
    children: Children
    _process: asyncio.Task[Child] | None = None
    _hosted: set[Instance] = field(default_factory=set)

    async def host(self, instance: Instance) -> Child:
        """The process that will host the instance; it is started when there is none.

        Raises `host_error` when it does not start.
        """
        # One start, however many plugins ask at once.
        if self._process is None:
            self._process = asyncio.create_task(self._start())
        process = await asyncio.shield(self._process)
        self._hosted.add(instance)
        return process

    def release(self, instance: Instance) -> None:
        """It hosts the instance no more."""
        self._hosted.discard(instance)

    async def stop(self) -> None:
        """Ends the process, once no instance needs it."""
        if self._process is None:
            return
        # One that could not be started has nothing to end.
        with suppress(MeshError):
            await self.children.end(await asyncio.shield(self._process), EXIT_GRACE)

    async def _start(self) -> Child:
        incarnation = secrets.token_hex(8)
        log = logs.log_of(self.home.logs, BRIDGE, incarnation)
        try:
            logs.begin(log)
            process = await self.children.spawn(
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
            self._process = None
            raise MeshError(
                "host_error",
                f"the bridge does not start: {failure}",
                remedy="See `wuu-mesh logs`, and whether processes, descriptors and disk are left.",
            ) from None
        process.exited.add_done_callback(lambda _: self._gone())
        return process

    def _gone(self) -> None:
        # Nobody speaks for its plugins any more; the next plugin starts a new one.
        self._process = None
        for instance in self._hosted:
            if instance.child is not None:
                self.children.kill(instance.child)
        self._hosted.clear()
