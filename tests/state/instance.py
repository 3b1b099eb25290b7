"""A running instance of a provider, driven as the router would: handshake, lifecycle, signed calls."""

from __future__ import annotations

import asyncio
import hashlib
import itertools
import secrets
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import grpc
import msgspec
from google.protobuf.message import Message
from grpc_health.v1 import health_pb2, health_pb2_grpc

from contract.context import CONTEXT_KEY, ROUTER, CallContext, Phase, sign
from contract.errors import MeshError, from_rpc_error
from contract.handshake import Handshake
from contract.transcoder.write import to_json
from contract.transport import CHANNEL_OPTIONS
from providers.state.documents import operation
from providers.state.documents.store import Identity, Store
from wuu.mesh.v1.context_pb2 import OwnerAdmission, Stewardship
from wuu.mesh.v1.json_pb2 import Json
from wuu.mesh.v1.lifecycle_pb2 import (
    ActivateRequest,
    InitializeRequest,
    InitializeResponse,
    PrepareRequest,
    ShutdownRequest,
)
from wuu.mesh.v1.lifecycle_pb2_grpc import LifecycleStub
from wuu.state.documents.v1 import documents_pb2 as pb
from wuu.state.documents.v1.documents_pb2_grpc import DocumentsStub

DATA_SET = Identity("0123456789abcdef" * 2, "fedcba9876543210")
"""A data set of a test."""

ENGINES = ("sqlite", "jsonl")
"""The engines that every test of the contract runs over."""

MINUTE_MS = 60_000

_numbers = itertools.count(1)


@dataclass(frozen=True, slots=True)
class Place:
    """Where an engine keeps its store."""

    engine: str
    """One of ENGINES."""
    directory: Path
    """The state directory."""

    @property
    def module(self) -> str:
        """The id of the module."""
        return f"wuu.state.{self.engine}"

    @property
    def path(self) -> Path:
        """The file of the store, where the operator names none."""
        return self.directory / {"sqlite": "documents.sqlite3", "jsonl": "documents.jsonl"}[self.engine]

    def files(self) -> dict[str, bytes]:
        """Every file in the directory, by name."""
        return {file.name: file.read_bytes() for file in sorted(self.directory.iterdir())}


@dataclass
class Instance:
    """One start of a provider on a place. `start` it, or step through its lifecycle."""

    place: Place
    sockets: Path
    """A directory with a short path."""
    config: bytes = b""
    log: list[str] = field(default_factory=list)
    """What it wrote to standard error; complete once it has ended."""

    def __post_init__(self) -> None:
        name = f"i{next(_numbers)}"
        self.key = secrets.token_bytes(32)
        self.handshake = Handshake(
            module=self.place.module,
            instance=name,
            listen=str(self.sockets / name),
            router=f"unix:{self.sockets / 'router'}",
            token="token",
            key=self.key.hex(),
        )
        self.channel = grpc.aio.insecure_channel(f"unix:{self.handshake.listen}", options=CHANNEL_OPTIONS)
        self.lifecycle: Any = LifecycleStub(self.channel)
        self.stub: Any = DocumentsStub(self.channel)
        self._process: asyncio.subprocess.Process | None = None
        self._reading: asyncio.Task[None] | None = None

    @property
    def pid(self) -> int:
        """The process."""
        assert self._process is not None
        return self._process.pid

    async def spawn(self) -> None:
        """Starts the process; returns when it is SERVING."""
        self._process = await asyncio.create_subprocess_exec(
            sys.executable,
            *("-P", "-m", f"providers.state.{self.place.engine}"),
            stdin=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
        self._reading = asyncio.create_task(self._read_log())
        assert self._process.stdin is not None
        self._process.stdin.write(msgspec.json.encode(self.handshake) + b"\n")
        await self._process.stdin.drain()
        health: Any = health_pb2_grpc.HealthStub(self.channel)
        watch = health.Watch(health_pb2.HealthCheckRequest(), wait_for_ready=True, timeout=30)
        async for state in watch:
            if state.status == health_pb2.HealthCheckResponse.SERVING:
                break
        watch.cancel()

    async def initialize(self) -> InitializeResponse:
        """Lifecycle: initialize."""
        request = InitializeRequest(
            lifecycle_version=2,
            module=self.place.module,
            instance=self.handshake.instance,
            state_dir=str(self.place.directory),
            home=str(self.place.directory),
        )
        if self.config:
            request.config.CopyFrom(Json(utf8=self.config))
        response = await self._step(self.lifecycle.Initialize, "initialize", request, Phase.PHASE_PREPARATION)
        assert isinstance(response, InitializeResponse)
        return response

    async def prepare(self) -> None:
        """Lifecycle: prepare."""
        await self._step(self.lifecycle.Prepare, "prepare", PrepareRequest(), Phase.PHASE_PREPARATION)

    async def activate(self) -> None:
        """Lifecycle: activate."""
        await self._step(self.lifecycle.Activate, "activate", ActivateRequest(), Phase.PHASE_ACTIVE)

    async def shutdown(self) -> None:
        """Lifecycle: shutdown."""
        await self._step(self.lifecycle.Shutdown, "shutdown", ShutdownRequest(), Phase.PHASE_CLEANUP)

    async def start(self) -> Instance:
        """Spawns it and brings it to active."""
        await self.spawn()
        await self.initialize()
        await self.prepare()
        await self.activate()
        return self

    async def healthy(self) -> bool:
        """Whether it answers, and is SERVING."""
        health: Any = health_pb2_grpc.HealthStub(self.channel)
        state = await health.Check(health_pb2.HealthCheckRequest(), timeout=30)
        return bool(state.status == health_pb2.HealthCheckResponse.SERVING)

    async def stop(self) -> int:
        """Ends its lifeline and waits for its end; returns the exit status."""
        status = 0
        if self._process is not None:
            assert self._process.stdin is not None
            self._process.stdin.close()
            status = await self._ended()
        await self.channel.close()
        return status

    async def kill(self) -> None:
        """Ends it with signal 9, in the middle of whatever it does. `stop` closes the channel."""
        assert self._process is not None
        self._process.kill()
        await self._ended()

    async def read(
        self, namespace: str, *, keys: Sequence[str] | None = None, **query: Any
    ) -> pb.ReadResponse:
        """Reads."""
        request = pb.ReadRequest(namespace=namespace, **query)
        if keys is not None:
            request.keys.keys.extend(keys)
            request.keys.SetInParent()
        response = await self.call(self.stub.Read, request, "read")
        assert isinstance(response, pb.ReadResponse)
        return response

    async def commit(self, request: pb.CommitRequest) -> pb.CommitResponse:
        """Commits."""
        response = await self.call(self.stub.Commit, request, "commit")
        assert isinstance(response, pb.CommitResponse)
        return response

    async def export(self, request: pb.ExportRequest | None = None) -> pb.ExportResponse:
        """Exports."""
        response = await self.call(self.stub.Export, request or pb.ExportRequest(), "export")
        assert isinstance(response, pb.ExportResponse)
        return response

    async def put(self, namespace: str, **documents: bytes) -> pb.CommitResponse:
        """Commits documents on whatever revision the store has."""
        revision = (await self.read(namespace, keys=[])).revision
        writes = [write(namespace, key, value) for key, value in documents.items()]
        return await self.commit(transaction(f"put-{secrets.token_hex(8)}", revision, *writes))

    async def ask(self, request: Message, *, caller: str = "test.caller", **context: Any) -> Any:
        """Calls the rpc that takes a request, in the name of a caller. Failures are `MeshError`."""
        rpc = type(request).__name__.removesuffix("Request")
        method = "".join(f"-{c.lower()}" if c.isupper() else c for c in rpc).lstrip("-")
        signed = self.signed(self.context(method=method, caller=caller, **context))
        return await self.call(getattr(self.stub, rpc), request, method, signed)

    async def call(self, rpc: Any, request: Message, method: str, metadata: Any = None) -> Message:
        """One call with a good context, or with other metadata. Failures are `MeshError`."""
        if metadata is None:
            metadata = self.signed(self.context(method=method))
        try:
            response: Message = await rpc(request, metadata=metadata, timeout=30)
        except grpc.aio.AioRpcError as error:
            raise from_rpc_error(error) from None
        return response

    def context(self, **fields: Any) -> CallContext:
        """A context that the instance accepts, with other fields where they are given."""
        given: dict[str, Any] = {
            "audience": self.handshake.instance,
            "caller": "test.caller",
            "generation": "1",
            "execution": f"x{next(_numbers)}",
            "phase": Phase.PHASE_ACTIVE,
            "service": "state.documents@1",
            "expires_unix_ms": int(time.time() * 1000) + MINUTE_MS,
        }
        return CallContext(**(given | fields))

    def signed(self, context: CallContext, key: bytes | None = None) -> tuple[tuple[str, bytes], ...]:
        """The metadata of a call in that context, under the key of the instance or another."""
        return ((CONTEXT_KEY, sign(context.SerializeToString(), key or self.key)),)

    async def _step(self, rpc: Any, method: str, request: Message, phase: Phase) -> Message:
        context = self.context(caller=ROUTER, service="wuu.mesh.lifecycle@2", method=method, phase=phase)
        return await self.call(rpc, request, method, self.signed(context))

    async def _read_log(self) -> None:
        assert self._process is not None and self._process.stderr is not None
        async for line in self._process.stderr:
            self.log.append(line.decode())

    async def _ended(self) -> int:
        assert self._process is not None and self._reading is not None
        await self._reading
        status = await self._process.wait()
        self._process = None
        return status


def admission(action: str, request: Message, **instead: Any) -> OwnerAdmission:
    """The owner's admission of exactly that request."""
    said = to_json(request)
    given: dict[str, Any] = {
        "action": action,
        "input_json": Json(utf8=said),
        "input_digest": hashlib.sha256(said).digest(),
        "subject": "test.owner",
    }
    return OwnerAdmission(**(given | instead))


def stewardship(place: Place, operation: str, request: Message, **instead: Any) -> Stewardship:
    """The host's stewardship of a store, for exactly that request."""
    said = to_json(request)
    given: dict[str, Any] = {
        "version": 1,
        "provider": place.module,
        "operation": operation,
        "input_json": Json(utf8=said),
        "input_digest": hashlib.sha256(said).digest(),
    }
    return Stewardship(**(given | instead))


def read_from(store: Store, request: pb.ReadRequest) -> pb.ReadResponse:
    """What a store answers without a process around it."""
    return operation.read(store, request, CallContext(caller="test.caller", method="read"), "test.store")


def commit_to(store: Store, request: pb.CommitRequest) -> pb.CommitResponse:
    """What a store does without a process around it."""
    return operation.commit(store, request, CallContext(caller="test.caller", method="commit"), "test.store")


def write(namespace: str, key: str, value: bytes | None) -> pb.Write:
    """A write; None removes."""
    if value is None:
        return pb.Write(namespace=namespace, key=key, delete=True)
    return pb.Write(namespace=namespace, key=key, value=Json(utf8=value))


def transaction(transaction_id: str, revision: str, *writes: pb.Write) -> pb.CommitRequest:
    """A transaction."""
    return pb.CommitRequest(id=transaction_id, expected_revision=revision, writes=writes)


def keys_of(page: pb.ReadResponse) -> list[str]:
    """The keys of a page, as they came."""
    return [document.key for document in page.documents]


def values_of(page: pb.ReadResponse) -> dict[str, bytes]:
    """The values of a page, by key."""
    return {document.key: document.value.utf8 for document in page.documents}


@contextmanager
def refused(code: str, *mentions: str) -> Iterator[None]:
    """What is called inside is refused with the code, and the message mentions all of that."""
    try:
        yield
    except MeshError as error:
        assert error.code == code, error
        assert error.remedy
        for mention in mentions:
            assert mention in error.message, error.message
    else:
        raise AssertionError(f"nothing was refused; expected {code}")
