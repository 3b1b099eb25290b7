from wuu.mesh.v1 import json_pb2 as _json_pb2
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class InvokeRequest(_message.Message):
    __slots__ = ("params",)
    PARAMS_FIELD_NUMBER: _ClassVar[int]
    params: _json_pb2.Json
    def __init__(self, params: _Optional[_Union[_json_pb2.Json, _Mapping]] = ...) -> None: ...

class InvokeResponse(_message.Message):
    __slots__ = ("result",)
    RESULT_FIELD_NUMBER: _ClassVar[int]
    result: _json_pb2.Json
    def __init__(self, result: _Optional[_Union[_json_pb2.Json, _Mapping]] = ...) -> None: ...
