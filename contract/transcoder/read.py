"""Reading: JSON to a message."""

from __future__ import annotations

import base64
import re
from typing import Any

from google.protobuf.descriptor import Descriptor, FieldDescriptor
from google.protobuf.descriptor import MethodDescriptor as ProtoMethod
from google.protobuf.message import Message

from contract.declaration import method_options
from contract.transcoder.field import (
    JSON_MESSAGE,
    RANGES,
    SAFE_INTEGER,
    Field,
    bare_list,
    by_name,
    escape,
    fields,
    message_class,
)
from contract.transcoder.rejected import Rejected
from contract.transcoder.text import ARRAY, BOOL, FLOAT, INTEGER, STRING, check_text, decode, members

_DECIMAL = re.compile(r"0|-?[1-9][0-9]{0,19}")
_F = FieldDescriptor


def read_message(method: ProtoMethod, descriptor: Descriptor, text: bytes) -> Message:
    """The message that the input or output of a method stands for. Raises `Rejected`."""
    if not method_options(method).positional:
        return to_message(descriptor, text or b"{}")
    check_text(text)
    message = message_class(descriptor)()
    values = decode(ARRAY, text or b"[]", "", "an array of arguments")
    places = sorted(fields(descriptor), key=lambda field: field.descriptor.number)
    if len(values) > len(places):
        raise Rejected("", f"at most {len(places)} arguments")
    for index, value in enumerate(values):
        _set(message, places[index], bytes(value), f"/{index}")
    return message


def to_message(descriptor: Descriptor, text: bytes) -> Message:
    """The message that a JSON object stands for. Raises `Rejected`."""
    check_text(text)
    message = message_class(descriptor)()
    _fill(message, text, "")
    return message


def _fill(message: Message, text: bytes, at: str) -> None:
    descriptor = message.DESCRIPTOR
    known = by_name(descriptor)
    given: set[str] = set()
    for name, value in members(text, at):
        field = known.get(name)
        where = f"{at}/{escape(name)}"
        if field is None:
            names = ", ".join(known) or "none"
            raise Rejected(where, f"{descriptor.name} has no such field; it has {names}")
        given.add(name)
        oneof = field.descriptor.containing_oneof
        if oneof is not None and len(oneof.fields) > 1 and message.WhichOneof(oneof.name):
            raise Rejected(where, f"excludes {message.WhichOneof(oneof.name)}")
        _set(message, field, value, where)
    for field in fields(descriptor):
        if field.nullable and field.name not in given:
            raise Rejected(f"{at}/{escape(field.name)}", "must be present; null where there is no value")


def _set(message: Message, field: Field, value: bytes, at: str) -> None:
    name = field.descriptor.name
    if field.message is not None and field.message.full_name == JSON_MESSAGE and not field.repeated:
        if not (field.nullable and value == b"null"):
            getattr(message, name).utf8 = value
        return
    if value == b"null":
        if field.nullable:
            return
        raise Rejected(at, "must not be null")
    if field.is_map:
        _set_map(message, field, value, at)
    elif field.repeated:
        items = getattr(message, name)
        for index, item in enumerate(decode(ARRAY, value, at, "an array")):
            _append(items, field, bytes(item), f"{at}/{index}")
    elif field.message is not None:
        _set_message(getattr(message, name), value, at)
    else:
        setattr(message, name, _scalar(field, value, at))


def _set_message(message: Message, value: bytes, at: str) -> None:
    message.SetInParent()
    bare = bare_list(message.DESCRIPTOR)
    if message.DESCRIPTOR.full_name == JSON_MESSAGE:
        message.utf8 = value  # type: ignore[attr-defined]
    elif bare is not None:
        _set(message, bare, value, at)
    else:
        _fill(message, value, at)


def _append(items: Any, field: Field, value: bytes, at: str) -> None:
    if field.message is None:
        items.append(_scalar(field, value, at))
    else:
        _set_message(items.add(), value, at)


def _set_map(message: Message, field: Field, value: bytes, at: str) -> None:
    entries = getattr(message, field.descriptor.name)
    assert field.message is not None
    key_field, value_field = fields(field.message)
    for name, item in members(value, at):
        where = f"{at}/{escape(name)}"
        key = _key(key_field, name, where)
        if value_field.message is None:
            entries[key] = _scalar(value_field, item, where)
        else:
            _set_message(entries[key], item, where)


def _key(field: Field, name: str, at: str) -> Any:
    """The key of a map, which JSON spells as a string whatever its type."""
    kind = field.descriptor.cpp_type
    if kind == _F.CPPTYPE_STRING:
        return name
    if kind == _F.CPPTYPE_BOOL:
        if name not in ("true", "false"):
            raise Rejected(at, "the key must be true or false")
        return name == "true"
    if not _DECIMAL.fullmatch(name):
        raise Rejected(at, "the key must be an integer")
    return _in_range(field, int(name), at)


def _scalar(field: Field, value: bytes, at: str) -> Any:
    kind = field.descriptor.cpp_type
    if kind == _F.CPPTYPE_STRING:
        text = decode(STRING, value, at, "a string")
        if field.descriptor.type != _F.TYPE_BYTES:
            return text
        try:
            return base64.b64decode(text, validate=True)
        except ValueError:
            raise Rejected(at, "must be standard base64") from None
    if kind == _F.CPPTYPE_BOOL:
        return decode(BOOL, value, at, "true or false")
    if kind == _F.CPPTYPE_ENUM:
        name = decode(STRING, value, at, "a string")
        if name not in field.enum_numbers:
            raise Rejected(at, f"must be one of {', '.join(field.enum_numbers)}")
        return field.enum_numbers[name]
    if kind in (_F.CPPTYPE_DOUBLE, _F.CPPTYPE_FLOAT):
        return decode(FLOAT, value, at, "a number")
    return _integer(field, value, at)


def _integer(field: Field, value: bytes, at: str) -> int:
    if field.decimal:
        text = decode(STRING, value, at, "a decimal string")
        if not _DECIMAL.fullmatch(text):
            raise Rejected(at, "must be a decimal string")
        number = int(text)
    else:
        number = decode(INTEGER, value, at, "an integer")
        if abs(number) > SAFE_INTEGER:
            raise Rejected(at, "must not be past 2^53")
    return _in_range(field, number, at)


def _in_range(field: Field, number: int, at: str) -> int:
    low, high = RANGES[field.descriptor.cpp_type]
    if not low <= number <= high:
        raise Rejected(at, f"must be from {low} to {high}")
    return number
