"""`wuu.mesh.v1.Control`, as the proto says."""

from __future__ import annotations

import asyncio
import os
import re
import time
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

import psutil

from contract.declaration import major_of, parse_service
from contract.errors import MeshError, clip, to_status
from router.composition.graph import Selected
from router.composition.nearest import nearest
from router.instances.instance import Instance
from router.instances.log import latest_log
from router.names import ROUTER_LOG
from router.packages.manifest import MODULE_ID, MODULE_ID_LIMIT
from wuu.mesh.v1 import control_pb2, control_pb2_grpc

if TYPE_CHECKING:
    from router.mesh import Mesh

MAX_WAIT_MS = 30_000
DEFAULT_LOG_RANGE = 64 * 1024
MAX_LOG_RANGE = 1024 * 1024
CURSOR = re.compile(r"[0-9]{1,19}")
"""Events are counted from 1; nobody sees the one with twenty digits."""
QUOTED = 100
"""Bytes that are quoted of what a request names."""
LOG_POLL = 0.1
"""Seconds between looks at a log that is followed."""


class ControlService(control_pb2_grpc.ControlServicer):
    """The operator's view of one mesh."""

    def __init__(self, mesh: Mesh) -> None:
        self._mesh = mesh
        self._started = time.time()

    async def GetStatus(
        self, request: control_pb2.GetStatusRequest, context: Any
    ) -> control_pb2.GetStatusResponse:
        mesh = self._mesh
        generation = mesh.admission.generation
        return control_pb2.GetStatusResponse(
            generation=control_pb2.GenerationStatus(
                id=generation.id if generation else "", state=mesh.generation_state
            ),
            modules=[self._module(module) for module in sorted(mesh.modules)],
            services=list(self._services()),
            router=control_pb2.RouterStatus(
                pid=os.getpid(),
                rss_bytes=_rss(os.getpid()),
                version=version("wuu-mesh"),
                home=str(mesh.home.root),
                composition=str(mesh.composition or ""),
                started_unix_ms=round(self._started * 1000),
                executions=len(mesh.admission.executions),
            ),
        )

    async def ListEvents(
        self, request: control_pb2.ListEventsRequest, context: Any
    ) -> control_pb2.ListEventsResponse:
        cursor = request.cursor
        if cursor and not CURSOR.fullmatch(cursor):
            wrong = f"'{clip(cursor, QUOTED)}' is not a cursor of a response"
            await _abort(context, MeshError("invalid_request", wrong))
        sequence = int(cursor or 0)
        events = await self._mesh.events.after(sequence, min(request.wait_ms, MAX_WAIT_MS) / 1000)
        last = events[-1].sequence if events else sequence
        return control_pb2.ListEventsResponse(events=events, cursor=str(last))

    async def DescribeService(
        self, request: control_pb2.DescribeServiceRequest, context: Any
    ) -> control_pb2.DescribeServiceResponse:
        try:
            service, major = parse_service(request.service)
            generation = self._mesh.admission.published()
            route = generation.route(request.as_module or None, service, major)
        except MeshError as error:
            await _abort(context, error)
            raise
        return control_pb2.DescribeServiceResponse(
            provider=route.instance.module,
            descriptor=route.descriptor,
            file_descriptor_set=route.instance.package.descriptors,
        )

    async def ListTools(
        self, request: control_pb2.ListToolsRequest, context: Any
    ) -> control_pb2.ListToolsResponse:
        try:
            generation = self._mesh.admission.published()
        except MeshError as error:
            await _abort(context, error)
            raise
        tools: list[control_pb2.ContributedTool] = []
        for module, instance in sorted(generation.instances.items()):
            if instance.failure is None and instance.declaration is not None:
                tools.extend(
                    control_pb2.ContributedTool(module=module, tool=tool)
                    for tool in instance.declaration.tools
                )
        return control_pb2.ListToolsResponse(tools=tools)

    async def ReadLog(self, request: control_pb2.ReadLogRequest, context: Any) -> control_pb2.ReadLogResponse:
        module = request.module or ROUTER_LOG
        named = MODULE_ID.fullmatch(module) and len(module) <= MODULE_ID_LIMIT
        if not named or (log := latest_log(self._mesh.home.logs, module)) is None:
            await _abort(context, self._without_log(module))
            raise AssertionError("abort raises")
        size = min(request.max_bytes or DEFAULT_LOG_RANGE, MAX_LOG_RANGE)
        offset = request.offset if request.offset >= 0 else max(log.stat().st_size + request.offset, 0)
        deadline = time.monotonic() + min(request.wait_ms, MAX_WAIT_MS) / 1000
        # A file does not say when it grows.
        while not (data := _range(log, offset, size)) and time.monotonic() < deadline:  # noqa: ASYNC110
            await asyncio.sleep(LOG_POLL)
        return control_pb2.ReadLogResponse(data=data, next_offset=offset + len(data))

    async def Stop(self, request: control_pb2.StopRequest, context: Any) -> control_pb2.StopResponse:
        self._mesh.stop_requested.set()
        return control_pb2.StopResponse()

    def _without_log(self, module: str) -> MeshError:
        if module in self._mesh.modules:
            never = f"{module} was never started here, so it has no log"
            return MeshError("invalid_request", never, remedy="`wuu-mesh status` says why.")
        return MeshError(
            "invalid_request",
            f"there is no log of a module {clip(module, QUOTED)}{nearest(module, self._mesh.modules)}",
            remedy="`wuu-mesh status` lists the modules.",
        )

    def _module(self, module: str) -> control_pb2.ModuleStatus:
        mesh = self._mesh
        instance = mesh.instances.get(module)
        package = mesh.discovery.packages.get(module)
        state, error, code = mesh.state_of(module)
        status = control_pb2.ModuleStatus(
            id=module,
            version=package.manifest.version if package else "",
            state=state,
            error=error,
            error_code=code,
            protocol=package.manifest.runtime.protocol if package else "",
        )
        if instance is not None:
            _describe(status, instance)
        return status

    def _services(self) -> Any:
        generation = self._mesh.admission.generation
        if generation is None:
            return
        for module, instance in sorted(generation.instances.items()):
            for provided in instance.declaration.provided_services if instance.declaration else ():
                major = major_of(provided.version)
                selected = generation.graph.services.get((provided.name, major))
                source = (
                    selected.source if isinstance(selected, Selected) and selected.provider == module else ""
                )
                yield control_pb2.ServiceStatus(
                    service=provided.name,
                    major=major,
                    version=provided.version,
                    provider=module,
                    source=source,
                )


def _describe(status: control_pb2.ModuleStatus, instance: Instance) -> None:
    status.instance = instance.id
    status.stray_lines = instance.stray_lines
    status.last_stray_line = instance.last_stray_line
    status.start_ms = instance.start_ms
    if instance.child is not None and not instance.child.exited.done():
        status.pid = instance.child.pid
        status.rss_bytes = _rss(instance.child.pid)
    if instance.declaration is not None:
        status.provides.extend(f"{s.name}@{s.version}" for s in instance.declaration.provided_services)
        status.requires.extend(
            f"{r.name}@{r.major}" + ("" if r.required else "?")
            for r in instance.declaration.required_services
        )


def _rss(pid: int) -> int:
    try:
        return int(psutil.Process(pid).memory_info().rss)
    except psutil.Error:
        return 0


def _range(log: Path, offset: int, size: int) -> bytes:
    with log.open("rb") as opened:
        opened.seek(offset)
        return opened.read(size)


async def _abort(context: Any, error: MeshError) -> None:
    status = to_status(error)
    await context.abort(status.code, status.message, status.trailers)
