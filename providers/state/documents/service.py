"""The service: the thread in which everything is done to a store, and when it is open."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from pathlib import Path
from typing import ParamSpec, TypeVar

from google.protobuf.message import Message

from contract.errors import MeshError
from provider_kit import Call
from providers.state.documents import operation
from providers.state.documents.operation import Operation
from providers.state.documents.store import Store, refused
from wuu.state.documents.v1 import documents_pb2 as pb

log = logging.getLogger(__name__)

P = ParamSpec("P")
T = TypeVar("T")


class Documents:
    """Serves `state.documents@1` from one store. Its methods are those of the proto.

    All that blocks runs in one thread, in the order of arrival. A call that is cancelled while it waits is
    never begun; one that has begun is finished, whoever still listens.
    """

    def __init__(self, engine: type[Store], path: Path, module: str) -> None:
        """`module` is the provider itself, as a stewardship names it."""
        self.path = path
        self._engine = engine
        self._module = module
        self._store: Store | None = None
        self._thread = ThreadPoolExecutor(1, "store")

    async def check(self) -> None:
        """See `Store.check`."""
        await self._run(check, self._engine, self.path)

    async def open(self) -> None:
        """Opens the store; until then every rpc is `host_error`."""
        self._store = await self._run(self._engine.open, self.path)
        log.info("store opened", extra={"path": str(self.path)})

    async def close(self) -> None:
        """Closes the store after everything that was begun."""
        store, self._store = self._store, None
        if store is not None:
            await self._run(store.close)

    async def read(self, request: pb.ReadRequest, call: Call) -> Message:
        return await self._do(operation.read, request, call)

    async def commit(self, request: pb.CommitRequest, call: Call) -> Message:
        return await self._do(operation.commit, request, call)

    async def export(self, request: pb.ExportRequest, call: Call) -> Message:
        return await self._do(operation.export, request, call)

    async def compact(self, request: pb.CompactRequest, call: Call) -> Message:
        return await self._do(operation.compact, request, call)

    async def import_(self, request: pb.ImportRequest, call: Call) -> Message:
        return await self._do(operation.import_, request, call)

    async def acquire_inspection(self, request: pb.AcquireInspectionRequest, call: Call) -> Message:
        return await self._do(operation.acquire_inspection, request, call)

    async def release_inspection(self, request: pb.ReleaseInspectionRequest, call: Call) -> Message:
        return await self._do(operation.release_inspection, request, call)

    async def list_inspections(self, request: pb.ListInspectionsRequest, call: Call) -> Message:
        return await self._do(operation.list_inspections, request, call)

    async def reconcile_inspection(self, request: pb.ReconcileInspectionRequest, call: Call) -> Message:
        return await self._do(operation.reconcile_inspection, request, call)

    async def claim_namespaces(self, request: pb.ClaimNamespacesRequest, call: Call) -> Message:
        return await self._do(operation.claim_namespaces, request, call)

    async def _do(self, work: Operation, request: Message, call: Call) -> Message:
        if self._store is None:
            raise MeshError("host_error", f"the store at {self.path} is not open: the instance is not active")
        answer: Message = await self._run(work, self._store, request, call.context, self._module)
        return answer

    async def _run(self, work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        loop = asyncio.get_running_loop()
        context = copy_context()
        return await loop.run_in_executor(self._thread, lambda: context.run(work, *args, **kwargs))


def check(engine: type[Store], path: Path) -> None:
    """Refuses a path that no store could be opened at. Writes nothing."""
    if not path.parent.is_dir():
        remedy = f"Make the directory {path.parent}, or correct `path` in the config of the module."
        raise refused(path, "its directory does not exist", remedy)
    engine.check(path)
