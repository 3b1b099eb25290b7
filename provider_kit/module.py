"""A module: what its author writes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, TypeVar

import msgspec

from contract.context import CallContext
from contract.declaration import LIFECYCLE_VERSION, parse_service
from contract.errors import MeshError
from provider_kit.call import Call
from provider_kit.mesh import Mesh
from provider_kit.provided import Handler, Provided, Service
from wuu.mesh.v1 import contributions_pb2
from wuu.mesh.v1.contributions_pb2 import ExecuteToolRequest, ExecuteToolResponse
from wuu.mesh.v1.declaration_pb2 import Declaration, ServiceRequirement, Tool
from wuu.mesh.v1.lifecycle_pb2 import (
    Binding,
    InitializeRequest,
    InitializeResponse,
    PrepareRequest,
    ServiceChangedRequest,
)

Shaped = TypeVar("Shaped", bound=msgspec.Struct)


class Module:
    """The base of a provider written in Python: lifecycle v2 with nothing to do.

    An author overrides what the module needs. `configure` runs in initialize and may set `self.provides`.
    """

    provides: Sequence[Service] = ()
    requires: ClassVar[Sequence[ServiceRequirement]] = ()
    tools: ClassVar[Sequence[Tool]] = ()
    """What it contributes; then it has the method `async def execute_tool(self, request, call)`."""
    host_features: ClassVar[Sequence[str]] = ()
    """Features of the host without which it cannot work, such as `SERVICE_CONTINUATION`."""

    _contributions: Provided | None = None

    mesh: Mesh
    """Calls outside any execution; set before `configure`."""

    bindings: Sequence[Binding] = ()
    """Where the requirements lead; set before `prepare`."""

    async def configure(self, request: InitializeRequest) -> None:
        """Takes the operator's configuration. Declares only: no writes, no calls."""

    async def prepare(self) -> None:
        """Reads and validates state. No writes, no effects."""

    async def activate(self) -> None:
        """Begins effects."""

    async def service_changed(self, request: ServiceChangedRequest) -> None:
        """A bound service became unavailable, or is back."""

    async def shutdown(self) -> None:
        """Stops what the module owns and releases what it holds. Safe after a partial start."""

    async def initialized(self, request: InitializeRequest) -> InitializeResponse:
        """The answer to initialize: `configure`, then what the module declares."""
        await self.configure(request)
        if self.tools:
            self._contributions = Provided(
                contributions_pb2.DESCRIPTOR.services_by_name["Contributions"], _Contributions(self)
            )
        return InitializeResponse(
            lifecycle_version=LIFECYCLE_VERSION,
            declaration=Declaration(
                provided_services=[provided.descriptor for provided in self.provides],
                required_services=self.requires,
                tools=self.tools,
            ),
            required_host_features=self.host_features,
        )

    async def prepared(self, request: PrepareRequest) -> None:
        """Keeps the bindings and prepares."""
        self.bindings = request.bindings
        await self.prepare()

    def handler(self, path: str, context: CallContext) -> Handler | None:
        """What serves the gRPC path; None where nothing does."""
        for service in self.provides:
            if found := service.handler(path, context):
                return found
        return self._contributions.handler(path, context) if self._contributions else None


class _Contributions:
    """What a module contributes, reached by the ids that it declares and by no other."""

    def __init__(self, module: Any) -> None:
        self._module = module

    async def execute_tool(self, request: ExecuteToolRequest, call: Call) -> ExecuteToolResponse:
        """Runs a tool. Raises `method_not_found` for one that the module does not declare."""
        declared = [tool.id for tool in self._module.tools]
        if request.tool_id not in declared:
            named = ", ".join(declared)
            raise MeshError("method_not_found", f"no tool '{request.tool_id}' is declared, but {named}")
        response: ExecuteToolResponse = await self._module.execute_tool(request, call)
        return response


def requirement(service: str, *, required: bool = True) -> ServiceRequirement:
    """`requirement("state.documents@1")`: a service that the module calls."""
    name, major = parse_service(service)
    if major is None:
        raise ValueError(f"{service} names no major version")
    return ServiceRequirement(name=name, major=major, required=required)


def configuration(request: InitializeRequest, shape: type[Shaped]) -> Shaped:
    """The operator's configuration as a msgspec Struct; absent means `{}`.

    Raises `invalid_request` that says which field is wrong.
    """
    try:
        return msgspec.json.decode(request.config.utf8 or b"{}", type=shape)
    except msgspec.MsgspecError as wrong:
        raise MeshError("invalid_request", f"config of {request.module}: {wrong}") from None
