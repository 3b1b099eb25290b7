"""Field: what descriptors and options say about one field of a message."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

from google.protobuf.descriptor import Descriptor, FieldDescriptor
from google.protobuf.message import Message
from google.protobuf.message_factory import GetMessageClass

from wuu.mesh.v1 import options_pb2

JSON_MESSAGE = "wuu.mesh.v1.Json"
"""The message that stands for any JSON, byte for byte."""

SAFE_INTEGER = 2**53
"""The greatest integer that is a JSON number here."""

RANGES = {
    FieldDescriptor.CPPTYPE_INT32: (-(2**31), 2**31 - 1),
    FieldDescriptor.CPPTYPE_UINT32: (0, 2**32 - 1),
    FieldDescriptor.CPPTYPE_INT64: (-(2**63), 2**63 - 1),
    FieldDescriptor.CPPTYPE_UINT64: (0, 2**64 - 1),
}
"""What the integer types hold."""


@dataclass(frozen=True, slots=True)
class Field:
    """What the options say about one field."""

    descriptor: FieldDescriptor
    name: str
    decimal: bool
    nullable: bool
    is_map: bool
    repeated: bool
    message: Descriptor | None
    enum_names: dict[int, str]
    enum_numbers: dict[str, int]
    optional: bool


@cache
def fields(descriptor: Descriptor) -> tuple[Field, ...]:
    return tuple(_field(field) for field in descriptor.fields)


@cache
def by_name(descriptor: Descriptor) -> dict[str, Field]:
    return {field.name: field for field in fields(descriptor)}


@cache
def bare_list(descriptor: Descriptor) -> Field | None:
    options: Any = descriptor.GetOptions()
    if options.Extensions[options_pb2.bare_list]:
        return fields(descriptor)[0]
    return None


@cache
def message_class(descriptor: Descriptor) -> Callable[[], Message]:
    return GetMessageClass(descriptor)


def _field(field: FieldDescriptor) -> Field:
    options: Any = field.GetOptions()
    names: dict[int, str] = {}
    if field.enum_type is not None:
        for value in field.enum_type.values:
            stated: Any = value.GetOptions()
            spelled = stated.Extensions[options_pb2.json_value]
            # The zero value of proto3 means "not given" and has no spelling of its own.
            if spelled or value.number:
                names[value.number] = spelled or value.name
    # protoc derives lowerCamelCase; only an explicit json_name differs from it.
    explicit = field.json_name != _lower_camel(field.name)
    message = field.message_type
    return Field(
        descriptor=field,
        name=field.json_name if explicit else field.name,
        decimal=options.Extensions[options_pb2.decimal],
        nullable=options.Extensions[options_pb2.nullable],
        is_map=message is not None and message.GetOptions().map_entry,
        repeated=field.is_repeated,
        message=message,
        enum_names=names,
        enum_numbers={name: number for number, name in names.items()},
        optional=field.has_presence,
    )


def _lower_camel(name: str) -> str:
    head, *rest = name.split("_")
    return head + "".join(part[:1].upper() + part[1:] for part in rest)


def escape(name: str) -> str:
    """A member name as a part of a JSON pointer."""
    return name.replace("~", "~0").replace("/", "~1")
