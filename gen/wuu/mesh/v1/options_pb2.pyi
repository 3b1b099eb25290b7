from google.protobuf import descriptor_pb2 as _descriptor_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor
SERVICE_FIELD_NUMBER: _ClassVar[int]
service: _descriptor.FieldDescriptor
METHOD_FIELD_NUMBER: _ClassVar[int]
method: _descriptor.FieldDescriptor
BARE_LIST_FIELD_NUMBER: _ClassVar[int]
bare_list: _descriptor.FieldDescriptor
DECIMAL_FIELD_NUMBER: _ClassVar[int]
decimal: _descriptor.FieldDescriptor
NULLABLE_FIELD_NUMBER: _ClassVar[int]
nullable: _descriptor.FieldDescriptor
JSON_VALUE_FIELD_NUMBER: _ClassVar[int]
json_value: _descriptor.FieldDescriptor

class ServiceOptions(_message.Message):
    __slots__ = ("name", "version", "handles")
    NAME_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    HANDLES_FIELD_NUMBER: _ClassVar[int]
    name: str
    version: str
    handles: bool
    def __init__(self, name: _Optional[str] = ..., version: _Optional[str] = ..., handles: _Optional[bool] = ...) -> None: ...

class MethodOptions(_message.Message):
    __slots__ = ("name", "preparation", "cleanup", "optional", "journaled", "positional", "watch", "input_schema", "output_schema", "features")
    NAME_FIELD_NUMBER: _ClassVar[int]
    PREPARATION_FIELD_NUMBER: _ClassVar[int]
    CLEANUP_FIELD_NUMBER: _ClassVar[int]
    OPTIONAL_FIELD_NUMBER: _ClassVar[int]
    JOURNALED_FIELD_NUMBER: _ClassVar[int]
    POSITIONAL_FIELD_NUMBER: _ClassVar[int]
    WATCH_FIELD_NUMBER: _ClassVar[int]
    INPUT_SCHEMA_FIELD_NUMBER: _ClassVar[int]
    OUTPUT_SCHEMA_FIELD_NUMBER: _ClassVar[int]
    FEATURES_FIELD_NUMBER: _ClassVar[int]
    name: str
    preparation: bool
    cleanup: bool
    optional: bool
    journaled: bool
    positional: bool
    watch: bool
    input_schema: str
    output_schema: str
    features: _containers.RepeatedCompositeFieldContainer[FeatureSchema]
    def __init__(self, name: _Optional[str] = ..., preparation: _Optional[bool] = ..., cleanup: _Optional[bool] = ..., optional: _Optional[bool] = ..., journaled: _Optional[bool] = ..., positional: _Optional[bool] = ..., watch: _Optional[bool] = ..., input_schema: _Optional[str] = ..., output_schema: _Optional[str] = ..., features: _Optional[_Iterable[_Union[FeatureSchema, _Mapping]]] = ...) -> None: ...

class FeatureSchema(_message.Message):
    __slots__ = ("feature", "input_schema", "output_schema")
    FEATURE_FIELD_NUMBER: _ClassVar[int]
    INPUT_SCHEMA_FIELD_NUMBER: _ClassVar[int]
    OUTPUT_SCHEMA_FIELD_NUMBER: _ClassVar[int]
    feature: str
    input_schema: str
    output_schema: str
    def __init__(self, feature: _Optional[str] = ..., input_schema: _Optional[str] = ..., output_schema: _Optional[str] = ...) -> None: ...
