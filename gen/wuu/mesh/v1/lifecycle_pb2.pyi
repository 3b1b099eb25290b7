from wuu.mesh.v1 import declaration_pb2 as _declaration_pb2
from wuu.mesh.v1 import json_pb2 as _json_pb2
from wuu.mesh.v1 import options_pb2 as _options_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class InitializeRequest(_message.Message):
    __slots__ = ("lifecycle_version", "module", "instance", "host_features", "config", "package_root", "home", "state_dir", "workspace")
    LIFECYCLE_VERSION_FIELD_NUMBER: _ClassVar[int]
    MODULE_FIELD_NUMBER: _ClassVar[int]
    INSTANCE_FIELD_NUMBER: _ClassVar[int]
    HOST_FEATURES_FIELD_NUMBER: _ClassVar[int]
    CONFIG_FIELD_NUMBER: _ClassVar[int]
    PACKAGE_ROOT_FIELD_NUMBER: _ClassVar[int]
    HOME_FIELD_NUMBER: _ClassVar[int]
    STATE_DIR_FIELD_NUMBER: _ClassVar[int]
    WORKSPACE_FIELD_NUMBER: _ClassVar[int]
    lifecycle_version: int
    module: str
    instance: str
    host_features: _containers.RepeatedScalarFieldContainer[str]
    config: _json_pb2.Json
    package_root: str
    home: str
    state_dir: str
    workspace: str
    def __init__(self, lifecycle_version: _Optional[int] = ..., module: _Optional[str] = ..., instance: _Optional[str] = ..., host_features: _Optional[_Iterable[str]] = ..., config: _Optional[_Union[_json_pb2.Json, _Mapping]] = ..., package_root: _Optional[str] = ..., home: _Optional[str] = ..., state_dir: _Optional[str] = ..., workspace: _Optional[str] = ...) -> None: ...

class InitializeResponse(_message.Message):
    __slots__ = ("lifecycle_version", "declaration", "required_host_features")
    LIFECYCLE_VERSION_FIELD_NUMBER: _ClassVar[int]
    DECLARATION_FIELD_NUMBER: _ClassVar[int]
    REQUIRED_HOST_FEATURES_FIELD_NUMBER: _ClassVar[int]
    lifecycle_version: int
    declaration: _declaration_pb2.Declaration
    required_host_features: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, lifecycle_version: _Optional[int] = ..., declaration: _Optional[_Union[_declaration_pb2.Declaration, _Mapping]] = ..., required_host_features: _Optional[_Iterable[str]] = ...) -> None: ...

class PrepareRequest(_message.Message):
    __slots__ = ("bindings",)
    BINDINGS_FIELD_NUMBER: _ClassVar[int]
    bindings: _containers.RepeatedCompositeFieldContainer[Binding]
    def __init__(self, bindings: _Optional[_Iterable[_Union[Binding, _Mapping]]] = ...) -> None: ...

class Binding(_message.Message):
    __slots__ = ("service", "major", "provider", "descriptor", "file_descriptor_set")
    SERVICE_FIELD_NUMBER: _ClassVar[int]
    MAJOR_FIELD_NUMBER: _ClassVar[int]
    PROVIDER_FIELD_NUMBER: _ClassVar[int]
    DESCRIPTOR_FIELD_NUMBER: _ClassVar[int]
    FILE_DESCRIPTOR_SET_FIELD_NUMBER: _ClassVar[int]
    service: str
    major: int
    provider: str
    descriptor: _declaration_pb2.ServiceDescriptor
    file_descriptor_set: bytes
    def __init__(self, service: _Optional[str] = ..., major: _Optional[int] = ..., provider: _Optional[str] = ..., descriptor: _Optional[_Union[_declaration_pb2.ServiceDescriptor, _Mapping]] = ..., file_descriptor_set: _Optional[bytes] = ...) -> None: ...

class PrepareResponse(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class ActivateRequest(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class ActivateResponse(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class ServiceChangedRequest(_message.Message):
    __slots__ = ("service", "major", "available", "reason")
    SERVICE_FIELD_NUMBER: _ClassVar[int]
    MAJOR_FIELD_NUMBER: _ClassVar[int]
    AVAILABLE_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    service: str
    major: int
    available: bool
    reason: str
    def __init__(self, service: _Optional[str] = ..., major: _Optional[int] = ..., available: _Optional[bool] = ..., reason: _Optional[str] = ...) -> None: ...

class ServiceChangedResponse(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class ShutdownRequest(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class ShutdownResponse(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...
