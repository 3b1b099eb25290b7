from wuu.mesh.v1 import json_pb2 as _json_pb2
from wuu.mesh.v1 import options_pb2 as _options_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class ExportSection(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    EXPORT_SECTION_UNSPECIFIED: _ClassVar[ExportSection]
    EXPORT_SECTION_DOCUMENTS: _ClassVar[ExportSection]
    EXPORT_SECTION_RECEIPTS: _ClassVar[ExportSection]

class AuthorityMode(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    AUTHORITY_MODE_UNSPECIFIED: _ClassVar[AuthorityMode]
    AUTHORITY_MODE_HOST_JOURNAL: _ClassVar[AuthorityMode]
    AUTHORITY_MODE_PROVIDER: _ClassVar[AuthorityMode]

class Topology(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    TOPOLOGY_UNSPECIFIED: _ClassVar[Topology]
    TOPOLOGY_SINGLE_HOST: _ClassVar[Topology]
    TOPOLOGY_MULTI_HOST: _ClassVar[Topology]

class InspectionOutcome(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    INSPECTION_OUTCOME_UNSPECIFIED: _ClassVar[InspectionOutcome]
    INSPECTION_OUTCOME_COMPLETED: _ClassVar[InspectionOutcome]
    INSPECTION_OUTCOME_NOT_DISPATCHED: _ClassVar[InspectionOutcome]
EXPORT_SECTION_UNSPECIFIED: ExportSection
EXPORT_SECTION_DOCUMENTS: ExportSection
EXPORT_SECTION_RECEIPTS: ExportSection
AUTHORITY_MODE_UNSPECIFIED: AuthorityMode
AUTHORITY_MODE_HOST_JOURNAL: AuthorityMode
AUTHORITY_MODE_PROVIDER: AuthorityMode
TOPOLOGY_UNSPECIFIED: Topology
TOPOLOGY_SINGLE_HOST: Topology
TOPOLOGY_MULTI_HOST: Topology
INSPECTION_OUTCOME_UNSPECIFIED: InspectionOutcome
INSPECTION_OUTCOME_COMPLETED: InspectionOutcome
INSPECTION_OUTCOME_NOT_DISPATCHED: InspectionOutcome

class Document(_message.Message):
    __slots__ = ("namespace", "key", "value")
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    KEY_FIELD_NUMBER: _ClassVar[int]
    VALUE_FIELD_NUMBER: _ClassVar[int]
    namespace: str
    key: str
    value: _json_pb2.Json
    def __init__(self, namespace: _Optional[str] = ..., key: _Optional[str] = ..., value: _Optional[_Union[_json_pb2.Json, _Mapping]] = ...) -> None: ...

class KeyList(_message.Message):
    __slots__ = ("keys",)
    KEYS_FIELD_NUMBER: _ClassVar[int]
    keys: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, keys: _Optional[_Iterable[str]] = ...) -> None: ...

class ReadRequest(_message.Message):
    __slots__ = ("namespace", "prefix", "keys", "start", "end", "reverse", "limit", "cursor", "at_revision")
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    PREFIX_FIELD_NUMBER: _ClassVar[int]
    KEYS_FIELD_NUMBER: _ClassVar[int]
    START_FIELD_NUMBER: _ClassVar[int]
    END_FIELD_NUMBER: _ClassVar[int]
    REVERSE_FIELD_NUMBER: _ClassVar[int]
    LIMIT_FIELD_NUMBER: _ClassVar[int]
    CURSOR_FIELD_NUMBER: _ClassVar[int]
    AT_REVISION_FIELD_NUMBER: _ClassVar[int]
    namespace: str
    prefix: str
    keys: KeyList
    start: str
    end: str
    reverse: bool
    limit: int
    cursor: str
    at_revision: str
    def __init__(self, namespace: _Optional[str] = ..., prefix: _Optional[str] = ..., keys: _Optional[_Union[KeyList, _Mapping]] = ..., start: _Optional[str] = ..., end: _Optional[str] = ..., reverse: _Optional[bool] = ..., limit: _Optional[int] = ..., cursor: _Optional[str] = ..., at_revision: _Optional[str] = ...) -> None: ...

class ReadResponse(_message.Message):
    __slots__ = ("documents", "revision", "next_cursor")
    DOCUMENTS_FIELD_NUMBER: _ClassVar[int]
    REVISION_FIELD_NUMBER: _ClassVar[int]
    NEXT_CURSOR_FIELD_NUMBER: _ClassVar[int]
    documents: _containers.RepeatedCompositeFieldContainer[Document]
    revision: str
    next_cursor: str
    def __init__(self, documents: _Optional[_Iterable[_Union[Document, _Mapping]]] = ..., revision: _Optional[str] = ..., next_cursor: _Optional[str] = ...) -> None: ...

class CommitRequest(_message.Message):
    __slots__ = ("id", "expected_revision", "writes")
    ID_FIELD_NUMBER: _ClassVar[int]
    EXPECTED_REVISION_FIELD_NUMBER: _ClassVar[int]
    WRITES_FIELD_NUMBER: _ClassVar[int]
    id: str
    expected_revision: str
    writes: _containers.RepeatedCompositeFieldContainer[Write]
    def __init__(self, id: _Optional[str] = ..., expected_revision: _Optional[str] = ..., writes: _Optional[_Iterable[_Union[Write, _Mapping]]] = ...) -> None: ...

class Write(_message.Message):
    __slots__ = ("namespace", "key", "value", "delete")
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    KEY_FIELD_NUMBER: _ClassVar[int]
    VALUE_FIELD_NUMBER: _ClassVar[int]
    DELETE_FIELD_NUMBER: _ClassVar[int]
    namespace: str
    key: str
    value: _json_pb2.Json
    delete: bool
    def __init__(self, namespace: _Optional[str] = ..., key: _Optional[str] = ..., value: _Optional[_Union[_json_pb2.Json, _Mapping]] = ..., delete: _Optional[bool] = ...) -> None: ...

class CommitResponse(_message.Message):
    __slots__ = ("id", "revision", "digest")
    ID_FIELD_NUMBER: _ClassVar[int]
    REVISION_FIELD_NUMBER: _ClassVar[int]
    DIGEST_FIELD_NUMBER: _ClassVar[int]
    id: str
    revision: str
    digest: str
    def __init__(self, id: _Optional[str] = ..., revision: _Optional[str] = ..., digest: _Optional[str] = ...) -> None: ...

class Receipt(_message.Message):
    __slots__ = ("id", "revision", "digest")
    ID_FIELD_NUMBER: _ClassVar[int]
    REVISION_FIELD_NUMBER: _ClassVar[int]
    DIGEST_FIELD_NUMBER: _ClassVar[int]
    id: str
    revision: str
    digest: str
    def __init__(self, id: _Optional[str] = ..., revision: _Optional[str] = ..., digest: _Optional[str] = ...) -> None: ...

class ExportRequest(_message.Message):
    __slots__ = ("page",)
    PAGE_FIELD_NUMBER: _ClassVar[int]
    page: ExportPageRequest
    def __init__(self, page: _Optional[_Union[ExportPageRequest, _Mapping]] = ...) -> None: ...

class ExportPageRequest(_message.Message):
    __slots__ = ("section", "target_bytes", "max_items", "after", "at_revision", "generation")
    SECTION_FIELD_NUMBER: _ClassVar[int]
    TARGET_BYTES_FIELD_NUMBER: _ClassVar[int]
    MAX_ITEMS_FIELD_NUMBER: _ClassVar[int]
    AFTER_FIELD_NUMBER: _ClassVar[int]
    AT_REVISION_FIELD_NUMBER: _ClassVar[int]
    GENERATION_FIELD_NUMBER: _ClassVar[int]
    section: ExportSection
    target_bytes: int
    max_items: int
    after: ExportCursor
    at_revision: str
    generation: str
    def __init__(self, section: _Optional[_Union[ExportSection, str]] = ..., target_bytes: _Optional[int] = ..., max_items: _Optional[int] = ..., after: _Optional[_Union[ExportCursor, _Mapping]] = ..., at_revision: _Optional[str] = ..., generation: _Optional[str] = ...) -> None: ...

class ExportCursor(_message.Message):
    __slots__ = ("namespace", "key", "revision")
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    KEY_FIELD_NUMBER: _ClassVar[int]
    REVISION_FIELD_NUMBER: _ClassVar[int]
    namespace: str
    key: str
    revision: str
    def __init__(self, namespace: _Optional[str] = ..., key: _Optional[str] = ..., revision: _Optional[str] = ...) -> None: ...

class ExportResponse(_message.Message):
    __slots__ = ("format", "revision", "generation", "section", "documents", "receipts", "done")
    FORMAT_FIELD_NUMBER: _ClassVar[int]
    REVISION_FIELD_NUMBER: _ClassVar[int]
    GENERATION_FIELD_NUMBER: _ClassVar[int]
    SECTION_FIELD_NUMBER: _ClassVar[int]
    DOCUMENTS_FIELD_NUMBER: _ClassVar[int]
    RECEIPTS_FIELD_NUMBER: _ClassVar[int]
    DONE_FIELD_NUMBER: _ClassVar[int]
    format: str
    revision: str
    generation: str
    section: ExportSection
    documents: _containers.RepeatedCompositeFieldContainer[Document]
    receipts: _containers.RepeatedCompositeFieldContainer[Receipt]
    done: bool
    def __init__(self, format: _Optional[str] = ..., revision: _Optional[str] = ..., generation: _Optional[str] = ..., section: _Optional[_Union[ExportSection, str]] = ..., documents: _Optional[_Iterable[_Union[Document, _Mapping]]] = ..., receipts: _Optional[_Iterable[_Union[Receipt, _Mapping]]] = ..., done: _Optional[bool] = ...) -> None: ...

class CompactRequest(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class CompactResponse(_message.Message):
    __slots__ = ("revision", "bytes_before", "bytes_after")
    REVISION_FIELD_NUMBER: _ClassVar[int]
    BYTES_BEFORE_FIELD_NUMBER: _ClassVar[int]
    BYTES_AFTER_FIELD_NUMBER: _ClassVar[int]
    revision: str
    bytes_before: int
    bytes_after: int
    def __init__(self, revision: _Optional[str] = ..., bytes_before: _Optional[int] = ..., bytes_after: _Optional[int] = ...) -> None: ...

class ImportRequest(_message.Message):
    __slots__ = ("revision", "documents", "receipts")
    REVISION_FIELD_NUMBER: _ClassVar[int]
    DOCUMENTS_FIELD_NUMBER: _ClassVar[int]
    RECEIPTS_FIELD_NUMBER: _ClassVar[int]
    revision: str
    documents: _containers.RepeatedCompositeFieldContainer[Document]
    receipts: _containers.RepeatedCompositeFieldContainer[Receipt]
    def __init__(self, revision: _Optional[str] = ..., documents: _Optional[_Iterable[_Union[Document, _Mapping]]] = ..., receipts: _Optional[_Iterable[_Union[Receipt, _Mapping]]] = ...) -> None: ...

class ImportResponse(_message.Message):
    __slots__ = ("revision", "documents", "receipts")
    REVISION_FIELD_NUMBER: _ClassVar[int]
    DOCUMENTS_FIELD_NUMBER: _ClassVar[int]
    RECEIPTS_FIELD_NUMBER: _ClassVar[int]
    revision: str
    documents: int
    receipts: int
    def __init__(self, revision: _Optional[str] = ..., documents: _Optional[int] = ..., receipts: _Optional[int] = ...) -> None: ...

class AuthorityRequest(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class AuthorityResponse(_message.Message):
    __slots__ = ("version", "mode", "store_id", "storage_topology", "execution_topology", "coordinator", "cas", "durable_receipts")
    VERSION_FIELD_NUMBER: _ClassVar[int]
    MODE_FIELD_NUMBER: _ClassVar[int]
    STORE_ID_FIELD_NUMBER: _ClassVar[int]
    STORAGE_TOPOLOGY_FIELD_NUMBER: _ClassVar[int]
    EXECUTION_TOPOLOGY_FIELD_NUMBER: _ClassVar[int]
    COORDINATOR_FIELD_NUMBER: _ClassVar[int]
    CAS_FIELD_NUMBER: _ClassVar[int]
    DURABLE_RECEIPTS_FIELD_NUMBER: _ClassVar[int]
    version: int
    mode: AuthorityMode
    store_id: str
    storage_topology: Topology
    execution_topology: Topology
    coordinator: str
    cas: str
    durable_receipts: bool
    def __init__(self, version: _Optional[int] = ..., mode: _Optional[_Union[AuthorityMode, str]] = ..., store_id: _Optional[str] = ..., storage_topology: _Optional[_Union[Topology, str]] = ..., execution_topology: _Optional[_Union[Topology, str]] = ..., coordinator: _Optional[str] = ..., cas: _Optional[str] = ..., durable_receipts: _Optional[bool] = ...) -> None: ...

class AcquireInspectionRequest(_message.Message):
    __slots__ = ("id", "namespaces")
    ID_FIELD_NUMBER: _ClassVar[int]
    NAMESPACES_FIELD_NUMBER: _ClassVar[int]
    id: str
    namespaces: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, id: _Optional[str] = ..., namespaces: _Optional[_Iterable[str]] = ...) -> None: ...

class AcquireInspectionResponse(_message.Message):
    __slots__ = ("id", "namespaces", "revision")
    ID_FIELD_NUMBER: _ClassVar[int]
    NAMESPACES_FIELD_NUMBER: _ClassVar[int]
    REVISION_FIELD_NUMBER: _ClassVar[int]
    id: str
    namespaces: _containers.RepeatedScalarFieldContainer[str]
    revision: str
    def __init__(self, id: _Optional[str] = ..., namespaces: _Optional[_Iterable[str]] = ..., revision: _Optional[str] = ...) -> None: ...

class ReleaseInspectionRequest(_message.Message):
    __slots__ = ("id",)
    ID_FIELD_NUMBER: _ClassVar[int]
    id: str
    def __init__(self, id: _Optional[str] = ...) -> None: ...

class ReleaseInspectionResponse(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class ListInspectionsRequest(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class ListInspectionsResponse(_message.Message):
    __slots__ = ("provider", "inspections")
    PROVIDER_FIELD_NUMBER: _ClassVar[int]
    INSPECTIONS_FIELD_NUMBER: _ClassVar[int]
    provider: str
    inspections: _containers.RepeatedCompositeFieldContainer[Inspection]
    def __init__(self, provider: _Optional[str] = ..., inspections: _Optional[_Iterable[_Union[Inspection, _Mapping]]] = ...) -> None: ...

class Inspection(_message.Message):
    __slots__ = ("id", "owner", "namespaces")
    ID_FIELD_NUMBER: _ClassVar[int]
    OWNER_FIELD_NUMBER: _ClassVar[int]
    NAMESPACES_FIELD_NUMBER: _ClassVar[int]
    id: str
    owner: str
    namespaces: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, id: _Optional[str] = ..., owner: _Optional[str] = ..., namespaces: _Optional[_Iterable[str]] = ...) -> None: ...

class ReconcileInspectionRequest(_message.Message):
    __slots__ = ("id", "expected_owner", "namespaces", "outcome", "reason")
    ID_FIELD_NUMBER: _ClassVar[int]
    EXPECTED_OWNER_FIELD_NUMBER: _ClassVar[int]
    NAMESPACES_FIELD_NUMBER: _ClassVar[int]
    OUTCOME_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    id: str
    expected_owner: str
    namespaces: _containers.RepeatedScalarFieldContainer[str]
    outcome: InspectionOutcome
    reason: str
    def __init__(self, id: _Optional[str] = ..., expected_owner: _Optional[str] = ..., namespaces: _Optional[_Iterable[str]] = ..., outcome: _Optional[_Union[InspectionOutcome, str]] = ..., reason: _Optional[str] = ...) -> None: ...

class ReconcileInspectionResponse(_message.Message):
    __slots__ = ("id", "owner", "namespaces", "outcome", "reason", "reconciler")
    ID_FIELD_NUMBER: _ClassVar[int]
    OWNER_FIELD_NUMBER: _ClassVar[int]
    NAMESPACES_FIELD_NUMBER: _ClassVar[int]
    OUTCOME_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    RECONCILER_FIELD_NUMBER: _ClassVar[int]
    id: str
    owner: str
    namespaces: _containers.RepeatedScalarFieldContainer[str]
    outcome: InspectionOutcome
    reason: str
    reconciler: str
    def __init__(self, id: _Optional[str] = ..., owner: _Optional[str] = ..., namespaces: _Optional[_Iterable[str]] = ..., outcome: _Optional[_Union[InspectionOutcome, str]] = ..., reason: _Optional[str] = ..., reconciler: _Optional[str] = ...) -> None: ...

class ClaimNamespacesRequest(_message.Message):
    __slots__ = ("namespaces",)
    NAMESPACES_FIELD_NUMBER: _ClassVar[int]
    namespaces: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, namespaces: _Optional[_Iterable[str]] = ...) -> None: ...

class ClaimNamespacesResponse(_message.Message):
    __slots__ = ("namespaces", "revision")
    NAMESPACES_FIELD_NUMBER: _ClassVar[int]
    REVISION_FIELD_NUMBER: _ClassVar[int]
    namespaces: _containers.RepeatedScalarFieldContainer[str]
    revision: str
    def __init__(self, namespaces: _Optional[_Iterable[str]] = ..., revision: _Optional[str] = ...) -> None: ...
