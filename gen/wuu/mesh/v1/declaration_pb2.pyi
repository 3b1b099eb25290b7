from wuu.mesh.v1 import json_pb2 as _json_pb2
from wuu.mesh.v1 import options_pb2 as _options_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class Shape(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    SHAPE_UNSPECIFIED: _ClassVar[Shape]
    SHAPE_UNARY: _ClassVar[Shape]
    SHAPE_CLIENT_STREAM: _ClassVar[Shape]
    SHAPE_SERVER_STREAM: _ClassVar[Shape]
    SHAPE_BIDI_STREAM: _ClassVar[Shape]

class ExecutionScope(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    EXECUTION_SCOPE_UNSPECIFIED: _ClassVar[ExecutionScope]
    EXECUTION_SCOPE_ROOT: _ClassVar[ExecutionScope]
    EXECUTION_SCOPE_CHILD: _ClassVar[ExecutionScope]

class CapabilityKind(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    CAPABILITY_KIND_UNSPECIFIED: _ClassVar[CapabilityKind]
    CAPABILITY_KIND_OBSERVE: _ClassVar[CapabilityKind]
    CAPABILITY_KIND_TRANSFORM: _ClassVar[CapabilityKind]
    CAPABILITY_KIND_DECISION: _ClassVar[CapabilityKind]

class ErrorPolicy(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    ERROR_POLICY_UNSPECIFIED: _ClassVar[ErrorPolicy]
    ERROR_POLICY_PROPAGATE: _ClassVar[ErrorPolicy]
    ERROR_POLICY_ISOLATE: _ClassVar[ErrorPolicy]
    ERROR_POLICY_IGNORE: _ClassVar[ErrorPolicy]

class AdapterMode(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    ADAPTER_MODE_UNSPECIFIED: _ClassVar[AdapterMode]
    ADAPTER_MODE_DIRECT: _ClassVar[AdapterMode]
    ADAPTER_MODE_DELEGATE: _ClassVar[AdapterMode]
SHAPE_UNSPECIFIED: Shape
SHAPE_UNARY: Shape
SHAPE_CLIENT_STREAM: Shape
SHAPE_SERVER_STREAM: Shape
SHAPE_BIDI_STREAM: Shape
EXECUTION_SCOPE_UNSPECIFIED: ExecutionScope
EXECUTION_SCOPE_ROOT: ExecutionScope
EXECUTION_SCOPE_CHILD: ExecutionScope
CAPABILITY_KIND_UNSPECIFIED: CapabilityKind
CAPABILITY_KIND_OBSERVE: CapabilityKind
CAPABILITY_KIND_TRANSFORM: CapabilityKind
CAPABILITY_KIND_DECISION: CapabilityKind
ERROR_POLICY_UNSPECIFIED: ErrorPolicy
ERROR_POLICY_PROPAGATE: ErrorPolicy
ERROR_POLICY_ISOLATE: ErrorPolicy
ERROR_POLICY_IGNORE: ErrorPolicy
ADAPTER_MODE_UNSPECIFIED: AdapterMode
ADAPTER_MODE_DIRECT: AdapterMode
ADAPTER_MODE_DELEGATE: AdapterMode

class Declaration(_message.Message):
    __slots__ = ("provided_services", "required_services", "tools", "capabilities", "model_adapters")
    PROVIDED_SERVICES_FIELD_NUMBER: _ClassVar[int]
    REQUIRED_SERVICES_FIELD_NUMBER: _ClassVar[int]
    TOOLS_FIELD_NUMBER: _ClassVar[int]
    CAPABILITIES_FIELD_NUMBER: _ClassVar[int]
    MODEL_ADAPTERS_FIELD_NUMBER: _ClassVar[int]
    provided_services: _containers.RepeatedCompositeFieldContainer[ServiceDescriptor]
    required_services: _containers.RepeatedCompositeFieldContainer[ServiceRequirement]
    tools: _containers.RepeatedCompositeFieldContainer[Tool]
    capabilities: _containers.RepeatedCompositeFieldContainer[Capability]
    model_adapters: _containers.RepeatedCompositeFieldContainer[ModelAdapter]
    def __init__(self, provided_services: _Optional[_Iterable[_Union[ServiceDescriptor, _Mapping]]] = ..., required_services: _Optional[_Iterable[_Union[ServiceRequirement, _Mapping]]] = ..., tools: _Optional[_Iterable[_Union[Tool, _Mapping]]] = ..., capabilities: _Optional[_Iterable[_Union[Capability, _Mapping]]] = ..., model_adapters: _Optional[_Iterable[_Union[ModelAdapter, _Mapping]]] = ...) -> None: ...

class ServiceDescriptor(_message.Message):
    __slots__ = ("name", "version", "methods", "grpc_service", "handles")
    NAME_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    METHODS_FIELD_NUMBER: _ClassVar[int]
    GRPC_SERVICE_FIELD_NUMBER: _ClassVar[int]
    HANDLES_FIELD_NUMBER: _ClassVar[int]
    name: str
    version: str
    methods: _containers.RepeatedCompositeFieldContainer[MethodDescriptor]
    grpc_service: str
    handles: bool
    def __init__(self, name: _Optional[str] = ..., version: _Optional[str] = ..., methods: _Optional[_Iterable[_Union[MethodDescriptor, _Mapping]]] = ..., grpc_service: _Optional[str] = ..., handles: _Optional[bool] = ...) -> None: ...

class MethodDescriptor(_message.Message):
    __slots__ = ("name", "rpc", "input_schema", "output_schema", "preparation", "cleanup", "journaled", "watch", "shape")
    NAME_FIELD_NUMBER: _ClassVar[int]
    RPC_FIELD_NUMBER: _ClassVar[int]
    INPUT_SCHEMA_FIELD_NUMBER: _ClassVar[int]
    OUTPUT_SCHEMA_FIELD_NUMBER: _ClassVar[int]
    PREPARATION_FIELD_NUMBER: _ClassVar[int]
    CLEANUP_FIELD_NUMBER: _ClassVar[int]
    JOURNALED_FIELD_NUMBER: _ClassVar[int]
    WATCH_FIELD_NUMBER: _ClassVar[int]
    SHAPE_FIELD_NUMBER: _ClassVar[int]
    name: str
    rpc: str
    input_schema: str
    output_schema: str
    preparation: bool
    cleanup: bool
    journaled: bool
    watch: bool
    shape: Shape
    def __init__(self, name: _Optional[str] = ..., rpc: _Optional[str] = ..., input_schema: _Optional[str] = ..., output_schema: _Optional[str] = ..., preparation: _Optional[bool] = ..., cleanup: _Optional[bool] = ..., journaled: _Optional[bool] = ..., watch: _Optional[bool] = ..., shape: _Optional[_Union[Shape, str]] = ...) -> None: ...

class ServiceRequirement(_message.Message):
    __slots__ = ("name", "major", "required")
    NAME_FIELD_NUMBER: _ClassVar[int]
    MAJOR_FIELD_NUMBER: _ClassVar[int]
    REQUIRED_FIELD_NUMBER: _ClassVar[int]
    name: str
    major: int
    required: bool
    def __init__(self, name: _Optional[str] = ..., major: _Optional[int] = ..., required: _Optional[bool] = ...) -> None: ...

class Tool(_message.Message):
    __slots__ = ("id", "description", "input_schema", "execution_scopes", "activity", "direct_only", "display", "guidance")
    ID_FIELD_NUMBER: _ClassVar[int]
    DESCRIPTION_FIELD_NUMBER: _ClassVar[int]
    INPUT_SCHEMA_FIELD_NUMBER: _ClassVar[int]
    EXECUTION_SCOPES_FIELD_NUMBER: _ClassVar[int]
    ACTIVITY_FIELD_NUMBER: _ClassVar[int]
    DIRECT_ONLY_FIELD_NUMBER: _ClassVar[int]
    DISPLAY_FIELD_NUMBER: _ClassVar[int]
    GUIDANCE_FIELD_NUMBER: _ClassVar[int]
    id: str
    description: str
    input_schema: _json_pb2.Json
    execution_scopes: _containers.RepeatedScalarFieldContainer[ExecutionScope]
    activity: ToolActivity
    direct_only: bool
    display: ToolDisplay
    guidance: str
    def __init__(self, id: _Optional[str] = ..., description: _Optional[str] = ..., input_schema: _Optional[_Union[_json_pb2.Json, _Mapping]] = ..., execution_scopes: _Optional[_Iterable[_Union[ExecutionScope, str]]] = ..., activity: _Optional[_Union[ToolActivity, _Mapping]] = ..., direct_only: _Optional[bool] = ..., display: _Optional[_Union[ToolDisplay, _Mapping]] = ..., guidance: _Optional[str] = ...) -> None: ...

class ToolActivity(_message.Message):
    __slots__ = ("read_only", "concurrency_safe", "orchestrator", "risk", "reason")
    READ_ONLY_FIELD_NUMBER: _ClassVar[int]
    CONCURRENCY_SAFE_FIELD_NUMBER: _ClassVar[int]
    ORCHESTRATOR_FIELD_NUMBER: _ClassVar[int]
    RISK_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    read_only: bool
    concurrency_safe: bool
    orchestrator: bool
    risk: str
    reason: str
    def __init__(self, read_only: _Optional[bool] = ..., concurrency_safe: _Optional[bool] = ..., orchestrator: _Optional[bool] = ..., risk: _Optional[str] = ..., reason: _Optional[str] = ...) -> None: ...

class ToolDisplay(_message.Message):
    __slots__ = ("label", "label_translations")
    class LabelTranslationsEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: str
        def __init__(self, key: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...
    LABEL_FIELD_NUMBER: _ClassVar[int]
    LABEL_TRANSLATIONS_FIELD_NUMBER: _ClassVar[int]
    label: str
    label_translations: _containers.ScalarMap[str, str]
    def __init__(self, label: _Optional[str] = ..., label_translations: _Optional[_Mapping[str, str]] = ...) -> None: ...

class Capability(_message.Message):
    __slots__ = ("id", "kind", "version", "priority", "depends_on", "conflicts", "error_policy")
    ID_FIELD_NUMBER: _ClassVar[int]
    KIND_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    PRIORITY_FIELD_NUMBER: _ClassVar[int]
    DEPENDS_ON_FIELD_NUMBER: _ClassVar[int]
    CONFLICTS_FIELD_NUMBER: _ClassVar[int]
    ERROR_POLICY_FIELD_NUMBER: _ClassVar[int]
    id: str
    kind: CapabilityKind
    version: int
    priority: int
    depends_on: _containers.RepeatedScalarFieldContainer[str]
    conflicts: _containers.RepeatedScalarFieldContainer[str]
    error_policy: ErrorPolicy
    def __init__(self, id: _Optional[str] = ..., kind: _Optional[_Union[CapabilityKind, str]] = ..., version: _Optional[int] = ..., priority: _Optional[int] = ..., depends_on: _Optional[_Iterable[str]] = ..., conflicts: _Optional[_Iterable[str]] = ..., error_policy: _Optional[_Union[ErrorPolicy, str]] = ...) -> None: ...

class ModelAdapter(_message.Message):
    __slots__ = ("id", "version", "mode")
    ID_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    MODE_FIELD_NUMBER: _ClassVar[int]
    id: str
    version: int
    mode: AdapterMode
    def __init__(self, id: _Optional[str] = ..., version: _Optional[int] = ..., mode: _Optional[_Union[AdapterMode, str]] = ...) -> None: ...
