"""Declarations: service descriptors out of proto options, and the rules that every declaration satisfies.

Source: `proto/wuu/mesh/v1/options.proto`, `proto/wuu/mesh/v1/declaration.proto` and the plugin wire,
*What a declaration must satisfy*.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from typing import Any

import msgspec
from google.protobuf.descriptor import MethodDescriptor as ProtoMethod
from google.protobuf.descriptor import ServiceDescriptor as ProtoService

from contract.errors import MeshError, clip
from wuu.mesh.v1 import options_pb2
from wuu.mesh.v1.declaration_pb2 import (
    Capability,
    CapabilityKind,
    Declaration,
    ErrorPolicy,
    MethodDescriptor,
    ModelAdapter,
    ServiceDescriptor,
    Shape,
)

LIFECYCLE_VERSION = 2
"""The only lifecycle that the mesh speaks."""

LIFECYCLE_SERVICE = f"wuu.mesh.lifecycle@{LIFECYCLE_VERSION}"
"""The service in the contexts of its calls."""

SERVICE_NAME = re.compile(r"[a-z][a-z0-9-]*(\.[a-z][a-z0-9-]*)+")
VERSION = re.compile(r"(?P<major>0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)", re.ASCII)
METHOD_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]*(\.[A-Za-z][A-Za-z0-9_-]*)*")
SCHEMA_ID = re.compile(r"[a-z][a-z0-9-]*(\.[a-z0-9-]+)+")
TOOL_ID = re.compile(r"[a-zA-Z0-9_-]{1,64}")
LOCALE = re.compile(r"[A-Za-z]{2,8}([-_][A-Za-z0-9]{1,8})*")

MAX_MAJOR = 2**32 - 1
MAX_TOOLS = 64
TOOL_DESCRIPTION_LIMIT = 16 * 1024
TOOL_SCHEMA_LIMIT = 128 * 1024
TOOL_TEXT_LIMIT = 1024
TOOL_LABEL_LIMIT = 80
MAX_LABEL_TRANSLATIONS = 32

DOTTED_ID = re.compile(r"[a-z][a-z0-9_-]*(\.[a-z0-9_-]+)+")
ADAPTER_ID_LIMIT = 160

HOST_ONLY = re.compile(
    r"host\.((plugin|escape)\..+|safe_mode|crash_recovery|permission\.final|window\.lifecycle"
    r"|appserver\.lifecycle|generation\.isolate)"
)
"""Capability ids that no module may have."""

_OBSERVE = CapabilityKind.CAPABILITY_KIND_OBSERVE
_TRANSFORM = CapabilityKind.CAPABILITY_KIND_TRANSFORM
_DECISION = CapabilityKind.CAPABILITY_KIND_DECISION

CAPABILITY_KINDS: Mapping[str, CapabilityKind] = {
    "agent.compaction": _DECISION,
    "agent.pre_step": _TRANSFORM,
    "agent.request.transform": _TRANSFORM,
    "agent.step.policy": _DECISION,
    "agent.system_prompt.section": _TRANSFORM,
    "agent.turn.completed": _OBSERVE,
    "agent.turn.interrupted": _OBSERVE,
    "agent.turn.lifecycle": _OBSERVE,
    "model.adapter": _DECISION,
    "model.middleware": _DECISION,
    "model.request.metrics": _OBSERVE,
    "model.request.observe": _OBSERVE,
    "model.request.transform": _TRANSFORM,
    "plugin.client.request": _DECISION,
}
"""The kind that each capability of the host demands. Other ids have the kind that their handlers declare."""

CAPABILITY_VERSIONS: Mapping[str, int] = {
    "model.adapter": 1,
    "model.middleware": 1,
    "model.request.metrics": 1,
    "model.request.observe": 1,
    "model.request.transform": 1,
}
"""The only version of the capabilities whose versions the product names."""

PROPAGATING = frozenset({"model.adapter", "model.middleware"})
"""Capabilities whose failures reach the caller, always."""

_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")


_MAJOR = re.compile(r"[1-9][0-9]{0,9}")


def parse_service(name: str) -> tuple[str, int | None]:
    """`state.documents@1` as name and major; the major is None where it is not named.

    Raises `invalid_request` for anything else.
    """
    service, at, major = name.partition("@")
    named = _MAJOR.fullmatch(major) is not None and int(major) <= MAX_MAJOR
    if not SERVICE_NAME.fullmatch(service) or (at and not named):
        raise MeshError(
            "invalid_request", f"'{clip(name, 100)}' is not a service name such as state.documents@1"
        )
    return service, int(major) if at else None


def major_of(version: str) -> int:
    """The major of a strict MAJOR.MINOR.PATCH; ValueError where it is not one."""
    parsed = VERSION.fullmatch(version)
    if parsed is None:
        raise ValueError(f"{version} is not MAJOR.MINOR.PATCH")
    return int(parsed["major"])


def contract_options(service: ProtoService) -> Any:
    """The `(wuu.mesh.v1.service)` option; ValueError where the gRPC service is no contract."""
    options: Any = service.GetOptions()
    if not options.HasExtension(options_pb2.service):
        raise ValueError(f"{service.full_name} has no (wuu.mesh.v1.service) option")
    return options.Extensions[options_pb2.service]


def method_options(method: ProtoMethod) -> Any:
    """The `(wuu.mesh.v1.method)` option, with every field that was not set at its default."""
    options: Any = method.GetOptions()
    return options.Extensions[options_pb2.method]


def describe(
    service: ProtoService,
    *,
    implemented: Collection[str] | None = None,
    features: Collection[str] = (),
    name: str | None = None,
    version: str | None = None,
) -> ServiceDescriptor:
    """The descriptor that a provider of `service` declares.

    `implemented` names the rpcs that are served (None: all); leaving out one that is not optional is a
    ValueError. `features` choose schema identifiers. `name` and `version` stand in for those of the proto
    where one contract carries several services (`engine.<id>@1`).
    """
    contract = contract_options(service)
    descriptor = ServiceDescriptor(
        name=name or contract.name,
        version=version or contract.version,
        grpc_service=service.full_name,
        handles=contract.handles,
    )
    major = major_of(descriptor.version)
    for method in service.methods:
        options = method_options(method)
        if implemented is not None and method.name not in implemented:
            if not options.optional:
                raise ValueError(f"{service.full_name}/{method.name} is not optional and is not implemented")
            continue
        spelled = options.name or method.name
        stem = f"{descriptor.name}.{_CAMEL.sub('-', spelled).lower().replace('_', '-')}"
        feature = next((row for row in options.features if row.feature in features), None)
        descriptor.methods.append(
            MethodDescriptor(
                name=spelled,
                rpc=method.name,
                input_schema=(feature and feature.input_schema)
                or options.input_schema
                or f"{stem}.input.v{major}",
                output_schema=(feature and feature.output_schema)
                or options.output_schema
                or f"{stem}.output.v{major}",
                preparation=options.preparation,
                cleanup=options.cleanup,
                journaled=options.journaled,
                watch=options.watch,
                shape=_shape(method),
            )
        )
    return descriptor


def _shape(method: ProtoMethod) -> Shape:
    if method.client_streaming:
        return Shape.SHAPE_BIDI_STREAM if method.server_streaming else Shape.SHAPE_CLIENT_STREAM
    return Shape.SHAPE_SERVER_STREAM if method.server_streaming else Shape.SHAPE_UNARY


def check_declaration(declaration: Declaration) -> None:
    """Raises `protocol_violation` naming the first field that breaks a rule, and the rule."""
    seen: set[tuple[str, int]] = set()
    for index, service in enumerate(declaration.provided_services):
        at = f"provided_services[{index}]"
        _require(
            SERVICE_NAME.fullmatch(service.name),
            f"{at}.name",
            f"'{service.name}' is not lower case and dotted",
        )
        try:
            major = major_of(service.version)
        except ValueError:
            raise _broken(f"{at}.version", f"'{service.version}' is not strict MAJOR.MINOR.PATCH") from None
        _require(major <= MAX_MAJOR, f"{at}.version", f"the major is at most {MAX_MAJOR}")
        _require((service.name, major) not in seen, at, f"{service.name}@{major} is provided twice")
        seen.add((service.name, major))
        _check_methods(at, service)
    required: set[tuple[str, int]] = set()
    for index, requirement in enumerate(declaration.required_services):
        at = f"required_services[{index}]"
        _require(
            SERVICE_NAME.fullmatch(requirement.name),
            f"{at}.name",
            f"'{requirement.name}' is not lower case and dotted",
        )
        _require(requirement.major >= 1, f"{at}.major_version", "must be at least 1")
        key = (requirement.name, requirement.major)
        _require(key not in required, at, f"{requirement.name}@{requirement.major} is required twice")
        required.add(key)
    _check_tools(declaration)
    _check_capabilities(declaration.capabilities)
    _check_adapters(declaration.model_adapters)


def _check_methods(at: str, service: ServiceDescriptor) -> None:
    _require(service.methods, f"{at}.methods", "a service has at least one method")
    names: set[str] = set()
    rpcs: set[str] = set()
    for index, method in enumerate(service.methods):
        where = f"{at}.methods[{index}]"
        _require(METHOD_NAME.fullmatch(method.name), f"{where}.name", f"'{method.name}' is not a method name")
        _require(method.name not in names, f"{where}.name", f"'{method.name}' is declared twice")
        names.add(method.name)
        if service.grpc_service:
            _require(method.rpc, f"{where}.rpc", "the methods of a typed service name their rpcs")
            _require(method.rpc not in rpcs, f"{where}.rpc", f"'{method.rpc}' carries two methods")
            rpcs.add(method.rpc)
        for field in ("input_schema", "output_schema"):
            schema: str = getattr(method, field)
            _require(
                SCHEMA_ID.fullmatch(schema),
                f"{where}.{field}",
                f"'{schema}' is not a dotted schema identifier",
            )


def _check_tools(declaration: Declaration) -> None:
    _require(len(declaration.tools) <= MAX_TOOLS, "tools", f"at most {MAX_TOOLS}")
    ids: set[str] = set()
    for index, tool in enumerate(declaration.tools):
        at = f"tools[{index}]"
        _require(
            TOOL_ID.fullmatch(tool.id), f"{at}.id", f"'{tool.id}' does not match ^[a-zA-Z0-9_-]{{1,64}}$"
        )
        _require(tool.id not in ids, f"{at}.id", f"'{tool.id}' is declared twice")
        ids.add(tool.id)
        _require(tool.description.strip(), f"{at}.description", "must not be blank")
        _require(
            len(tool.description.encode()) <= TOOL_DESCRIPTION_LIMIT, f"{at}.description", "at most 16 KiB"
        )
        _require(len(tool.input_schema.utf8) <= TOOL_SCHEMA_LIMIT, f"{at}.input_schema", "at most 128 KiB")
        _require(_type_of(tool.input_schema.utf8) == "object", f"{at}.input_schema.type", 'must be "object"')
        scopes = list(tool.execution_scopes)
        _require(len(set(scopes)) == len(scopes), f"{at}.execution_scopes", "no repeats")
        for field in ("risk", "reason"):
            text: str = getattr(tool.activity, field)
            _require(
                len(text.encode()) <= TOOL_TEXT_LIMIT and "\0" not in text,
                f"{at}.activity.{field}",
                "at most 1 KiB, without NUL",
            )
        _require(
            len(tool.display.label.encode()) <= TOOL_LABEL_LIMIT, f"{at}.display.label", "at most 80 bytes"
        )
        _require(
            len(tool.display.label_translations) <= MAX_LABEL_TRANSLATIONS,
            f"{at}.display.label_translations",
            "at most 32",
        )
        for locale in tool.display.label_translations:
            _require(
                LOCALE.fullmatch(locale), f"{at}.display.label_translations", f"'{locale}' is not a locale"
            )


def _type_of(schema: bytes) -> object:
    """What a JSON Schema says its `type` is; None where it says nothing, or is no object."""
    try:
        stated = msgspec.json.decode(schema)
    except (msgspec.MsgspecError, RecursionError):
        return None
    return stated.get("type") if isinstance(stated, dict) else None


def _check_capabilities(capabilities: Sequence[Capability]) -> None:
    ids: set[str] = set()
    for index, capability in enumerate(capabilities):
        at = f"capabilities[{index}]"
        _require(DOTTED_ID.fullmatch(capability.id), f"{at}.id", f"'{capability.id}' is not a dotted id")
        _require(not HOST_ONLY.fullmatch(capability.id), f"{at}.id", f"'{capability.id}' is the host's own")
        _require(capability.id not in ids, f"{at}.id", f"'{capability.id}' is declared twice")
        ids.add(capability.id)
        demanded = CAPABILITY_KINDS.get(capability.id, capability.kind)
        known = capability.kind and capability.kind in CapabilityKind.values()
        _require(known, f"{at}.kind", "must be observe, transform or decision")
        _require(capability.kind == demanded, f"{at}.kind", f"{capability.id} demands {_kind(demanded)}")
        _require(capability.version >= 1, f"{at}.version", "must be at least 1")
        supported = CAPABILITY_VERSIONS.get(capability.id, capability.version)
        _require(capability.version == supported, f"{at}.version", f"must be {supported}")
        _check_order(at, capability)
        _check_policy(at, capability)


def _check_order(at: str, capability: Capability) -> None:
    for field in ("depends_on", "conflicts"):
        others = list(getattr(capability, field))
        for other in others:
            _require(DOTTED_ID.fullmatch(other), f"{at}.{field}", f"'{other}' is not a dotted id")
        _require(len(set(others)) == len(others), f"{at}.{field}", "no repeats")
        _require(capability.id not in others, f"{at}.{field}", "must not name itself")
    both = set(capability.depends_on) & set(capability.conflicts)
    _require(not both, f"{at}.conflicts", f"'{min(both, default='')}' stands in depends_on too")


def _check_policy(at: str, capability: Capability) -> None:
    policy = capability.error_policy
    if capability.kind == _OBSERVE:
        _require(
            policy != ErrorPolicy.ERROR_POLICY_PROPAGATE, f"{at}.error_policy", "observers never propagate"
        )
    else:
        _require(policy != ErrorPolicy.ERROR_POLICY_IGNORE, f"{at}.error_policy", "only observers may ignore")
    _require(
        capability.id not in PROPAGATING or policy != ErrorPolicy.ERROR_POLICY_ISOLATE,
        f"{at}.error_policy",
        f"{capability.id} propagates",
    )


def _kind(kind: CapabilityKind) -> str:
    return CapabilityKind.Name(kind).removeprefix("CAPABILITY_KIND_").lower()


def _check_adapters(adapters: Sequence[ModelAdapter]) -> None:
    ids: set[str] = set()
    for index, adapter in enumerate(adapters):
        at = f"model_adapters[{index}]"
        _require(
            DOTTED_ID.fullmatch(adapter.id) and len(adapter.id) <= ADAPTER_ID_LIMIT,
            f"{at}.id",
            f"'{adapter.id}' is not a dotted id of at most {ADAPTER_ID_LIMIT} characters",
        )
        _require(adapter.id not in ids, f"{at}.id", f"'{adapter.id}' is declared twice")
        ids.add(adapter.id)
        _require(adapter.version >= 1, f"{at}.version", "must be at least 1")


def _require(holds: object, field: str, rule: str) -> None:
    if not holds:
        raise _broken(field, rule)


def _broken(field: str, rule: str) -> MeshError:
    return MeshError("protocol_violation", f"declaration: {field}: {rule}", field=field)
