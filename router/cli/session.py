"""A command's connection to the running mesh."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from functools import cached_property
from pathlib import Path
from typing import Any, Self

import grpc

from contract.errors import MeshError, error_info, from_rpc_error
from contract.transport import CHANNEL_OPTIONS, check_size
from router.cli.exits import NoMesh
from router.home import Home, listener
from wuu.mesh.v1 import control_pb2, control_pb2_grpc

CONNECT_TIMEOUT = 5.0
"""Seconds that a command waits for a mesh that listens."""


_GONE = (grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.CANCELLED)
"""What the transport says when the other end is no more."""


class Session:
    """Calls over the control socket. Failures are `MeshError`."""

    def __init__(self, home: Home, control: str, timeout: float | None = None) -> None:
        """Raises `NoMesh` where nobody listens, and `service_unavailable` where nobody answers.

        `timeout` bounds each call of a service, in seconds.
        """
        self.home = home
        self._timeout = timeout
        if listener(control) is None:
            raise NoMesh(home)
        self._channel = grpc.insecure_channel(f"unix:{control}", options=CHANNEL_OPTIONS)
        try:
            grpc.channel_ready_future(self._channel).result(timeout=CONNECT_TIMEOUT)
        except grpc.FutureTimeoutError:
            self.close()
            if listener(control) is None:
                raise NoMesh(home) from None  # It went away in the meantime.
            raise MeshError(
                "service_unavailable",
                f"the mesh in {home.root} takes connections and does not answer",
                remedy="See whether its router is stopped or starved; `kill -9` ends it and all it runs.",
            ) from None
        self.control: Any = control_pb2_grpc.ControlStub(self._channel)

    @classmethod
    def of(cls, root: Path | None, timeout: float | None = None) -> Self:
        """The session with the mesh of a home. Raises `NoMesh`."""
        home = Home.at(root)
        running = home.running()
        if running is None:
            raise NoMesh(home)
        return cls(home, running.control, timeout)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Closes the connection."""
        self._channel.close()

    def status(self) -> control_pb2.GetStatusResponse:
        """The mesh as it is now."""
        answer: control_pb2.GetStatusResponse = self.ask(
            self.control.GetStatus, control_pb2.GetStatusRequest()
        )
        return answer

    def graph(self) -> control_pb2.GetGraphResponse:
        """The graph that runs."""
        answer: control_pb2.GetGraphResponse = self.ask(self.control.GetGraph, control_pb2.GetGraphRequest())
        return answer

    def describe(self, service: str, as_module: str = "") -> control_pb2.DescribeServiceResponse:
        """How a service is called, with the bindings of a module or the operator's own."""
        answer: control_pb2.DescribeServiceResponse = self.ask(
            self.control.DescribeService,
            control_pb2.DescribeServiceRequest(service=service, as_module=as_module),
        )
        return answer

    def tools(self) -> Sequence[control_pb2.ContributedTool]:
        """The tools that active modules contribute."""
        answer: control_pb2.ListToolsResponse = self.ask(
            self.control.ListTools, control_pb2.ListToolsRequest()
        )
        return answer.tools

    def executions(self) -> Sequence[control_pb2.ExecutionStatus]:
        """The executions that live now."""
        answer: control_pb2.ListExecutionsResponse = self.ask(
            self.control.ListExecutions, control_pb2.ListExecutionsRequest()
        )
        return answer.executions

    def ask(self, rpc: Callable[..., Any], request: Any) -> Any:
        """One call of the control API. Raises `NoMesh` when the mesh goes away before it answers."""
        try:
            return rpc(request)
        except grpc.RpcError as error:
            status: Any = error
            if status.code() in _GONE and error_info(status.trailing_metadata()) is None:
                raise NoMesh(self.home) from None
            raise from_rpc_error(status) from None

    def begin(self, rpc: Callable[..., Any], request: Any) -> Future[Any]:
        """One call of the control API, as `ask` makes it, that goes on beside this thread.

        With a future of gRPC's own, a Ctrl-C at the wrong moment leaves a channel that never closes.
        """
        return self._beside.submit(self.ask, rpc, request)

    @cached_property
    def _beside(self) -> ThreadPoolExecutor:
        return ThreadPoolExecutor()

    def unary(self, path: str, request: bytes, metadata: Sequence[tuple[str, str]]) -> bytes:
        """One call of a service, in serialized messages."""
        check_size(request, "the request", outcome="not_dispatched")
        send: Any = self._channel.unary_unary(path)
        try:
            answer: bytes = send(request, metadata=tuple(metadata), timeout=self._timeout)
        except grpc.RpcError as error:
            status: Any = error
            ours = status.code() == grpc.StatusCode.DEADLINE_EXCEEDED and self._timeout is not None
            if ours and error_info(status.trailing_metadata()) is None:
                late = f"no answer within {self._timeout:g} s"
                raise MeshError("deadline_exceeded", late, outcome="unknown") from None
            raise from_rpc_error(status) from None
        return answer
