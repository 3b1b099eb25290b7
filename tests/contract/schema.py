"""A proto with every kind of field, built by hand, for the transcoder."""

from __future__ import annotations

from typing import Any

from google.protobuf import descriptor_pool
from google.protobuf.descriptor import MethodDescriptor as ProtoMethod
from google.protobuf.descriptor import ServiceDescriptor as ProtoService
from google.protobuf.descriptor_pb2 import DescriptorProto, FieldDescriptorProto, FileDescriptorProto

from wuu.mesh.v1 import json_pb2, options_pb2

F = FieldDescriptorProto


def _field(
    message: DescriptorProto,
    name: str,
    kind: F.Type.ValueType,
    *,
    repeated: bool = False,
    optional: bool = False,
    type_name: str = "",
    json_name: str = "",
    oneof: int | None = None,
    decimal: bool = False,
    nullable: bool = False,
) -> None:
    field = message.field.add(
        name=name,
        number=len(message.field) + 1,
        type=kind,
        label=F.LABEL_REPEATED if repeated else F.LABEL_OPTIONAL,
    )
    if type_name:
        field.type_name = type_name
    if json_name:
        field.json_name = json_name
    if oneof is not None:
        field.oneof_index = oneof
    if optional:
        field.proto3_optional = True
        field.oneof_index = len(message.oneof_decl)
        message.oneof_decl.add(name=f"_{name}")
    options: Any = field.options
    if decimal:
        options.Extensions[options_pb2.decimal] = True
    if nullable:
        options.Extensions[options_pb2.nullable] = True


def _file() -> FileDescriptorProto:
    file = FileDescriptorProto(
        name="test/kinds.proto",
        package="test.kinds.v1",
        syntax="proto3",
        dependency=["wuu/mesh/v1/options.proto", "wuu/mesh/v1/json.proto"],
    )
    colour = file.enum_type.add(name="Colour")
    colour.value.add(name="COLOUR_UNSPECIFIED", number=0)
    for number, spelled in ((1, "deep-red"), (2, "sky-blue")):
        options: Any = colour.value.add(name=f"COLOUR_{number}", number=number).options
        options.Extensions[options_pb2.json_value] = spelled

    inner = file.message_type.add(name="Inner")
    _field(inner, "text", F.TYPE_STRING)

    names = file.message_type.add(name="Names")
    _field(names, "names", F.TYPE_STRING, repeated=True)
    names_options: Any = names.options
    names_options.Extensions[options_pb2.bare_list] = True

    kinds = file.message_type.add(name="Kinds")
    kinds.oneof_decl.add(name="choice")
    _field(kinds, "left", F.TYPE_STRING, oneof=0)
    _field(kinds, "right", F.TYPE_BOOL, oneof=0)
    _field(kinds, "text", F.TYPE_STRING)
    _field(kinds, "maybe_text", F.TYPE_STRING, optional=True)
    _field(kinds, "flag", F.TYPE_BOOL)
    _field(kinds, "small", F.TYPE_INT32)
    _field(kinds, "natural", F.TYPE_UINT32)
    _field(kinds, "large", F.TYPE_INT64)
    _field(kinds, "exact", F.TYPE_INT64, decimal=True)
    _field(kinds, "exact_natural", F.TYPE_UINT64, decimal=True)
    _field(kinds, "real", F.TYPE_DOUBLE)
    _field(kinds, "raw", F.TYPE_BYTES)
    _field(kinds, "colour", F.TYPE_ENUM, type_name=".test.kinds.v1.Colour", optional=True)
    _field(kinds, "inner", F.TYPE_MESSAGE, type_name=".test.kinds.v1.Inner")
    _field(kinds, "inners", F.TYPE_MESSAGE, type_name=".test.kinds.v1.Inner", repeated=True)
    _field(kinds, "numbers", F.TYPE_INT32, repeated=True)
    _field(kinds, "names", F.TYPE_MESSAGE, type_name=".test.kinds.v1.Names")
    _field(kinds, "value", F.TYPE_MESSAGE, type_name=".wuu.mesh.v1.Json")
    _field(kinds, "parent", F.TYPE_STRING, optional=True, nullable=True)
    _field(kinds, "go_cased", F.TYPE_STRING, json_name="GoCased")
    for name, key in (("labels", F.TYPE_STRING), ("shelves", F.TYPE_INT32), ("sides", F.TYPE_BOOL)):
        entry = kinds.nested_type.add(name=f"{name.title()}Entry")
        entry.options.map_entry = True
        _field(entry, "key", key)
        _field(entry, "value", F.TYPE_STRING)
        type_name = f".test.kinds.v1.Kinds.{entry.name}"
        _field(kinds, name, F.TYPE_MESSAGE, type_name=type_name, repeated=True)

    service = file.service.add(name="Service")
    service.method.add(name="Take", input_type=".test.kinds.v1.Kinds", output_type=".test.kinds.v1.Kinds")
    positional = service.method.add(
        name="Place", input_type=".test.kinds.v1.Names", output_type=".test.kinds.v1.Inner"
    )
    method_options: Any = positional.options
    method_options.Extensions[options_pb2.method].positional = True
    return file


def _service() -> ProtoService:
    pool = descriptor_pool.Default()
    assert json_pb2.DESCRIPTOR.package == "wuu.mesh.v1"
    pool.AddSerializedFile(_file().SerializeToString())
    return pool.FindServiceByName("test.kinds.v1.Service")


_SERVICE = _service()

TAKE: ProtoMethod = _SERVICE.methods_by_name["Take"]
"""Kinds to Kinds."""

PLACE: ProtoMethod = _SERVICE.methods_by_name["Place"]
"""Names to Inner, positional."""
