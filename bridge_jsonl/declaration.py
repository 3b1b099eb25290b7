"""The declaration of a plugin: the JSON that `initialize` returns → `Declaration`.

Source: the plugin wire, *Host → plugin* and *What a declaration must satisfy*. Here are the rules that JSON
alone can break; `contract.declaration` has those of every module.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Annotated, Literal, TypeVar

import msgspec
from msgspec import Meta, Raw

from contract.continuation import SERVICE_CONTINUATION
from contract.contracts import own_contracts
from contract.declaration import (
    LIFECYCLE_VERSION,
    check_declaration,
    describe,
    major_of,
    method_options,
)
from contract.errors import CONTRACT, MeshError
from wuu.mesh.v1.declaration_pb2 import (
    Capability,
    Declaration,
    MethodDescriptor,
    ModelAdapter,
    ServiceDescriptor,
    ServiceRequirement,
    Tool,
    ToolActivity,
    ToolDisplay,
)
from wuu.mesh.v1.json_pb2 import Json
from wuu.mesh.v1.lifecycle_pb2 import InitializeResponse

CALL = "host.service.call"
"""Calls a service that the plugin requires."""

CONTINUE = "host.service.continue"
"""Continues a call that the plugin serves; offered beside the feature."""

LEGACY_PROTOCOL = 1
"""The capability protocol of plugins that have tools only. It is meant where none is named."""

SERVICE_PROTOCOL = 3
"""The capability protocol that has services."""

Item = TypeVar("Item")

_Unsigned = Annotated[int, Meta(ge=0, le=2**32 - 1)]
_Signed = Annotated[int, Meta(ge=-(2**31), le=2**31 - 1)]


class _Method(msgspec.Struct):
    input_schema: str
    output_schema: str
    preparation: bool = False
    cleanup: bool = False


class _NamedMethod(_Method, kw_only=True):
    name: str


class _Provided(msgspec.Struct):
    name: str
    version: str
    methods: list[_NamedMethod] | dict[str, _Method]


class _Required(msgspec.Struct):
    name: str
    major_version: _Unsigned
    required: bool = False


class _Activity(msgspec.Struct):
    read_only: bool = False
    concurrency_safe: bool = False
    orchestrator: bool = False
    risk: str = ""
    reason: str = ""


class _Display(msgspec.Struct):
    label: str = ""
    label_translations: dict[str, str] | None = None


class _Tool(msgspec.Struct):
    id: str
    description: str
    input_schema: Raw
    execution_scopes: list[Literal["root", "child"]] | None = None
    activity: _Activity | None = None
    direct_only: bool = False
    display: _Display | None = None
    guidance: str = ""


class _Capability(msgspec.Struct):
    id: str
    kind: Literal["observe", "transform", "decision"]
    version: _Unsigned
    priority: _Signed = 0
    depends_on: list[str] | None = None
    conflicts: list[str] | None = None
    error_policy: Literal["propagate", "isolate", "ignore"] | None = None


class _Adapter(msgspec.Struct):
    id: str
    version: _Unsigned
    mode: Literal["direct", "delegate"] = "direct"


class _Initialized(msgspec.Struct):
    protocol_version: Annotated[int, Meta(ge=1, le=3)] = LEGACY_PROTOCOL
    tools: list[_Tool] | None = None
    capabilities: list[_Capability] | None = None
    provided_services: list[_Provided] | None = None
    required_services: list[_Required] | None = None
    required_host_services: list[str] | None = None
    required_host_features: list[str] | None = None
    model_adapters: list[_Adapter] | None = None


class _Lifecycle(msgspec.Struct):
    lifecycle_version: _Unsigned = 1


def initialized(result: bytes, host_features: Collection[str]) -> InitializeResponse:
    """What the result of `initialize` declares.

    A plugin of another lifecycle is answered with its number and nothing else, for the router to refuse.
    Raises `protocol_violation` (domain `wuu`): `declaration: FIELD: RULE`.
    """
    lifecycle = _decode(result, _Lifecycle).lifecycle_version
    if lifecycle != LIFECYCLE_VERSION:
        return InitializeResponse(lifecycle_version=lifecycle)
    said = _decode(result, _Initialized)
    _check_protocol(said)
    _check_offered("required_host_services", said.required_host_services, host_services(host_features))
    _check_offered("required_host_features", said.required_host_features, host_features)
    declaration = Declaration(
        provided_services=[_provided(service) for service in said.provided_services or ()],
        required_services=[
            ServiceRequirement(
                name=hyphened(service.name), major=service.major_version, required=service.required
            )
            for service in said.required_services or ()
        ],
        tools=[_tool(tool) for tool in said.tools or ()],
        capabilities=[_capability(capability) for capability in said.capabilities or ()],
        model_adapters=[
            ModelAdapter(id=adapter.id, version=adapter.version, mode=f"ADAPTER_MODE_{adapter.mode.upper()}")
            for adapter in said.model_adapters or ()
        ],
    )
    try:
        check_declaration(declaration)
    except MeshError as broken:
        # The kernel's code, in the plugin's name.
        raise MeshError(broken.code, broken.message, domain=CONTRACT, **broken.details) from None
    for index, service in enumerate(declaration.provided_services):
        _carry(f"provided_services[{index}]", service)
    return InitializeResponse(
        lifecycle_version=lifecycle,
        declaration=declaration,
        required_host_features=said.required_host_features or (),
    )


def host_services(host_features: Collection[str]) -> tuple[str, ...]:
    """The methods that a plugin may ask of a host with these features."""
    return (CALL, CONTINUE) if SERVICE_CONTINUATION in host_features else (CALL,)


def hyphened(service: str) -> str:
    """The name of a required service as the mesh spells it, where the SDK has underscores."""
    return service.replace("_", "-")


def _decode(result: bytes, shape: type[Item]) -> Item:
    try:
        return msgspec.json.decode(result, type=shape)
    except msgspec.ValidationError as wrong:
        rule, _, path = str(wrong).partition(" - at `$")
        raise _broken(path.strip("`.") or "result", rule) from None


def _check_protocol(said: _Initialized) -> None:
    for field in ("provided_services", "required_services"):
        if getattr(said, field) and said.protocol_version < SERVICE_PROTOCOL:
            raise _broken(field, f"services need protocol_version {SERVICE_PROTOCOL}")
    for field in ("capabilities", "model_adapters"):
        if getattr(said, field) and said.protocol_version == LEGACY_PROTOCOL:
            raise _broken(field, f"protocol_version {LEGACY_PROTOCOL}, or none, has tools only")


def _check_offered(field: str, asked: Sequence[str] | None, offered: Collection[str]) -> None:
    for index, name in enumerate(asked or ()):
        if name not in offered:
            raise _broken(f"{field}[{index}]", f"'{name}' is not offered by this host")


def _provided(service: _Provided) -> ServiceDescriptor:
    return ServiceDescriptor(
        name=service.name,
        version=service.version,
        methods=[
            MethodDescriptor(
                name=name,
                input_schema=method.input_schema,
                output_schema=method.output_schema,
                preparation=method.preparation,
                cleanup=method.cleanup,
            )
            for name, method in _named(service.methods)
        ],
    )


def _carry(at: str, service: ServiceDescriptor) -> None:
    """Gives a service that has a contract its carrier and the contract's flags. Any other stays dynamic."""
    contract = own_contracts().contract(service.name, major_of(service.version))
    if contract is None:
        return
    rpcs = {method_options(rpc).name: rpc.name for rpc in contract.methods}
    declared = {method.name: method for method in service.methods}
    for index, name in enumerate(declared):
        if name not in rpcs:
            raise _broken(
                f"{at}.methods[{index}].name", f"'{name}' is not a method of the contract {service.name}"
            )
    try:
        carried = describe(contract, implemented={rpcs[name] for name in declared}, version=service.version)
    except ValueError as left_out:
        raise _broken(f"{at}.methods", str(left_out)) from None
    for method in carried.methods:
        method.input_schema = declared[method.name].input_schema
        method.output_schema = declared[method.name].output_schema
    service.CopyFrom(carried)


def _named(methods: list[_NamedMethod] | dict[str, _Method]) -> list[tuple[str, _Method]]:
    if isinstance(methods, dict):
        return list(methods.items())
    return [(method.name, method) for method in methods]


def _tool(tool: _Tool) -> Tool:
    display = tool.display or _Display()
    activity = tool.activity or _Activity()
    return Tool(
        id=tool.id,
        description=tool.description,
        input_schema=Json(utf8=bytes(tool.input_schema)),
        execution_scopes=[f"EXECUTION_SCOPE_{scope.upper()}" for scope in tool.execution_scopes or ()],
        activity=ToolActivity(**msgspec.structs.asdict(activity)),
        direct_only=tool.direct_only,
        display=ToolDisplay(label=display.label, label_translations=display.label_translations),
        guidance=tool.guidance,
    )


def _capability(capability: _Capability) -> Capability:
    return Capability(
        id=capability.id,
        kind=f"CAPABILITY_KIND_{capability.kind.upper()}",
        version=capability.version,
        priority=capability.priority,
        depends_on=capability.depends_on or (),
        conflicts=capability.conflicts or (),
        error_policy=f"ERROR_POLICY_{(capability.error_policy or 'unspecified').upper()}",
    )


def _broken(field: str, rule: str) -> MeshError:
    return MeshError("protocol_violation", f"declaration: {field}: {rule}", domain=CONTRACT, field=field)
