"""The plugin: one instance of the mesh whose work is done by a process behind JSON lines.

Source: the plugin wire, *Host → plugin* and *Timing*.
"""

from __future__ import annotations

import asyncio

from msgspec import UNSET, Raw

from bridge_jsonl.calls import HostCalls
from bridge_jsonl.continuations import Continuations
from bridge_jsonl.contributions import Contributions
from bridge_jsonl.declaration import host_services, initialized
from bridge_jsonl.diagnostics import Diagnostics
from bridge_jsonl.messages import ExecutionCancel, Initialize, ServiceChanged, given
from bridge_jsonl.peer import Peer
from bridge_jsonl.services import Services
from contract.declaration import LIFECYCLE_VERSION
from contract.errors import CONTRACT, MeshError
from contract.handshake import Attach
from provider_kit.mesh import Mesh
from provider_kit.provided import Handler
from provider_kit.server import Gone
from wuu.mesh.v1.context_pb2 import CallContext
from wuu.mesh.v1.lifecycle_pb2 import (
    InitializeRequest,
    InitializeResponse,
    PrepareRequest,
    ServiceChangedRequest,
)

SHUTDOWN = 2.0
"""Seconds that `shutdown` may take."""

PIPES_GRACE = 5.0
"""Seconds after which the pipes of a plugin that was shut down are closed, whoever still holds them."""


class Plugin:
    """What the server of one instance serves (`provider_kit.server.Served`)."""

    mesh: Mesh
    """The instance's way to other services; set by its server, before `start`."""

    def __init__(self, attach: Attach) -> None:
        self._attach = attach
        self._shutting_down = False

    def start(self, stdin: int, stdout: int) -> None:
        """Begins to listen to the process. The descriptors are the plugin's from here on.

        Raises OSError when the log cannot be opened; the descriptors are then still the caller's.
        """
        self._diagnostics = Diagnostics(self._attach.log, self.mesh)
        continuations = Continuations()
        self._calls = HostCalls(self.mesh, continuations)
        self._peer = Peer(stdin, stdout, self._diagnostics, self._calls.serve)
        self._services = Services(self._ask, continuations)
        self._contributions = Contributions(self._ask, self._peer.fail, self._attach.timeout)

    async def gone(self) -> None:
        """Returns once the process is gone."""
        await self._peer.gone.wait()

    def lost(self) -> None:
        """Reports that the process closed its output, unless it was asked to end."""
        if not self._shutting_down:
            unanswered = f" and did not answer {self._peer.unanswered}" if self._peer.unanswered else ""
            self._diagnostics.failed("service_unavailable", f"the plugin closed its output{unanswered}")

    async def close(self) -> None:
        """Lets go of the process."""
        self._peer.close()
        await self._diagnostics.close()

    # --- the lifecycle ---------------------------------------------------------------------------------

    async def initialized(self, request: InitializeRequest) -> InitializeResponse:
        """Lets the plugin declare itself. `protocol_violation` names the field and the rule it breaks.

        `invalid_request` where the composition has configuration for it: the wire has no place for that.
        """
        if request.HasField("config"):
            raise MeshError(
                "invalid_request",
                f"the plugin {request.module} takes no `config`",
                domain=CONTRACT,
                remedy="Take `config` out of its entry in the composition.",
            )
        result = await self._step(
            "initialize",
            Initialize(
                lifecycle_version=LIFECYCLE_VERSION,
                plugin_id=request.module,
                plugin_root=request.package_root,
                project_root=request.workspace or request.package_root,
                wuu_home=request.home,
                workspace_state_dir=given(request.state_dir),
                supported_host_services=host_services(request.host_features),
                supported_host_features=tuple(request.host_features),
            ),
        )
        response = initialized(bytes(result), request.host_features)
        self._calls.require(response.declaration, host_services(request.host_features))
        self._services.provide(response.declaration)
        self._contributions.contribute(response.declaration)
        return response

    async def prepared(self, request: PrepareRequest) -> None:
        """Takes the bindings and lets the plugin prepare."""
        self._calls.bind(request.bindings)
        await self._step("prepare")

    async def activate(self) -> None:
        """Lets the plugin begin effects."""
        await self._step("activate")

    async def service_changed(self, request: ServiceChangedRequest) -> None:
        """Tells the plugin. What it makes of it is its own affair, so a failure is only logged."""
        change = ServiceChanged(
            service=request.service, reason=UNSET if request.available else request.reason
        )
        try:
            async with asyncio.timeout(self._attach.timeout):
                await self._peer.request("service.changed", change)
        except TimeoutError:
            self._diagnostics.note(f"no answer to service.changed within {self._attach.timeout:g} s")
        except MeshError as failure:
            self._diagnostics.note(f"service.changed: {failure}")

    async def shutdown(self) -> None:
        """Lets the plugin release what it holds, then ends its input.

        One that exits instead of answering has shut down well. Raises `deadline_exceeded` after 2 seconds.
        """
        self._shutting_down = True
        try:
            async with asyncio.timeout(SHUTDOWN):
                await self._peer.request("shutdown")
        except Gone:
            return
        except TimeoutError:
            raise MeshError(
                "deadline_exceeded", f"no answer to shutdown within {SHUTDOWN:g} s", domain=CONTRACT
            ) from None
        finally:
            self._peer.close_input()
            # A child that it leaves may hold its pipes for ever; by then the process itself has been ended.
            asyncio.get_running_loop().call_later(PIPES_GRACE, self._peer.close)

    async def _step(self, method: str, params: object = UNSET) -> Raw:
        timeout = self._attach.timeout
        try:
            async with asyncio.timeout(timeout):
                return await self._peer.request(method, params)
        except TimeoutError:
            raise self._peer.fail(
                "deadline_exceeded", f"no answer to {method} within {timeout:g} s"
            ) from None

    # --- work ------------------------------------------------------------------------------------------

    def handler(self, path: str, context: CallContext) -> Handler | None:
        """What serves a call; None where the plugin declares nothing of the kind."""
        return self._contributions.handler(path) or self._services.handler(path, context)

    async def _ask(self, method: str, params: object, execution: str) -> Raw:
        """Asks on behalf of an execution. Cancelling reaches the plugin and what it has called itself."""
        try:
            return await self._peer.request(method, params)
        except asyncio.CancelledError:
            self._peer.tell("execution.cancel", ExecutionCancel(execution))
            self._calls.cancel(execution)
            raise
