"""The bridge as the router and its guardian drive it: attached plugins, a router's socket, signed calls."""

from __future__ import annotations

import asyncio
import itertools
import json
import os
import secrets
import signal
import socket
import sys
import time
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import grpc
import msgspec
import psutil
import pytest
from grpc_health.v1 import health_pb2, health_pb2_grpc

from contract.context import CONTEXT_KEY, EXECUTION_KEY, METHOD_KEY, ROUTER, SERVICE_KEY, TOKEN_KEY, sign
from contract.context import CallContext as Context
from contract.errors import MeshError, error_info, to_status
from contract.handshake import Attach, Handshake
from contract.transport import CHANNEL_OPTIONS, SERVER_OPTIONS, unary
from wuu.mesh.v1.contributions_pb2 import (
    ExecuteToolRequest,
    ExecuteToolResponse,
    InvokeCapabilityRequest,
    InvokeCapabilityResponse,
)
from wuu.mesh.v1.declaration_pb2 import ServiceDescriptor
from wuu.mesh.v1.diagnostics_pb2 import ReportRequest, ReportResponse
from wuu.mesh.v1.dynamic_pb2 import InvokeRequest, InvokeResponse
from wuu.mesh.v1.json_pb2 import Json
from wuu.mesh.v1.lifecycle_pb2 import (
    ActivateRequest,
    Binding,
    InitializeRequest,
    InitializeResponse,
    PrepareRequest,
    ServiceChangedRequest,
    ShutdownRequest,
)

PLUGINS = Path(__file__).parent / "plugins"
PATIENCE = 30.0
"""Seconds after which a test that waits has failed."""

DYNAMIC = "/wuu.mesh.v1.Dynamic/Invoke"
PROBE = "test.probe"

_METHOD = {"input_schema": "test.input.v1", "output_schema": "test.output.v1"}
DECLARATION: dict[str, Any] = {
    "protocol_version": 3,
    "lifecycle_version": 2,
    "provided_services": [{"name": PROBE, "version": "1.0.0", "methods": {"run": _METHOD}}],
    "required_services": [{"name": "test.other", "major_version": 1, "required": True}],
    "tools": [{"id": "run", "description": "Runs.", "input_schema": {"type": "object"}}],
    "capabilities": [
        {"id": "test.capability", "kind": "transform", "version": 1},
        {"id": "model.request.metrics", "kind": "observe", "version": 1},
    ],
}
"""What the probe declares unless a test says otherwise."""

_numbers = itertools.count(1)


@dataclass(eq=False)
class RouterCall:
    """One call that reached the router."""

    path: str
    token: str
    service: str
    method: str
    execution: str
    request: bytes
    cancelled: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def params(self) -> Any:
        """The params of a dynamic call."""
        return json.loads(InvokeRequest.FromString(self.request).params.utf8)


class Router(grpc.GenericRpcHandler):
    """The router's socket for instances: records, and answers what a test says."""

    def __init__(self, path: Path) -> None:
        self.target = f"unix:{path}"
        self.calls: list[RouterCall] = []
        self.reports: dict[str, list[ReportRequest]] = {}
        self.answer: Callable[[RouterCall], Awaitable[bytes]] = echo
        self._changed = asyncio.Condition()
        self._server = grpc.aio.server(options=SERVER_OPTIONS)
        self._server.add_generic_rpc_handlers((self,))
        self._server.add_insecure_port(self.target)

    async def start(self) -> None:
        """Listens."""
        await self._server.start()

    async def stop(self) -> None:
        """Ends."""
        await self._server.stop(0)

    async def until(self, holds: Callable[[], bool]) -> None:
        """Returns when something that was recorded makes it hold."""
        async with asyncio.timeout(PATIENCE), self._changed:
            await self._changed.wait_for(holds)

    def of(self, instance: Instance) -> list[RouterCall]:
        """The calls of an instance."""
        return [call for call in self.calls if call.token == instance.handshake.token]

    def report(self, instance: Instance) -> ReportRequest:
        """The latest report of an instance; an empty one where there is none."""
        return self.reports.get(instance.handshake.token, [ReportRequest()])[-1]

    def service(self, handler_call_details: Any) -> Any:
        path: str = handler_call_details.method

        async def serve(request: bytes, context: Any) -> bytes:
            given = dict(context.invocation_metadata())
            if path == "/wuu.mesh.v1.Diagnostics/Report":
                async with self._changed:
                    self.reports.setdefault(given[TOKEN_KEY], []).append(ReportRequest.FromString(request))
                    self._changed.notify_all()
                return ReportResponse().SerializeToString()
            keys = (TOKEN_KEY, SERVICE_KEY, METHOD_KEY, EXECUTION_KEY)
            token, service, method, execution = (given.get(key, "") for key in keys)
            call = RouterCall(path, token, service, method, execution, request)
            async with self._changed:
                self.calls.append(call)
                self._changed.notify_all()
            try:
                return await self.answer(call)
            except MeshError as error:
                status = to_status(error)
                await context.abort(status.code, status.message, status.trailers)
                raise
            except asyncio.CancelledError:
                call.cancelled.set()
                raise

        return grpc.unary_unary_rpc_method_handler(serve)


async def echo(call: RouterCall) -> bytes:
    """Answers a dynamic call with its params."""
    return InvokeResponse(result=InvokeRequest.FromString(call.request).params).SerializeToString()


def answers(result: bytes) -> bytes:
    """The answer of a dynamic call."""
    return InvokeResponse(result=Json(utf8=result)).SerializeToString()


class Bridge:
    """A running bridge and the guardian's end of its socket."""

    def __init__(self, directory: Path, router: Router) -> None:
        self.directory = directory
        """For sockets and logs; its path is short."""
        self.router = router
        self.log = directory / f"bridge{next(_numbers)}.log"
        self.socket, self._theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.process: asyncio.subprocess.Process

    async def start(self) -> None:
        """Starts the process."""
        with self.log.open("wb") as log:
            self.process = await asyncio.create_subprocess_exec(
                *(sys.executable, "-P", "-m", "bridge_jsonl"),
                stdin=asyncio.subprocess.PIPE,
                stderr=log,
                pass_fds=(self._theirs.fileno(),),
            )
        handshake = {"version": 1, "attach_fd": self._theirs.fileno()}
        self._theirs.close()
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps(handshake).encode() + b"\n")

    async def stop(self) -> int:
        """Ends the lifeline; returns the exit status."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        async with asyncio.timeout(PATIENCE):
            status = await self.process.wait()
        self.socket.close()
        return status

    @property
    def rss(self) -> int:
        """The resident set now, in bytes."""
        rss: int = psutil.Process(self.process.pid).memory_info().rss
        return rss

    @property
    def peak(self) -> int:
        """The greatest resident set so far, in bytes."""
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        return next(int(line.split()[1]) * 1024 for line in status.splitlines() if line.startswith("VmHWM"))

    async def attach(
        self,
        declaration: dict[str, Any] | str | None = None,
        options: dict[str, Any] | None = None,
        *,
        argv: Sequence[str] = (),
        timeout: float = PATIENCE,
    ) -> Instance:
        """Starts a plugin, the probe unless `argv` says otherwise, and hands it to the bridge."""
        said = declaration if isinstance(declaration, str) else json.dumps(declaration or DECLARATION)
        command = argv or (
            *(sys.executable, "-I", "-S", str(PLUGINS / "probe.py")),
            *(said, json.dumps(options or {})),
        )
        instance = Instance(self, timeout)
        await instance.spawn(command)
        return instance


class Instance:
    """One plugin and its instance, called as the router calls it."""

    def __init__(self, bridge: Bridge, timeout: float) -> None:
        number = next(_numbers)
        self.router = bridge.router
        self.key = secrets.token_bytes(32)
        self.handshake = Handshake(
            module="test.plugin",
            instance=f"test.plugin@{number}",
            listen=str(bridge.directory / f"i{number}"),
            router=bridge.router.target,
            token=secrets.token_hex(8),
            key=self.key.hex(),
        )
        self.log = bridge.directory / f"i{number}.log"
        self.process: asyncio.subprocess.Process
        self.channel = grpc.aio.insecure_channel(f"unix:{self.handshake.listen}", options=CHANNEL_OPTIONS)
        self._bridge = bridge
        self._timeout = timeout
        self._calls = AsyncExitStack()

    async def spawn(self, argv: Sequence[str]) -> None:
        """What the guardian does: the process, and its pipes to the bridge. Returns when it is SERVING."""
        stdin, ours_in = os.pipe()
        ours_out, stdout = os.pipe()
        with self.log.open("ab") as log:
            self.process = await asyncio.create_subprocess_exec(
                *argv, stdin=stdin, stdout=stdout, stderr=log, process_group=0
            )
        attach = Attach(handshake=self.handshake, log=str(self.log), timeout=self._timeout)
        socket.send_fds(self._bridge.socket, [msgspec.json.encode(attach)], [ours_in, ours_out])
        for descriptor in (stdin, stdout, ours_in, ours_out):
            os.close(descriptor)
        health: Any = health_pb2_grpc.HealthStub(self.channel)
        answer = await health.Check(health_pb2.HealthCheckRequest(), wait_for_ready=True, timeout=PATIENCE)
        assert answer.status == health_pb2.HealthCheckResponse.SERVING

    async def exited(self) -> int:
        """The exit status, once the process has ended by itself."""
        async with asyncio.timeout(PATIENCE):
            return await self.process.wait()

    async def end(self) -> None:
        """Ends the process group and the connection."""
        if self.process.returncode is None:
            try:
                os.killpg(self.process.pid, signal.SIGKILL)
            except ProcessLookupError:
                pass  # It ended by itself a moment ago.
        await self.process.wait()
        await self.channel.close()

    # --- the lifecycle -------------------------------------------------------------------------------------

    async def initialize(self, **fields: Any) -> InitializeResponse:
        """Initialize, with other fields where they are given."""
        given: dict[str, Any] = {
            "lifecycle_version": 2,
            "module": self.handshake.module,
            "instance": self.handshake.instance,
            "host_features": ["feature.one", "feature.two"],
            "package_root": str(PLUGINS),
            "home": "/home/of/wuu",
            "state_dir": "/state/of/plugin",
        }
        request = InitializeRequest(**(given | fields))
        return InitializeResponse.FromString(await self._step("Initialize", request))

    async def prepare(self, *bindings: Binding) -> None:
        """Prepare."""
        await self._step("Prepare", PrepareRequest(bindings=bindings))

    async def activate(self) -> None:
        """Activate."""
        await self._step("Activate", ActivateRequest())

    async def service_changed(self, **fields: Any) -> None:
        """ServiceChanged."""
        await self._step("ServiceChanged", ServiceChangedRequest(**fields))

    async def shutdown(self) -> None:
        """Shutdown."""
        await self._step("Shutdown", ShutdownRequest())

    async def _step(self, rpc: str, request: Any) -> bytes:
        return await self.call(
            f"/wuu.mesh.v1.Lifecycle/{rpc}",
            request.SerializeToString(),
            service="wuu.mesh.lifecycle@2",
            method="service-changed" if rpc == "ServiceChanged" else rpc.lower(),
            caller=ROUTER,
        )

    async def up(self, *bindings: Binding) -> Instance:
        """Initialize, prepare, activate."""
        await self.initialize()
        await self.prepare(*bindings or (binding("test.other"),))
        await self.activate()
        return self

    # --- work ----------------------------------------------------------------------------------------------

    async def run(self, do: str, *, execution: str = "", timeout: float = PATIENCE, **order: Any) -> Any:
        """Has the probe do something, through its service; returns what it answers."""
        result = await self.invoke(
            json.dumps({"do": do, **order}).encode(), execution=execution, timeout=timeout
        )
        return json.loads(result)

    async def seen(self, holds: Callable[[list[Any]], bool] = lambda _: True) -> list[Any]:
        """What the probe has been asked so far, once it holds: [method, id, execution, …]."""
        async with asyncio.timeout(PATIENCE):
            while not holds(seen := await self.run("seen")):
                pass
        return list(seen)

    async def held(self, execution: str) -> None:
        """Returns once the probe has been asked on behalf of the execution."""
        await self.seen(lambda seen: any(entry[2] == execution for entry in seen))

    async def invoke(self, params: bytes, **context: Any) -> bytes:
        """Calls the probe's service with JSON; returns JSON."""
        request = InvokeRequest(params=Json(utf8=params) if params else None)
        response = await self.call(DYNAMIC, request.SerializeToString(), **context)
        return InvokeResponse.FromString(response).result.utf8

    async def tool(self, request: ExecuteToolRequest, **context: Any) -> ExecuteToolResponse:
        """Executes a tool."""
        path = "/wuu.mesh.v1.Contributions/ExecuteTool"
        context = {"service": "wuu.mesh.contributions@1", "method": "execute-tool", **context}
        return ExecuteToolResponse.FromString(await self.call(path, request.SerializeToString(), **context))

    async def capability(self, do: str, capability: str = "test.capability", **order: Any) -> Any:
        """Has the probe do something, through a capability."""
        request = InvokeCapabilityRequest(
            capability=capability,
            input=Json(utf8=json.dumps({"do": do, **order}).encode()),
            output=Json(utf8=b'{"so":"far"}'),
        )
        path = "/wuu.mesh.v1.Contributions/InvokeCapability"
        made_for: dict[str, Any] = {"service": "wuu.mesh.contributions@1", "method": "invoke-capability"}
        response = await self.call(path, request.SerializeToString(), **made_for)
        return json.loads(InvokeCapabilityResponse.FromString(response).output.utf8)

    async def call(self, path: str, request: bytes, *, timeout: float = PATIENCE, **context: Any) -> bytes:
        """One call by its path, with a signed context. Raises `grpc.aio.AioRpcError`."""
        given: dict[str, Any] = {
            "audience": self.handshake.instance,
            "caller": "test.caller",
            "generation": "1",
            "service": f"{PROBE}@1",
            "method": "run",
            "expires_unix_ms": int(time.time() * 1000) + 60_000,
        }
        given |= {key: value for key, value in context.items() if value}
        given.setdefault("execution", f"x{next(_numbers)}")
        signed = sign(Context(**given).SerializeToString(), self.key)
        return await unary(self.channel, path, request, ((CONTEXT_KEY, signed),), timeout)


def binding(service: str, descriptor: ServiceDescriptor | None = None) -> Binding:
    """A binding of `service@1`; dynamic unless a descriptor says otherwise."""
    return Binding(
        service=service,
        major=1,
        provider="test.provider",
        descriptor=descriptor or ServiceDescriptor(name=service, version="1.0.0"),
    )


def code(failure: pytest.ExceptionInfo[grpc.aio.AioRpcError]) -> tuple[str, str]:
    """The domain and the code of a failed call."""
    trailers: Any = failure.value.trailing_metadata()
    info = error_info(tuple(trailers))
    assert info is not None, failure.value
    return info.domain, info.reason
