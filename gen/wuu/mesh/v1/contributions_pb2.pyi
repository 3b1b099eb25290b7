from wuu.mesh.v1 import json_pb2 as _json_pb2
from wuu.mesh.v1 import options_pb2 as _options_pb2
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class ExecuteToolRequest(_message.Message):
    __slots__ = ("tool_id", "tool", "arguments", "call_id", "cwd", "session_id", "thread_id", "turn_id", "actor_id", "step_index")
    TOOL_ID_FIELD_NUMBER: _ClassVar[int]
    TOOL_FIELD_NUMBER: _ClassVar[int]
    ARGUMENTS_FIELD_NUMBER: _ClassVar[int]
    CALL_ID_FIELD_NUMBER: _ClassVar[int]
    CWD_FIELD_NUMBER: _ClassVar[int]
    SESSION_ID_FIELD_NUMBER: _ClassVar[int]
    THREAD_ID_FIELD_NUMBER: _ClassVar[int]
    TURN_ID_FIELD_NUMBER: _ClassVar[int]
    ACTOR_ID_FIELD_NUMBER: _ClassVar[int]
    STEP_INDEX_FIELD_NUMBER: _ClassVar[int]
    tool_id: str
    tool: str
    arguments: _json_pb2.Json
    call_id: str
    cwd: str
    session_id: str
    thread_id: str
    turn_id: str
    actor_id: str
    step_index: int
    def __init__(self, tool_id: _Optional[str] = ..., tool: _Optional[str] = ..., arguments: _Optional[_Union[_json_pb2.Json, _Mapping]] = ..., call_id: _Optional[str] = ..., cwd: _Optional[str] = ..., session_id: _Optional[str] = ..., thread_id: _Optional[str] = ..., turn_id: _Optional[str] = ..., actor_id: _Optional[str] = ..., step_index: _Optional[int] = ...) -> None: ...

class ExecuteToolResponse(_message.Message):
    __slots__ = ("content", "structured_content", "meta", "is_error", "activity")
    CONTENT_FIELD_NUMBER: _ClassVar[int]
    STRUCTURED_CONTENT_FIELD_NUMBER: _ClassVar[int]
    META_FIELD_NUMBER: _ClassVar[int]
    IS_ERROR_FIELD_NUMBER: _ClassVar[int]
    ACTIVITY_FIELD_NUMBER: _ClassVar[int]
    content: _json_pb2.Json
    structured_content: _json_pb2.Json
    meta: _json_pb2.Json
    is_error: bool
    activity: _json_pb2.Json
    def __init__(self, content: _Optional[_Union[_json_pb2.Json, _Mapping]] = ..., structured_content: _Optional[_Union[_json_pb2.Json, _Mapping]] = ..., meta: _Optional[_Union[_json_pb2.Json, _Mapping]] = ..., is_error: _Optional[bool] = ..., activity: _Optional[_Union[_json_pb2.Json, _Mapping]] = ...) -> None: ...

class InvokeCapabilityRequest(_message.Message):
    __slots__ = ("capability", "input", "output")
    CAPABILITY_FIELD_NUMBER: _ClassVar[int]
    INPUT_FIELD_NUMBER: _ClassVar[int]
    OUTPUT_FIELD_NUMBER: _ClassVar[int]
    capability: str
    input: _json_pb2.Json
    output: _json_pb2.Json
    def __init__(self, capability: _Optional[str] = ..., input: _Optional[_Union[_json_pb2.Json, _Mapping]] = ..., output: _Optional[_Union[_json_pb2.Json, _Mapping]] = ...) -> None: ...

class InvokeCapabilityResponse(_message.Message):
    __slots__ = ("output",)
    OUTPUT_FIELD_NUMBER: _ClassVar[int]
    output: _json_pb2.Json
    def __init__(self, output: _Optional[_Union[_json_pb2.Json, _Mapping]] = ...) -> None: ...
