from wuu.mesh.v1 import json_pb2 as _json_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class Phase(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    PHASE_UNSPECIFIED: _ClassVar[Phase]
    PHASE_PREPARATION: _ClassVar[Phase]
    PHASE_ACTIVE: _ClassVar[Phase]
    PHASE_CLEANUP: _ClassVar[Phase]
PHASE_UNSPECIFIED: Phase
PHASE_PREPARATION: Phase
PHASE_ACTIVE: Phase
PHASE_CLEANUP: Phase

class SignedContext(_message.Message):
    __slots__ = ("context", "hmac_sha256", "ed25519")
    CONTEXT_FIELD_NUMBER: _ClassVar[int]
    HMAC_SHA256_FIELD_NUMBER: _ClassVar[int]
    ED25519_FIELD_NUMBER: _ClassVar[int]
    context: bytes
    hmac_sha256: bytes
    ed25519: bytes
    def __init__(self, context: _Optional[bytes] = ..., hmac_sha256: _Optional[bytes] = ..., ed25519: _Optional[bytes] = ...) -> None: ...

class CallContext(_message.Message):
    __slots__ = ("audience", "caller", "generation", "execution", "parent", "phase", "service", "method", "deadline_unix_ms", "expires_unix_ms", "hops", "user_space", "product_domain", "workspace", "admission", "stewardship", "continuation")
    AUDIENCE_FIELD_NUMBER: _ClassVar[int]
    CALLER_FIELD_NUMBER: _ClassVar[int]
    GENERATION_FIELD_NUMBER: _ClassVar[int]
    EXECUTION_FIELD_NUMBER: _ClassVar[int]
    PARENT_FIELD_NUMBER: _ClassVar[int]
    PHASE_FIELD_NUMBER: _ClassVar[int]
    SERVICE_FIELD_NUMBER: _ClassVar[int]
    METHOD_FIELD_NUMBER: _ClassVar[int]
    DEADLINE_UNIX_MS_FIELD_NUMBER: _ClassVar[int]
    EXPIRES_UNIX_MS_FIELD_NUMBER: _ClassVar[int]
    HOPS_FIELD_NUMBER: _ClassVar[int]
    USER_SPACE_FIELD_NUMBER: _ClassVar[int]
    PRODUCT_DOMAIN_FIELD_NUMBER: _ClassVar[int]
    WORKSPACE_FIELD_NUMBER: _ClassVar[int]
    ADMISSION_FIELD_NUMBER: _ClassVar[int]
    STEWARDSHIP_FIELD_NUMBER: _ClassVar[int]
    CONTINUATION_FIELD_NUMBER: _ClassVar[int]
    audience: str
    caller: str
    generation: str
    execution: str
    parent: str
    phase: Phase
    service: str
    method: str
    deadline_unix_ms: int
    expires_unix_ms: int
    hops: int
    user_space: str
    product_domain: str
    workspace: str
    admission: OwnerAdmission
    stewardship: Stewardship
    continuation: str
    def __init__(self, audience: _Optional[str] = ..., caller: _Optional[str] = ..., generation: _Optional[str] = ..., execution: _Optional[str] = ..., parent: _Optional[str] = ..., phase: _Optional[_Union[Phase, str]] = ..., service: _Optional[str] = ..., method: _Optional[str] = ..., deadline_unix_ms: _Optional[int] = ..., expires_unix_ms: _Optional[int] = ..., hops: _Optional[int] = ..., user_space: _Optional[str] = ..., product_domain: _Optional[str] = ..., workspace: _Optional[str] = ..., admission: _Optional[_Union[OwnerAdmission, _Mapping]] = ..., stewardship: _Optional[_Union[Stewardship, _Mapping]] = ..., continuation: _Optional[str] = ...) -> None: ...

class OwnerAdmission(_message.Message):
    __slots__ = ("action", "input_json", "input_digest", "subject", "lineage")
    ACTION_FIELD_NUMBER: _ClassVar[int]
    INPUT_JSON_FIELD_NUMBER: _ClassVar[int]
    INPUT_DIGEST_FIELD_NUMBER: _ClassVar[int]
    SUBJECT_FIELD_NUMBER: _ClassVar[int]
    LINEAGE_FIELD_NUMBER: _ClassVar[int]
    action: str
    input_json: _json_pb2.Json
    input_digest: bytes
    subject: str
    lineage: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, action: _Optional[str] = ..., input_json: _Optional[_Union[_json_pb2.Json, _Mapping]] = ..., input_digest: _Optional[bytes] = ..., subject: _Optional[str] = ..., lineage: _Optional[_Iterable[str]] = ...) -> None: ...

class Stewardship(_message.Message):
    __slots__ = ("version", "provider", "operation", "input_json", "input_digest", "consumer")
    VERSION_FIELD_NUMBER: _ClassVar[int]
    PROVIDER_FIELD_NUMBER: _ClassVar[int]
    OPERATION_FIELD_NUMBER: _ClassVar[int]
    INPUT_JSON_FIELD_NUMBER: _ClassVar[int]
    INPUT_DIGEST_FIELD_NUMBER: _ClassVar[int]
    CONSUMER_FIELD_NUMBER: _ClassVar[int]
    version: int
    provider: str
    operation: str
    input_json: _json_pb2.Json
    input_digest: bytes
    consumer: str
    def __init__(self, version: _Optional[int] = ..., provider: _Optional[str] = ..., operation: _Optional[str] = ..., input_json: _Optional[_Union[_json_pb2.Json, _Mapping]] = ..., input_digest: _Optional[bytes] = ..., consumer: _Optional[str] = ...) -> None: ...
