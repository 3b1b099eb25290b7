"""A command's connection to the running mesh."""

from __future__ import annotations

import socket
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any, Self

import grpc

from contract.errors import MeshError, from_rpc_error
from contract.transport import CHANNEL_OPTIONS
from router.cli.exits import NoMesh
from router.home import Home
from wuu.mesh.v1 import control_pb2, control_pb2_grpc

CONNECT_TIMEOUT = 5.0
"""Seconds that a command waits for a mesh that has announced itself."""


class Session:
    """Calls over the control socket. Failures are `MeshError`."""

    def __init__(self, home: Home, control: str) -> None:
        """Raises `NoMesh` where nobody listens."""
        self.home = home
        self._socket = control
        if not self.listens:
            raise NoMesh(home)
        self._channel = grpc.insecure_channel(f"unix:{control}", options=CHANNEL_OPTIONS)
        try:
            grpc.channel_ready_future(self._channel).result(timeout=CONNECT_TIMEOUT)
        except grpc.FutureTimeoutError:
            self.close()
            raise NoMesh(home) from None
        self.control: Any = control_pb2_grpc.ControlStub(self._channel)

    @classmethod
    def of(cls, root: Path | None) -> Self:
        """The session with the mesh of a home. Raises `NoMesh`."""
        home = Home.at(root)
        running = home.running()
        if running is None:
            raise NoMesh(home)
        return cls(home, running.control)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Closes the connection."""
        self._channel.close()

    @property
    def listens(self) -> bool:
        """Whether the mesh takes connections. What a killed router left behind is a socket that does not."""
        with closing(socket.socket(socket.AF_UNIX)) as tried:
            try:
                tried.connect(self._socket)
            except OSError:
                return False
        return True

    def status(self) -> control_pb2.GetStatusResponse:
        """The mesh as it is now."""
        answer: control_pb2.GetStatusResponse = self.ask(
            self.control.GetStatus, control_pb2.GetStatusRequest()
        )
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

    def ask(self, rpc: Callable[..., Any], request: Any) -> Any:
        """One call of the control API."""
        return _asked(lambda: rpc(request))

    def unary(self, path: str, request: bytes, metadata: Sequence[tuple[str, str]]) -> bytes:
        """One call of a service, in serialized messages."""
        send: Any = self._channel.unary_unary(path)
        answer: bytes = _asked(lambda: send(request, metadata=tuple(metadata)))
        return answer


def _asked(send: Callable[[], Any]) -> Any:
    try:
        return send()
    except grpc.RpcError as error:
        if isinstance(error, grpc.Call):
            raise from_rpc_error(error) from None
        raise MeshError("host_error", str(error)) from None
