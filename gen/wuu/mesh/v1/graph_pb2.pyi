from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class GraphNode(_message.Message):
    __slots__ = ("module", "state", "reason", "reason_code", "source", "edges", "after", "provides")
    MODULE_FIELD_NUMBER: _ClassVar[int]
    STATE_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    REASON_CODE_FIELD_NUMBER: _ClassVar[int]
    SOURCE_FIELD_NUMBER: _ClassVar[int]
    EDGES_FIELD_NUMBER: _ClassVar[int]
    AFTER_FIELD_NUMBER: _ClassVar[int]
    PROVIDES_FIELD_NUMBER: _ClassVar[int]
    module: str
    state: str
    reason: str
    reason_code: str
    source: str
    edges: _containers.RepeatedCompositeFieldContainer[GraphEdge]
    after: _containers.RepeatedScalarFieldContainer[str]
    provides: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, module: _Optional[str] = ..., state: _Optional[str] = ..., reason: _Optional[str] = ..., reason_code: _Optional[str] = ..., source: _Optional[str] = ..., edges: _Optional[_Iterable[_Union[GraphEdge, _Mapping]]] = ..., after: _Optional[_Iterable[str]] = ..., provides: _Optional[_Iterable[str]] = ...) -> None: ...

class GraphEdge(_message.Message):
    __slots__ = ("service", "major", "provider", "source", "message", "code", "optional", "local", "overridden")
    SERVICE_FIELD_NUMBER: _ClassVar[int]
    MAJOR_FIELD_NUMBER: _ClassVar[int]
    PROVIDER_FIELD_NUMBER: _ClassVar[int]
    SOURCE_FIELD_NUMBER: _ClassVar[int]
    MESSAGE_FIELD_NUMBER: _ClassVar[int]
    CODE_FIELD_NUMBER: _ClassVar[int]
    OPTIONAL_FIELD_NUMBER: _ClassVar[int]
    LOCAL_FIELD_NUMBER: _ClassVar[int]
    OVERRIDDEN_FIELD_NUMBER: _ClassVar[int]
    service: str
    major: int
    provider: str
    source: str
    message: str
    code: str
    optional: bool
    local: bool
    overridden: _containers.RepeatedCompositeFieldContainer[GraphStep]
    def __init__(self, service: _Optional[str] = ..., major: _Optional[int] = ..., provider: _Optional[str] = ..., source: _Optional[str] = ..., message: _Optional[str] = ..., code: _Optional[str] = ..., optional: _Optional[bool] = ..., local: _Optional[bool] = ..., overridden: _Optional[_Iterable[_Union[GraphStep, _Mapping]]] = ...) -> None: ...

class GraphService(_message.Message):
    __slots__ = ("service", "major", "version", "provider", "source", "message", "code", "overridden")
    SERVICE_FIELD_NUMBER: _ClassVar[int]
    MAJOR_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    PROVIDER_FIELD_NUMBER: _ClassVar[int]
    SOURCE_FIELD_NUMBER: _ClassVar[int]
    MESSAGE_FIELD_NUMBER: _ClassVar[int]
    CODE_FIELD_NUMBER: _ClassVar[int]
    OVERRIDDEN_FIELD_NUMBER: _ClassVar[int]
    service: str
    major: int
    version: str
    provider: str
    source: str
    message: str
    code: str
    overridden: _containers.RepeatedCompositeFieldContainer[GraphStep]
    def __init__(self, service: _Optional[str] = ..., major: _Optional[int] = ..., version: _Optional[str] = ..., provider: _Optional[str] = ..., source: _Optional[str] = ..., message: _Optional[str] = ..., code: _Optional[str] = ..., overridden: _Optional[_Iterable[_Union[GraphStep, _Mapping]]] = ...) -> None: ...

class GraphStep(_message.Message):
    __slots__ = ("provider", "source")
    PROVIDER_FIELD_NUMBER: _ClassVar[int]
    SOURCE_FIELD_NUMBER: _ClassVar[int]
    provider: str
    source: str
    def __init__(self, provider: _Optional[str] = ..., source: _Optional[str] = ...) -> None: ...
