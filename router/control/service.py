"""`wuu.mesh.v1.Control`, as the proto says."""

from __future__ import annotations

import asyncio
import re
import time
from pathlib import Path
from typing import TYPE_CHECKING

from contract.declaration import parse_service
from contract.errors import MeshError, clip
from router.composition.nearest import nearest
from router.control import report
from router.control.graph import described
from router.control.status import generation_status, modules, status
from router.generations.transition import (
    GIVES,
    TAKES_AWAY,
    Request,
    applying,
    going_back,
    reloading,
    rereading,
    switching,
)
from router.instances.log import latest_log
from router.names import ROUTER_LOG
from router.packages.manifest import MODULE_ID, MODULE_ID_LIMIT
from router.reading import LAYERS, Composition, Source
from wuu.mesh.v1 import control_pb2

if TYPE_CHECKING:
    from router.mesh import Mesh

MAX_WAIT_MS = 30_000
DEFAULT_LOG_RANGE = 64 * 1024
MAX_LOG_RANGE = 1024 * 1024
CURSOR = re.compile(r"[0-9]{1,19}")
"""Events are counted from 1; nobody sees the one with twenty digits."""
DEFAULT_GENERATIONS = 20
MAX_GENERATIONS = 1000
QUOTED = 100
"""Bytes that are quoted of what a request names."""
LOG_NAME = re.compile(r"([0-9]{13}-)?[0-9a-f]{1,16}")
"""See `router.instances.log.log_of`; earlier versions had the latter part alone."""
LOG_POLL = 0.1
"""Seconds between looks at a log that is followed."""


class ControlService:
    """The operator's view of one mesh."""

    def __init__(self, mesh: Mesh) -> None:
        self._mesh = mesh
        self._started = time.time()

    async def GetStatus(self, request: control_pb2.GetStatusRequest) -> control_pb2.GetStatusResponse:
        return status(self._mesh, self._started)

    async def GetGraph(self, request: control_pb2.GetGraphRequest) -> control_pb2.GetGraphResponse:
        generation = self._mesh.admission.published()
        states = {row.id: row.state for row in status(self._mesh, self._started).modules}
        answer = described(generation.graph, generation.composed, generation.known, states)
        answer.generation.CopyFrom(generation_status(self._mesh))
        return answer

    async def ListEvents(self, request: control_pb2.ListEventsRequest) -> control_pb2.ListEventsResponse:
        cursor = request.cursor
        if cursor and not CURSOR.fullmatch(cursor):
            wrong = f"'{clip(cursor, QUOTED)}' is not a cursor of a response"
            raise MeshError("invalid_request", wrong)
        sequence = int(cursor or 0)
        events = await self._mesh.events.after(sequence, min(request.wait_ms, MAX_WAIT_MS) / 1000)
        last = events[-1].sequence if events else sequence
        return control_pb2.ListEventsResponse(events=events, cursor=str(last))

    async def DescribeService(
        self, request: control_pb2.DescribeServiceRequest
    ) -> control_pb2.DescribeServiceResponse:
        service, major = parse_service(request.service)
        generation = self._mesh.admission.published()
        route = generation.route(request.as_module or None, service, major)
        return control_pb2.DescribeServiceResponse(
            provider=route.instance.module,
            descriptor=route.descriptor,
            file_descriptor_set=route.instance.package.descriptors,
        )

    async def ListTools(self, request: control_pb2.ListToolsRequest) -> control_pb2.ListToolsResponse:
        generation = self._mesh.admission.published()
        tools: list[control_pb2.ContributedTool] = []
        for module, instance in sorted(generation.instances.items()):
            if instance.failure is None and instance.declaration is not None:
                tools.extend(
                    control_pb2.ContributedTool(module=module, tool=tool)
                    for tool in instance.declaration.tools
                )
        return control_pb2.ListToolsResponse(tools=tools)

    async def ReadLog(self, request: control_pb2.ReadLogRequest) -> control_pb2.ReadLogResponse:
        module = request.module or ROUTER_LOG
        named = MODULE_ID.fullmatch(module) and len(module) <= MODULE_ID_LIMIT
        logs = self._mesh.home.logs
        if not named or (newest := latest_log(logs, module)) is None:
            raise self._without_log(module)
        if request.log and not LOG_NAME.fullmatch(request.log):
            wrong = f"'{clip(request.log, QUOTED)}' is not a log of a response"
            raise MeshError("invalid_request", wrong)
        log = logs / module / f"{request.log}.log" if request.log else newest
        if not log.is_file():
            return control_pb2.ReadLogResponse(log=newest.stem)  # It was removed since.
        size = min(request.max_bytes or DEFAULT_LOG_RANGE, MAX_LOG_RANGE)
        offset = request.offset if request.offset >= 0 else max(log.stat().st_size + request.offset, 0)
        deadline = time.monotonic() + min(request.wait_ms, MAX_WAIT_MS) / 1000
        # A file does not say when it grows.
        while not (data := _range(log, offset, size)) and time.monotonic() < deadline:
            newest = latest_log(logs, module) or log
            if newest != log:
                return control_pb2.ReadLogResponse(log=newest.stem)
            await asyncio.sleep(LOG_POLL)
        return control_pb2.ReadLogResponse(data=data, next_offset=offset + len(data), log=log.stem)

    async def Apply(self, request: control_pb2.ApplyRequest) -> control_pb2.ApplyResponse:
        for source in request.sources:
            if source.layer not in LAYERS:
                wrong = f"`layer` is one of {', '.join(LAYERS)}, not '{clip(source.layer, QUOTED)}'"
                raise MeshError("invalid_request", wrong)
            if not Path(source.path).is_absolute() or "\0" in source.path:
                wrong = "`path` is the absolute path of the document"
                raise MeshError("invalid_request", wrong)
        sources = (Source(each.layer, Path(each.path), each.document) for each in request.sources)
        asked = applying(Composition(tuple(sources)), dry_run=request.dry_run)
        return control_pb2.ApplyResponse(transition=await self._transition(asked))

    async def Reload(self, request: control_pb2.ReloadRequest) -> control_pb2.ReloadResponse:
        self._mesh.supervision.forgive(request.module)
        return control_pb2.ReloadResponse(transition=await self._transition(reloading(request.module)))

    async def SetEnabled(self, request: control_pb2.SetEnabledRequest) -> control_pb2.SetEnabledResponse:
        asked = switching(request.module, enabled=request.enabled)
        return control_pb2.SetEnabledResponse(transition=await self._transition(asked))

    async def RereadPackages(
        self, request: control_pb2.RereadPackagesRequest
    ) -> control_pb2.RereadPackagesResponse:
        causes = (*GIVES, *TAKES_AWAY)
        if request.cause not in causes:
            wrong = f"`cause` is one of {', '.join(causes)}, not '{clip(request.cause, QUOTED)}'"
            raise MeshError("invalid_request", wrong)
        asked = rereading(request.cause, request.modules, self._mesh.home)
        return control_pb2.RereadPackagesResponse(transition=await self._transition(asked))

    async def Rollback(self, request: control_pb2.RollbackRequest) -> control_pb2.RollbackResponse:
        asked = going_back(self._mesh.journal)
        return control_pb2.RollbackResponse(transition=await self._transition(asked))

    async def _transition(self, asked: Request) -> control_pb2.Transition:
        return report.transition(self._mesh, await self._mesh.transitions.request(asked))

    async def ListGenerations(
        self, request: control_pb2.ListGenerationsRequest
    ) -> control_pb2.ListGenerationsResponse:
        limit = min(request.limit or DEFAULT_GENERATIONS, MAX_GENERATIONS)
        return control_pb2.ListGenerationsResponse(generations=report.generations(self._mesh, limit))

    async def ListExecutions(
        self, request: control_pb2.ListExecutionsRequest
    ) -> control_pb2.ListExecutionsResponse:
        return control_pb2.ListExecutionsResponse(executions=report.executions(self._mesh))

    async def CancelExecution(
        self, request: control_pb2.CancelExecutionRequest
    ) -> control_pb2.CancelExecutionResponse:
        execution = self._mesh.admission.executions.get(request.id)
        if execution is None:
            gone = f"there is no live execution {clip(request.id, QUOTED)}"
            remedy = "`wuu-mesh executions` lists those that live."
            raise MeshError("execution_not_found", gone, remedy=remedy)
        reason = MeshError("execution_cancelled", f"the operator cancelled {execution.id}", outcome="unknown")
        return control_pb2.CancelExecutionResponse(cancelled=execution.cancel(reason))

    async def Stop(self, request: control_pb2.StopRequest) -> control_pb2.StopResponse:
        self._mesh.stop_requested.set()
        return control_pb2.StopResponse()

    def _without_log(self, module: str) -> MeshError:
        if module in modules(self._mesh):
            never = f"{module} was never started here, so it has no log"
            return MeshError("invalid_request", never, remedy="`wuu-mesh status` says why.")
        return MeshError(
            "invalid_request",
            f"there is no log of a module {clip(module, QUOTED)}{nearest(module, modules(self._mesh))}",
            remedy="`wuu-mesh status` lists the modules.",
        )


def _range(log: Path, offset: int, size: int) -> bytes:
    with log.open("rb") as opened:
        opened.seek(offset)
        return opened.read(size)
