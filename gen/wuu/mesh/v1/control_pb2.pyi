from wuu.mesh.v1 import declaration_pb2 as _declaration_pb2
from wuu.mesh.v1 import graph_pb2 as _graph_pb2
from wuu.mesh.v1 import json_pb2 as _json_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class GetStatusRequest(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class GetStatusResponse(_message.Message):
    __slots__ = ("generation", "modules", "services", "router")
    GENERATION_FIELD_NUMBER: _ClassVar[int]
    MODULES_FIELD_NUMBER: _ClassVar[int]
    SERVICES_FIELD_NUMBER: _ClassVar[int]
    ROUTER_FIELD_NUMBER: _ClassVar[int]
    generation: GenerationStatus
    modules: _containers.RepeatedCompositeFieldContainer[ModuleStatus]
    services: _containers.RepeatedCompositeFieldContainer[ServiceStatus]
    router: RouterStatus
    def __init__(self, generation: _Optional[_Union[GenerationStatus, _Mapping]] = ..., modules: _Optional[_Iterable[_Union[ModuleStatus, _Mapping]]] = ..., services: _Optional[_Iterable[_Union[ServiceStatus, _Mapping]]] = ..., router: _Optional[_Union[RouterStatus, _Mapping]] = ...) -> None: ...

class GenerationStatus(_message.Message):
    __slots__ = ("id", "state", "diagnostics")
    ID_FIELD_NUMBER: _ClassVar[int]
    STATE_FIELD_NUMBER: _ClassVar[int]
    DIAGNOSTICS_FIELD_NUMBER: _ClassVar[int]
    id: str
    state: str
    diagnostics: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, id: _Optional[str] = ..., state: _Optional[str] = ..., diagnostics: _Optional[_Iterable[str]] = ...) -> None: ...

class RouterStatus(_message.Message):
    __slots__ = ("pid", "rss_bytes", "version", "home", "composition", "started_unix_ms", "executions", "sources")
    PID_FIELD_NUMBER: _ClassVar[int]
    RSS_BYTES_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    HOME_FIELD_NUMBER: _ClassVar[int]
    COMPOSITION_FIELD_NUMBER: _ClassVar[int]
    STARTED_UNIX_MS_FIELD_NUMBER: _ClassVar[int]
    EXECUTIONS_FIELD_NUMBER: _ClassVar[int]
    SOURCES_FIELD_NUMBER: _ClassVar[int]
    pid: int
    rss_bytes: int
    version: str
    home: str
    composition: str
    started_unix_ms: int
    executions: int
    sources: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, pid: _Optional[int] = ..., rss_bytes: _Optional[int] = ..., version: _Optional[str] = ..., home: _Optional[str] = ..., composition: _Optional[str] = ..., started_unix_ms: _Optional[int] = ..., executions: _Optional[int] = ..., sources: _Optional[_Iterable[str]] = ...) -> None: ...

class ModuleStatus(_message.Message):
    __slots__ = ("id", "version", "state", "pid", "rss_bytes", "provides", "requires", "error", "error_code", "protocol", "instance", "stray_lines", "last_stray_line", "start_ms")
    ID_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    STATE_FIELD_NUMBER: _ClassVar[int]
    PID_FIELD_NUMBER: _ClassVar[int]
    RSS_BYTES_FIELD_NUMBER: _ClassVar[int]
    PROVIDES_FIELD_NUMBER: _ClassVar[int]
    REQUIRES_FIELD_NUMBER: _ClassVar[int]
    ERROR_FIELD_NUMBER: _ClassVar[int]
    ERROR_CODE_FIELD_NUMBER: _ClassVar[int]
    PROTOCOL_FIELD_NUMBER: _ClassVar[int]
    INSTANCE_FIELD_NUMBER: _ClassVar[int]
    STRAY_LINES_FIELD_NUMBER: _ClassVar[int]
    LAST_STRAY_LINE_FIELD_NUMBER: _ClassVar[int]
    START_MS_FIELD_NUMBER: _ClassVar[int]
    id: str
    version: str
    state: str
    pid: int
    rss_bytes: int
    provides: _containers.RepeatedScalarFieldContainer[str]
    requires: _containers.RepeatedScalarFieldContainer[str]
    error: str
    error_code: str
    protocol: str
    instance: str
    stray_lines: int
    last_stray_line: str
    start_ms: int
    def __init__(self, id: _Optional[str] = ..., version: _Optional[str] = ..., state: _Optional[str] = ..., pid: _Optional[int] = ..., rss_bytes: _Optional[int] = ..., provides: _Optional[_Iterable[str]] = ..., requires: _Optional[_Iterable[str]] = ..., error: _Optional[str] = ..., error_code: _Optional[str] = ..., protocol: _Optional[str] = ..., instance: _Optional[str] = ..., stray_lines: _Optional[int] = ..., last_stray_line: _Optional[str] = ..., start_ms: _Optional[int] = ...) -> None: ...

class ServiceStatus(_message.Message):
    __slots__ = ("service", "major", "version", "provider", "source")
    SERVICE_FIELD_NUMBER: _ClassVar[int]
    MAJOR_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    PROVIDER_FIELD_NUMBER: _ClassVar[int]
    SOURCE_FIELD_NUMBER: _ClassVar[int]
    service: str
    major: int
    version: str
    provider: str
    source: str
    def __init__(self, service: _Optional[str] = ..., major: _Optional[int] = ..., version: _Optional[str] = ..., provider: _Optional[str] = ..., source: _Optional[str] = ...) -> None: ...

class ListEventsRequest(_message.Message):
    __slots__ = ("cursor", "wait_ms")
    CURSOR_FIELD_NUMBER: _ClassVar[int]
    WAIT_MS_FIELD_NUMBER: _ClassVar[int]
    cursor: str
    wait_ms: int
    def __init__(self, cursor: _Optional[str] = ..., wait_ms: _Optional[int] = ...) -> None: ...

class ListEventsResponse(_message.Message):
    __slots__ = ("events", "cursor")
    EVENTS_FIELD_NUMBER: _ClassVar[int]
    CURSOR_FIELD_NUMBER: _ClassVar[int]
    events: _containers.RepeatedCompositeFieldContainer[Event]
    cursor: str
    def __init__(self, events: _Optional[_Iterable[_Union[Event, _Mapping]]] = ..., cursor: _Optional[str] = ...) -> None: ...

class Event(_message.Message):
    __slots__ = ("sequence", "at_unix_ms", "kind", "subject", "state", "message", "code")
    SEQUENCE_FIELD_NUMBER: _ClassVar[int]
    AT_UNIX_MS_FIELD_NUMBER: _ClassVar[int]
    KIND_FIELD_NUMBER: _ClassVar[int]
    SUBJECT_FIELD_NUMBER: _ClassVar[int]
    STATE_FIELD_NUMBER: _ClassVar[int]
    MESSAGE_FIELD_NUMBER: _ClassVar[int]
    CODE_FIELD_NUMBER: _ClassVar[int]
    sequence: int
    at_unix_ms: int
    kind: str
    subject: str
    state: str
    message: str
    code: str
    def __init__(self, sequence: _Optional[int] = ..., at_unix_ms: _Optional[int] = ..., kind: _Optional[str] = ..., subject: _Optional[str] = ..., state: _Optional[str] = ..., message: _Optional[str] = ..., code: _Optional[str] = ...) -> None: ...

class DescribeServiceRequest(_message.Message):
    __slots__ = ("service", "as_module")
    SERVICE_FIELD_NUMBER: _ClassVar[int]
    AS_MODULE_FIELD_NUMBER: _ClassVar[int]
    service: str
    as_module: str
    def __init__(self, service: _Optional[str] = ..., as_module: _Optional[str] = ...) -> None: ...

class DescribeServiceResponse(_message.Message):
    __slots__ = ("provider", "descriptor", "file_descriptor_set")
    PROVIDER_FIELD_NUMBER: _ClassVar[int]
    DESCRIPTOR_FIELD_NUMBER: _ClassVar[int]
    FILE_DESCRIPTOR_SET_FIELD_NUMBER: _ClassVar[int]
    provider: str
    descriptor: _declaration_pb2.ServiceDescriptor
    file_descriptor_set: bytes
    def __init__(self, provider: _Optional[str] = ..., descriptor: _Optional[_Union[_declaration_pb2.ServiceDescriptor, _Mapping]] = ..., file_descriptor_set: _Optional[bytes] = ...) -> None: ...

class ListToolsRequest(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class ListToolsResponse(_message.Message):
    __slots__ = ("tools",)
    TOOLS_FIELD_NUMBER: _ClassVar[int]
    tools: _containers.RepeatedCompositeFieldContainer[ContributedTool]
    def __init__(self, tools: _Optional[_Iterable[_Union[ContributedTool, _Mapping]]] = ...) -> None: ...

class ContributedTool(_message.Message):
    __slots__ = ("module", "tool")
    MODULE_FIELD_NUMBER: _ClassVar[int]
    TOOL_FIELD_NUMBER: _ClassVar[int]
    module: str
    tool: _declaration_pb2.Tool
    def __init__(self, module: _Optional[str] = ..., tool: _Optional[_Union[_declaration_pb2.Tool, _Mapping]] = ...) -> None: ...

class ReadLogRequest(_message.Message):
    __slots__ = ("module", "offset", "max_bytes", "wait_ms", "log")
    MODULE_FIELD_NUMBER: _ClassVar[int]
    OFFSET_FIELD_NUMBER: _ClassVar[int]
    MAX_BYTES_FIELD_NUMBER: _ClassVar[int]
    WAIT_MS_FIELD_NUMBER: _ClassVar[int]
    LOG_FIELD_NUMBER: _ClassVar[int]
    module: str
    offset: int
    max_bytes: int
    wait_ms: int
    log: str
    def __init__(self, module: _Optional[str] = ..., offset: _Optional[int] = ..., max_bytes: _Optional[int] = ..., wait_ms: _Optional[int] = ..., log: _Optional[str] = ...) -> None: ...

class ReadLogResponse(_message.Message):
    __slots__ = ("data", "next_offset", "log")
    DATA_FIELD_NUMBER: _ClassVar[int]
    NEXT_OFFSET_FIELD_NUMBER: _ClassVar[int]
    LOG_FIELD_NUMBER: _ClassVar[int]
    data: bytes
    next_offset: int
    log: str
    def __init__(self, data: _Optional[bytes] = ..., next_offset: _Optional[int] = ..., log: _Optional[str] = ...) -> None: ...

class GetGraphRequest(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class GetGraphResponse(_message.Message):
    __slots__ = ("generation", "nodes", "services", "notes")
    GENERATION_FIELD_NUMBER: _ClassVar[int]
    NODES_FIELD_NUMBER: _ClassVar[int]
    SERVICES_FIELD_NUMBER: _ClassVar[int]
    NOTES_FIELD_NUMBER: _ClassVar[int]
    generation: GenerationStatus
    nodes: _containers.RepeatedCompositeFieldContainer[_graph_pb2.GraphNode]
    services: _containers.RepeatedCompositeFieldContainer[_graph_pb2.GraphService]
    notes: _containers.RepeatedCompositeFieldContainer[Problem]
    def __init__(self, generation: _Optional[_Union[GenerationStatus, _Mapping]] = ..., nodes: _Optional[_Iterable[_Union[_graph_pb2.GraphNode, _Mapping]]] = ..., services: _Optional[_Iterable[_Union[_graph_pb2.GraphService, _Mapping]]] = ..., notes: _Optional[_Iterable[_Union[Problem, _Mapping]]] = ...) -> None: ...

class CompositionSource(_message.Message):
    __slots__ = ("layer", "path", "document")
    LAYER_FIELD_NUMBER: _ClassVar[int]
    PATH_FIELD_NUMBER: _ClassVar[int]
    DOCUMENT_FIELD_NUMBER: _ClassVar[int]
    layer: str
    path: str
    document: bytes
    def __init__(self, layer: _Optional[str] = ..., path: _Optional[str] = ..., document: _Optional[bytes] = ...) -> None: ...

class ApplyRequest(_message.Message):
    __slots__ = ("sources", "dry_run")
    SOURCES_FIELD_NUMBER: _ClassVar[int]
    DRY_RUN_FIELD_NUMBER: _ClassVar[int]
    sources: _containers.RepeatedCompositeFieldContainer[CompositionSource]
    dry_run: bool
    def __init__(self, sources: _Optional[_Iterable[_Union[CompositionSource, _Mapping]]] = ..., dry_run: _Optional[bool] = ...) -> None: ...

class ApplyResponse(_message.Message):
    __slots__ = ("transition",)
    TRANSITION_FIELD_NUMBER: _ClassVar[int]
    transition: Transition
    def __init__(self, transition: _Optional[_Union[Transition, _Mapping]] = ...) -> None: ...

class ReloadRequest(_message.Message):
    __slots__ = ("module",)
    MODULE_FIELD_NUMBER: _ClassVar[int]
    module: str
    def __init__(self, module: _Optional[str] = ...) -> None: ...

class ReloadResponse(_message.Message):
    __slots__ = ("transition",)
    TRANSITION_FIELD_NUMBER: _ClassVar[int]
    transition: Transition
    def __init__(self, transition: _Optional[_Union[Transition, _Mapping]] = ...) -> None: ...

class SetEnabledRequest(_message.Message):
    __slots__ = ("module", "enabled")
    MODULE_FIELD_NUMBER: _ClassVar[int]
    ENABLED_FIELD_NUMBER: _ClassVar[int]
    module: str
    enabled: bool
    def __init__(self, module: _Optional[str] = ..., enabled: _Optional[bool] = ...) -> None: ...

class RereadPackagesRequest(_message.Message):
    __slots__ = ("cause", "modules")
    CAUSE_FIELD_NUMBER: _ClassVar[int]
    MODULES_FIELD_NUMBER: _ClassVar[int]
    cause: str
    modules: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, cause: _Optional[str] = ..., modules: _Optional[_Iterable[str]] = ...) -> None: ...

class RereadPackagesResponse(_message.Message):
    __slots__ = ("transition",)
    TRANSITION_FIELD_NUMBER: _ClassVar[int]
    transition: Transition
    def __init__(self, transition: _Optional[_Union[Transition, _Mapping]] = ...) -> None: ...

class SetEnabledResponse(_message.Message):
    __slots__ = ("transition",)
    TRANSITION_FIELD_NUMBER: _ClassVar[int]
    transition: Transition
    def __init__(self, transition: _Optional[_Union[Transition, _Mapping]] = ...) -> None: ...

class RollbackRequest(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class RollbackResponse(_message.Message):
    __slots__ = ("transition",)
    TRANSITION_FIELD_NUMBER: _ClassVar[int]
    transition: Transition
    def __init__(self, transition: _Optional[_Union[Transition, _Mapping]] = ...) -> None: ...

class Transition(_message.Message):
    __slots__ = ("outcome", "generation", "difference", "problems", "took_ms", "start_ms")
    OUTCOME_FIELD_NUMBER: _ClassVar[int]
    GENERATION_FIELD_NUMBER: _ClassVar[int]
    DIFFERENCE_FIELD_NUMBER: _ClassVar[int]
    PROBLEMS_FIELD_NUMBER: _ClassVar[int]
    TOOK_MS_FIELD_NUMBER: _ClassVar[int]
    START_MS_FIELD_NUMBER: _ClassVar[int]
    outcome: str
    generation: GenerationStatus
    difference: Difference
    problems: _containers.RepeatedCompositeFieldContainer[Problem]
    took_ms: int
    start_ms: int
    def __init__(self, outcome: _Optional[str] = ..., generation: _Optional[_Union[GenerationStatus, _Mapping]] = ..., difference: _Optional[_Union[Difference, _Mapping]] = ..., problems: _Optional[_Iterable[_Union[Problem, _Mapping]]] = ..., took_ms: _Optional[int] = ..., start_ms: _Optional[int] = ...) -> None: ...

class Difference(_message.Message):
    __slots__ = ("added", "removed", "replaced", "carried", "bindings", "blocked")
    ADDED_FIELD_NUMBER: _ClassVar[int]
    REMOVED_FIELD_NUMBER: _ClassVar[int]
    REPLACED_FIELD_NUMBER: _ClassVar[int]
    CARRIED_FIELD_NUMBER: _ClassVar[int]
    BINDINGS_FIELD_NUMBER: _ClassVar[int]
    BLOCKED_FIELD_NUMBER: _ClassVar[int]
    added: _containers.RepeatedScalarFieldContainer[str]
    removed: _containers.RepeatedScalarFieldContainer[str]
    replaced: _containers.RepeatedScalarFieldContainer[str]
    carried: _containers.RepeatedScalarFieldContainer[str]
    bindings: _containers.RepeatedCompositeFieldContainer[BindingChange]
    blocked: _containers.RepeatedCompositeFieldContainer[Problem]
    def __init__(self, added: _Optional[_Iterable[str]] = ..., removed: _Optional[_Iterable[str]] = ..., replaced: _Optional[_Iterable[str]] = ..., carried: _Optional[_Iterable[str]] = ..., bindings: _Optional[_Iterable[_Union[BindingChange, _Mapping]]] = ..., blocked: _Optional[_Iterable[_Union[Problem, _Mapping]]] = ...) -> None: ...

class BindingChange(_message.Message):
    __slots__ = ("consumer", "service", "major", "before", "after")
    CONSUMER_FIELD_NUMBER: _ClassVar[int]
    SERVICE_FIELD_NUMBER: _ClassVar[int]
    MAJOR_FIELD_NUMBER: _ClassVar[int]
    BEFORE_FIELD_NUMBER: _ClassVar[int]
    AFTER_FIELD_NUMBER: _ClassVar[int]
    consumer: str
    service: str
    major: int
    before: str
    after: str
    def __init__(self, consumer: _Optional[str] = ..., service: _Optional[str] = ..., major: _Optional[int] = ..., before: _Optional[str] = ..., after: _Optional[str] = ...) -> None: ...

class Problem(_message.Message):
    __slots__ = ("where", "message", "code")
    WHERE_FIELD_NUMBER: _ClassVar[int]
    MESSAGE_FIELD_NUMBER: _ClassVar[int]
    CODE_FIELD_NUMBER: _ClassVar[int]
    where: str
    message: str
    code: str
    def __init__(self, where: _Optional[str] = ..., message: _Optional[str] = ..., code: _Optional[str] = ...) -> None: ...

class ListGenerationsRequest(_message.Message):
    __slots__ = ("limit",)
    LIMIT_FIELD_NUMBER: _ClassVar[int]
    limit: int
    def __init__(self, limit: _Optional[int] = ...) -> None: ...

class ListGenerationsResponse(_message.Message):
    __slots__ = ("generations",)
    GENERATIONS_FIELD_NUMBER: _ClassVar[int]
    generations: _containers.RepeatedCompositeFieldContainer[GenerationRecord]
    def __init__(self, generations: _Optional[_Iterable[_Union[GenerationRecord, _Mapping]]] = ...) -> None: ...

class GenerationRecord(_message.Message):
    __slots__ = ("id", "state", "cause", "created_unix_ms", "committed_unix_ms", "published_unix_ms", "retired_unix_ms", "closed_unix_ms", "diagnostics", "executions", "leases", "revocations")
    ID_FIELD_NUMBER: _ClassVar[int]
    STATE_FIELD_NUMBER: _ClassVar[int]
    CAUSE_FIELD_NUMBER: _ClassVar[int]
    CREATED_UNIX_MS_FIELD_NUMBER: _ClassVar[int]
    COMMITTED_UNIX_MS_FIELD_NUMBER: _ClassVar[int]
    PUBLISHED_UNIX_MS_FIELD_NUMBER: _ClassVar[int]
    RETIRED_UNIX_MS_FIELD_NUMBER: _ClassVar[int]
    CLOSED_UNIX_MS_FIELD_NUMBER: _ClassVar[int]
    DIAGNOSTICS_FIELD_NUMBER: _ClassVar[int]
    EXECUTIONS_FIELD_NUMBER: _ClassVar[int]
    LEASES_FIELD_NUMBER: _ClassVar[int]
    REVOCATIONS_FIELD_NUMBER: _ClassVar[int]
    id: str
    state: str
    cause: str
    created_unix_ms: int
    committed_unix_ms: int
    published_unix_ms: int
    retired_unix_ms: int
    closed_unix_ms: int
    diagnostics: _containers.RepeatedScalarFieldContainer[str]
    executions: int
    leases: _containers.RepeatedCompositeFieldContainer[Lease]
    revocations: _containers.RepeatedCompositeFieldContainer[Revocation]
    def __init__(self, id: _Optional[str] = ..., state: _Optional[str] = ..., cause: _Optional[str] = ..., created_unix_ms: _Optional[int] = ..., committed_unix_ms: _Optional[int] = ..., published_unix_ms: _Optional[int] = ..., retired_unix_ms: _Optional[int] = ..., closed_unix_ms: _Optional[int] = ..., diagnostics: _Optional[_Iterable[str]] = ..., executions: _Optional[int] = ..., leases: _Optional[_Iterable[_Union[Lease, _Mapping]]] = ..., revocations: _Optional[_Iterable[_Union[Revocation, _Mapping]]] = ...) -> None: ...

class Lease(_message.Message):
    __slots__ = ("module", "key", "kind", "since_unix_ms")
    MODULE_FIELD_NUMBER: _ClassVar[int]
    KEY_FIELD_NUMBER: _ClassVar[int]
    KIND_FIELD_NUMBER: _ClassVar[int]
    SINCE_UNIX_MS_FIELD_NUMBER: _ClassVar[int]
    module: str
    key: str
    kind: str
    since_unix_ms: int
    def __init__(self, module: _Optional[str] = ..., key: _Optional[str] = ..., kind: _Optional[str] = ..., since_unix_ms: _Optional[int] = ...) -> None: ...

class Revocation(_message.Message):
    __slots__ = ("module", "instance", "at_unix_ms", "cause", "confirmed", "message")
    MODULE_FIELD_NUMBER: _ClassVar[int]
    INSTANCE_FIELD_NUMBER: _ClassVar[int]
    AT_UNIX_MS_FIELD_NUMBER: _ClassVar[int]
    CAUSE_FIELD_NUMBER: _ClassVar[int]
    CONFIRMED_FIELD_NUMBER: _ClassVar[int]
    MESSAGE_FIELD_NUMBER: _ClassVar[int]
    module: str
    instance: str
    at_unix_ms: int
    cause: str
    confirmed: bool
    message: str
    def __init__(self, module: _Optional[str] = ..., instance: _Optional[str] = ..., at_unix_ms: _Optional[int] = ..., cause: _Optional[str] = ..., confirmed: _Optional[bool] = ..., message: _Optional[str] = ...) -> None: ...

class ListExecutionsRequest(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class ListExecutionsResponse(_message.Message):
    __slots__ = ("executions",)
    EXECUTIONS_FIELD_NUMBER: _ClassVar[int]
    executions: _containers.RepeatedCompositeFieldContainer[ExecutionStatus]
    def __init__(self, executions: _Optional[_Iterable[_Union[ExecutionStatus, _Mapping]]] = ...) -> None: ...

class ExecutionStatus(_message.Message):
    __slots__ = ("id", "generation", "retained", "owner", "caller", "parent", "service", "method", "started_unix_ms", "deadline_unix_ms", "progress", "progress_unix_ms", "state")
    ID_FIELD_NUMBER: _ClassVar[int]
    GENERATION_FIELD_NUMBER: _ClassVar[int]
    RETAINED_FIELD_NUMBER: _ClassVar[int]
    OWNER_FIELD_NUMBER: _ClassVar[int]
    CALLER_FIELD_NUMBER: _ClassVar[int]
    PARENT_FIELD_NUMBER: _ClassVar[int]
    SERVICE_FIELD_NUMBER: _ClassVar[int]
    METHOD_FIELD_NUMBER: _ClassVar[int]
    STARTED_UNIX_MS_FIELD_NUMBER: _ClassVar[int]
    DEADLINE_UNIX_MS_FIELD_NUMBER: _ClassVar[int]
    PROGRESS_FIELD_NUMBER: _ClassVar[int]
    PROGRESS_UNIX_MS_FIELD_NUMBER: _ClassVar[int]
    STATE_FIELD_NUMBER: _ClassVar[int]
    id: str
    generation: str
    retained: bool
    owner: str
    caller: str
    parent: str
    service: str
    method: str
    started_unix_ms: int
    deadline_unix_ms: int
    progress: _json_pb2.Json
    progress_unix_ms: int
    state: str
    def __init__(self, id: _Optional[str] = ..., generation: _Optional[str] = ..., retained: _Optional[bool] = ..., owner: _Optional[str] = ..., caller: _Optional[str] = ..., parent: _Optional[str] = ..., service: _Optional[str] = ..., method: _Optional[str] = ..., started_unix_ms: _Optional[int] = ..., deadline_unix_ms: _Optional[int] = ..., progress: _Optional[_Union[_json_pb2.Json, _Mapping]] = ..., progress_unix_ms: _Optional[int] = ..., state: _Optional[str] = ...) -> None: ...

class CancelExecutionRequest(_message.Message):
    __slots__ = ("id",)
    ID_FIELD_NUMBER: _ClassVar[int]
    id: str
    def __init__(self, id: _Optional[str] = ...) -> None: ...

class CancelExecutionResponse(_message.Message):
    __slots__ = ("cancelled",)
    CANCELLED_FIELD_NUMBER: _ClassVar[int]
    cancelled: int
    def __init__(self, cancelled: _Optional[int] = ...) -> None: ...

class StopRequest(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class StopResponse(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...
