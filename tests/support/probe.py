"""The probe: a provider whose configuration says what it declares and how it misbehaves.

It is a module like any other, written with the kit and started by the router as
`python -P -m tests.support.probe [LINE…]`; each LINE is printed on standard output before the start. Its
dynamic services all have the methods of `Probe.METHODS`; with `streams` it provides a typed service in the
four shapes of a call beside. A test waits on a probe (`hanging`, `cancelled`, `changed` answer once it
happened) and never on a clock.
"""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from collections import Counter, defaultdict
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from typing import Any, ClassVar, NoReturn

import grpc
import msgspec

from contract.context import CallContext, Phase
from contract.errors import MeshError
from contract.handshake import Handshake, read_handshake
from contract.transport import CHANNEL_OPTIONS, DYNAMIC
from provider_kit import Call, Mesh, Module, configuration, requirement
from provider_kit.program import lifeline, start
from provider_kit.provided import Handler
from provider_kit.server import InstanceServer
from tests.support.script import (
    Config,
    Crash,
    Failing,
    Forked,
    Job,
    NestedCall,
    Report,
    StepName,
    Waited,
)
from wuu.mesh.v1.contributions_pb2 import ExecuteToolRequest, ExecuteToolResponse
from wuu.mesh.v1.declaration_pb2 import (
    Declaration,
    MethodDescriptor,
    ServiceDescriptor,
    Shape,
    Tool,
    ToolActivity,
)
from wuu.mesh.v1.diagnostics_pb2 import Failure
from wuu.mesh.v1.dynamic_pb2 import InvokeRequest, InvokeResponse
from wuu.mesh.v1.json_pb2 import Json
from wuu.mesh.v1.leases_pb2 import AcquireLeaseRequest, ReleaseLeaseRequest
from wuu.mesh.v1.leases_pb2_grpc import LeasesStub
from wuu.mesh.v1.lifecycle_pb2 import InitializeRequest, InitializeResponse, ServiceChangedRequest

EXECUTE_TOOL = "/wuu.mesh.v1.Contributions/ExecuteTool"

STREAMS = "probe.v1.Streams"
"""The gRPC service that carries what `Config.streams` names."""


class Probe(Module):
    """A scriptable module."""

    def __init__(self, handshake: Handshake) -> None:
        self.handshake = handshake
        self.config = Config()
        self._outcomes: list[Any] = []
        self._hanging: defaultdict[str, list[str]] = defaultdict(list)
        self._cancelled: Counter[str] = Counter()
        self._changed = 0
        self._happened = asyncio.Event()
        self._ignoring: asyncio.Task[bool] | None = None
        self._gone = asyncio.Event()
        self._open: defaultdict[str, asyncio.Event] = defaultdict(asyncio.Event)
        self._abandoned: set[asyncio.Task[Any]] = set()
        # Calls under another token or execution than our own, which the kit does not make.
        self._channel = grpc.aio.insecure_channel(handshake.router, options=CHANNEL_OPTIONS)

    # --- the lifecycle ---

    async def initialized(self, request: InitializeRequest) -> InitializeResponse:
        self.config = configuration(request, Config)
        await self._step("initialize")
        return InitializeResponse(
            lifecycle_version=self.config.lifecycle,
            declaration=Declaration(
                provided_services=[*map(self._dynamic, self.config.provides), *self._typed()],
                required_services=[
                    requirement(name.removesuffix("?"), required=not name.endswith("?"))
                    for name in self.config.requires
                ],
                tools=[
                    Tool(
                        id=name,
                        description=f"The method {name} of a probe.",
                        input_schema=Json(utf8=b'{"type":"object"}'),
                        activity=ToolActivity(read_only=True),
                    )
                    for name in self.config.tools
                ],
            ),
            required_host_features=self.config.features,
        )

    async def prepare(self) -> None:
        await self._step("prepare")

    async def activate(self) -> None:
        await self._step("activate")

    async def service_changed(self, request: ServiceChangedRequest) -> None:
        state = "available" if request.available else "gone"
        await self._step("service-changed", f" {request.service}@{request.major} {state} {request.reason}")
        self._changed += 1
        self._tell()

    async def shutdown(self) -> None:
        await self._step("shutdown")

    async def close(self) -> None:
        """Closes its own way to the router."""
        await self._channel.close()

    def _record(self, step: str) -> None:
        if self.config.record:
            with open(self.config.record, "a", encoding="utf-8") as record:
                record.write(f"{self.handshake.module} {step}\n")

    async def _step(self, name: StepName, detail: str = "") -> None:
        self._record(name + detail)
        for action in self.config.steps.get(name, ()):
            if action.call is not None:
                outcome = await self._outcome(action.call, self.mesh, "")
                self._outcomes.append(outcome)
                self._record(f"{name}: {msgspec.json.encode(outcome).decode()}")
            elif action.demand is not None:
                await self._nested(action.demand, self.mesh, "")
            elif action.begin is not None:
                self._abandoned.add(asyncio.create_task(self._outcome(action.begin, self.mesh, "")))
            elif action.error:
                raise MeshError("host_error", action.error)
            elif action.pause:
                await asyncio.sleep(action.pause)
            elif action.hang:
                await asyncio.Event().wait()
            elif action.exit is not None:
                os._exit(action.exit)

    # --- what it declares ---

    def _dynamic(self, provided: str) -> ServiceDescriptor:
        name, _, version = provided.partition("@")
        return ServiceDescriptor(
            name=name,
            version=f"{version}.0.0" if version.isdigit() else version,
            methods=[
                MethodDescriptor(
                    name=method,
                    input_schema="probe.any",
                    output_schema="probe.any",
                    preparation=method.startswith("peek"),
                    cleanup=method.startswith("tidy"),
                )
                for method in self.config.methods or self.METHODS
            ],
        )

    def _typed(self) -> list[ServiceDescriptor]:
        if not self.config.streams:
            return []
        name, _, major = self.config.streams.partition("@")
        methods = [
            MethodDescriptor(
                name=rpc.lower(),
                rpc=rpc,
                input_schema="probe.any",
                output_schema="probe.any",
                shape=shape,
            )
            for rpc, (shape, _) in self.RPCS.items()
        ]
        return [
            ServiceDescriptor(name=name, version=f"{major}.0.0", grpc_service=STREAMS, methods=methods),
        ]

    # --- calls ---

    def handler(self, path: str, context: CallContext) -> Handler | None:
        if path == DYNAMIC:
            return Handler(Shape.SHAPE_UNARY, self._invoke)
        if path == EXECUTE_TOOL:
            return Handler(Shape.SHAPE_UNARY, self._execute_tool)
        service, _, rpc = path.removeprefix("/").partition("/")
        if service != STREAMS or rpc not in self.RPCS:
            return None
        shape, serve = self.RPCS[rpc]
        return Handler(shape, partial(serve, self))

    async def _invoke(self, request: bytes, call: Call) -> bytes:
        params = InvokeRequest.FromString(request).params.utf8
        result = await self._method(call.context.method, params, call)
        return InvokeResponse(result=Json(utf8=msgspec.json.encode(result))).SerializeToString()

    async def _execute_tool(self, request: bytes, call: Call) -> bytes:
        asked = ExecuteToolRequest.FromString(request)
        if asked.tool_id not in self.config.tools:
            raise MeshError("method_not_found", f"{self.handshake.module} has no tool {asked.tool_id}")
        try:
            result = await self._method(asked.tool_id, asked.arguments.utf8, call)
        except MeshError as error:
            content = Json(utf8=msgspec.json.encode([{"type": "text", "text": error.message}]))
            return ExecuteToolResponse(content=content, is_error=True).SerializeToString()
        text = msgspec.json.encode(result)
        return ExecuteToolResponse(
            content=Json(utf8=msgspec.json.encode([{"type": "text", "text": text.decode()}])),
            structured_content=Json(utf8=text),
        ).SerializeToString()

    async def _method(self, name: str, params: bytes, call: Call) -> Any:
        method = self.METHODS.get(name)
        if method is None:
            raise MeshError("method_not_found", f"a probe has no {name}")
        return await method(self, params or b"null", call)

    async def echo(self, params: bytes, _: Call) -> Any:
        """The params, byte for byte."""
        return msgspec.Raw(params)

    async def context(self, _: bytes, call: Call) -> Any:
        """The signed context of the call, field by field."""
        context = call.context
        scalars = {f.name: getattr(context, f.name) for f in context.DESCRIPTOR.fields if not f.message_type}
        return {**scalars, "phase": Phase.Name(context.phase).removeprefix("PHASE_").lower()}

    async def call(self, params: bytes, call: Call) -> Any:
        """Makes a nested call: its `result` or `error`, and the context that it was made in."""
        asked = msgspec.json.decode(params, type=NestedCall)
        with self._waiting(asked.key, call):
            outcome = await self._outcome(asked, call.mesh, call.context.execution)
            if outcome.get("error", {}).get("code") == "execution_cancelled":
                # The end of the nested call may overtake the cancel of this one, on another connection.
                await asyncio.Event().wait()
        return {**outcome, "context": await self.context(b"", call)}

    async def each(self, params: bytes, call: Call) -> Any:
        """Makes nested calls one after the other, and tells what became of each."""
        asked = msgspec.json.decode(params, type=list[NestedCall])
        return [await self._outcome(one, call.mesh, call.context.execution) for one in asked]

    async def job(self, params: bytes, call: Call) -> Any:
        """Begins work that outlives the call, under a lease, and returns. The record tells of it."""
        asked = msgspec.json.decode(params, type=Job)
        await self._lease(asked.key, call)
        task = asyncio.create_task(self._work(asked))
        self._abandoned.add(task)

    async def _work(self, job: Job) -> None:
        for asked in job.calls:
            outcome = await self._outcome(asked, self.mesh, "")
            self._record(f"job: {msgspec.json.encode(outcome).decode()}")
        leases = self.mesh.stub(LeasesStub, "wuu.mesh.leases@1")
        await leases.ReleaseLease(ReleaseLeaseRequest(key=job.key))

    async def wait(self, params: bytes, call: Call) -> Any:
        """Returns once the key is let through."""
        key = msgspec.json.decode(params, type=Waited).key
        with self._waiting(key, call):
            await self._open[key].wait()
        return key

    async def let(self, params: bytes, _: Call) -> Any:
        """Lets a key through, now and later."""
        self._open[msgspec.json.decode(params, type=Waited).key].set()

    async def lease(self, params: bytes, call: Call) -> Any:
        """Takes a lease under a key, and tells the generation that it keeps."""
        return await self._lease(msgspec.json.decode(params, type=Waited).key, call)

    async def _lease(self, key: str, call: Call) -> str:
        leases = call.mesh.stub(LeasesStub, "wuu.mesh.leases@1")
        generation: str = (await leases.AcquireLease(AcquireLeaseRequest(key=key, kind="job"))).generation
        return generation

    async def release(self, params: bytes, call: Call) -> Any:
        """Releases the lease of a key, and tells whether it was held."""
        key = msgspec.json.decode(params, type=Waited).key
        leases = self.mesh.stub(LeasesStub, "wuu.mesh.leases@1")
        return (await leases.ReleaseLease(ReleaseLeaseRequest(key=key))).released

    async def abandon(self, params: bytes, call: Call) -> Any:
        """Begins the first of two nested calls, awaits only the second, and returns. `outcomes` has both."""
        first, second = msgspec.json.decode(params, type=tuple[NestedCall, NestedCall])
        task = asyncio.create_task(self._keep_outcome(first, call))
        self._abandoned.add(task)
        await self._keep_outcome(second, call)

    async def _keep_outcome(self, asked: NestedCall, call: Call) -> None:
        self._outcomes.append(await self._outcome(asked, call.mesh, call.context.execution))
        self._tell()

    async def outcomes(self, params: bytes, _: Call) -> Any:
        """What became of the calls made in steps and by `abandon`, once there are `count`."""
        await self._until(params, lambda _: len(self._outcomes))
        return self._outcomes

    async def hang(self, params: bytes, call: Call) -> Any:
        """Never returns."""
        with self._waiting(msgspec.json.decode(params, type=Waited).key, call):
            await asyncio.Event().wait()

    async def ignore(self, params: bytes, _: Call) -> Any:
        """Answers when it is let `go`, and does not heed that it was cancelled."""
        self._ignoring = asyncio.create_task(self._gone.wait())
        self._tell()
        while not self._ignoring.done():
            with suppress(asyncio.CancelledError):
                await asyncio.shield(self._ignoring)
        return "too late"

    async def ignoring(self, params: bytes, _: Call) -> Any:
        """Returns when somebody is in `ignore`."""
        await self._until(params, lambda _: self._ignoring is not None)

    async def go(self, _: bytes, __: Call) -> Any:
        """Lets `ignore` end, and returns when it has."""
        self._gone.set()
        assert self._ignoring is not None
        await self._ignoring

    async def resign(self, _: bytes, __: Call) -> Any:
        """Is cancelled by its own provider, while its caller waits."""
        task = asyncio.current_task()
        assert task is not None
        task.cancel()
        await asyncio.sleep(0)

    async def report(self, params: bytes, call: Call) -> Any:
        """Tells the router about the instance."""
        asked = msgspec.json.decode(params, type=Report)
        await call.mesh.report(
            stray_lines=asked.stray_lines,
            last_stray_line=asked.last_stray_line,
            failure=Failure(code=asked.code, message=asked.message) if asked.code else None,
        )

    async def hanging(self, params: bytes, _: Call) -> Any:
        """The executions that hang under `key`, once there are `count`."""
        key = await self._until(params, lambda key: len(self._hanging[key]))
        return self._hanging[key]

    async def cancelled(self, params: bytes, _: Call) -> Any:
        """Returns when `count` calls under `key` were cancelled."""
        return self._cancelled[await self._until(params, lambda key: self._cancelled[key])]

    async def changed(self, params: bytes, _: Call) -> Any:
        """Returns when `count` changes of services were announced."""
        await self._until(params, lambda _: self._changed)
        return self._changed

    async def crash(self, params: bytes, _: Call) -> NoReturn:
        """Ends the process, at once."""
        asked = msgspec.json.decode(params, type=Crash)
        if asked.how == "abort":
            os.abort()
        if asked.how == "kill":
            os.kill(os.getpid(), signal.SIGKILL)
        os._exit(asked.status)

    async def error(self, params: bytes, _: Call) -> NoReturn:
        """Fails with an error."""
        asked = msgspec.json.decode(params, type=Failing)
        raise MeshError(asked.code, asked.message, domain=asked.domain, **asked.details)

    async def blunder(self, params: bytes, _: Call) -> NoReturn:
        """Fails with an exception that nobody foresaw."""
        raise LookupError(params.decode())

    async def complain(self, params: bytes, _: Call) -> Any:
        """Writes a line to standard error."""
        sys.stderr.write(msgspec.json.decode(params, type=str) + "\n")
        sys.stderr.flush()

    async def fork(self, params: bytes, _: Call) -> Any:
        """Starts a child of its own and tells its process id."""
        child = subprocess.Popen(  # noqa: ASYNC220 (it takes no time)
            ["sleep", "600"],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            start_new_session=msgspec.json.decode(params, type=Forked).session,
        )
        return child.pid

    async def shake(self, _: bytes, __: Call) -> Any:
        """The handshake that the probe was started with."""
        return self.handshake

    async def bound(self, _: bytes, __: Call) -> Any:
        """Where its requirements lead."""
        return [[f"{each.service}@{each.major}", each.provider] for each in self.bindings]

    METHODS: ClassVar[dict[str, Callable[[Any, bytes, Call], Awaitable[Any]]]] = {
        "echo": echo,
        "context": context,
        "call": call,
        "each": each,
        "job": job,
        "wait": wait,
        "let": let,
        "lease": lease,
        "release": release,
        "abandon": abandon,
        "outcomes": outcomes,
        "hang": hang,
        "resign": resign,
        "ignore": ignore,
        "ignoring": ignoring,
        "go": go,
        "report": report,
        "hanging": hanging,
        "cancelled": cancelled,
        "changed": changed,
        "crash": crash,
        "error": error,
        "blunder": blunder,
        "complain": complain,
        "fork": fork,
        "shake": shake,
        "bound": bound,
        # Marked `preparation`.
        "peek": context,
        "peek-call": call,
        # Marked `cleanup`.
        "tidy": context,
        "tidy-call": call,
    }
    """Every method of a dynamic service, by its spelling."""

    # --- streams ---

    async def unary(self, request: bytes, _: Call) -> bytes:
        """The request."""
        return request

    async def gather(self, requests: AsyncIterator[bytes], _: Call) -> bytes:
        """Every request in one."""
        return b"".join([request async for request in requests])

    async def scatter(self, request: bytes, _: Call) -> AsyncIterator[bytes]:
        """The request, a byte at a time."""
        for byte in request:
            yield bytes([byte])

    async def both(self, requests: AsyncIterator[bytes], _: Call) -> AsyncIterator[bytes]:
        """Each request as it comes."""
        async for request in requests:
            yield request

    async def watch(self, request: bytes, call: Call) -> AsyncIterator[bytes]:
        """The request, and then nothing for ever; it hangs under the key that the request is."""
        with self._waiting(request.decode(), call):
            yield request
            await asyncio.Event().wait()

    RPCS: ClassVar[dict[str, tuple[Shape, Callable[[Any, Any, Call], Any]]]] = {
        "Unary": (Shape.SHAPE_UNARY, unary),
        "Gather": (Shape.SHAPE_CLIENT_STREAM, gather),
        "Scatter": (Shape.SHAPE_SERVER_STREAM, scatter),
        "Both": (Shape.SHAPE_BIDI_STREAM, both),
        "Watch": (Shape.SHAPE_SERVER_STREAM, watch),
    }
    """Every rpc of the typed service."""

    # --- how it waits and calls ---

    @contextmanager
    def _waiting(self, key: str, call: Call) -> Iterator[None]:
        self._hanging[key].append(call.context.execution)
        self._tell()
        try:
            yield
        except asyncio.CancelledError:
            self._cancelled[key] += 1
            raise
        finally:
            self._hanging[key].remove(call.context.execution)
            self._tell()

    def _tell(self) -> None:
        self._happened.set()
        self._happened = asyncio.Event()

    async def _until(self, params: bytes, count: Callable[[str], int]) -> str:
        waited = msgspec.json.decode(params, type=Waited | None) or Waited()
        while count(waited.key) < waited.count:
            await self._happened.wait()
        return waited.key

    async def _outcome(self, asked: NestedCall, mesh: Mesh, execution: str) -> dict[str, Any]:
        try:
            return {"result": await self._nested(asked, mesh, execution)}
        except MeshError as error:
            return {
                "error": {
                    "code": error.code,
                    "message": error.message,
                    "domain": error.domain,
                    "outcome": error.outcome,
                }
            }

    async def _nested(self, asked: NestedCall, mesh: Mesh, execution: str) -> Any:
        if asked.token or asked.execution is not None:
            own = execution if asked.execution is None else asked.execution
            mesh = Mesh(self._channel, asked.token or self.handshake.token, own)
        module, _, tool = asked.tool.partition("/")
        params = Json(utf8=bytes(asked.params))
        if tool:
            request = ExecuteToolRequest(tool_id=tool, tool=asked.tool, arguments=params).SerializeToString()
        else:
            request = InvokeRequest(params=params).SerializeToString()
        answer = await mesh.unary(
            asked.path or (EXECUTE_TOOL if tool else DYNAMIC),
            request,
            service=asked.service,
            method="" if tool else asked.method,
            module=module,
            timeout=asked.timeout,
        )
        if tool:
            return msgspec.Raw(ExecuteToolResponse.FromString(answer).structured_content.utf8 or b"null")
        return msgspec.Raw(InvokeResponse.FromString(answer).result.utf8 or b"null")


async def _run(handshake: Handshake) -> None:
    probe = Probe(handshake)
    server = InstanceServer(handshake, probe)
    await server.start()
    await lifeline()
    await server.stop()
    await probe.close()


if __name__ == "__main__":
    for line in sys.argv[1:]:
        sys.stdout.write(f"{line}\n")
        sys.stdout.flush()
    start(read_handshake, _run)
