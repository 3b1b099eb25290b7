"""Writing: a message to JSON."""

from __future__ import annotations

import base64
import math
from typing import Any

import msgspec
from google.protobuf.descriptor import Descriptor, FieldDescriptor
from google.protobuf.descriptor import MethodDescriptor as ProtoMethod
from google.protobuf.message import DecodeError, Message

from contract.declaration import method_options
from contract.transcoder.field import (
    JSON_MESSAGE,
    RANGES,
    SAFE_INTEGER,
    Field,
    bare_list,
    escape,
    fields,
    message_class,
)
from contract.transcoder.rejected import Rejected
from contract.transcoder.text import check_json

_F = FieldDescriptor


def write_message(method: ProtoMethod, descriptor: Descriptor, serialized: bytes) -> bytes:
    """The JSON of the serialized input or output of a method. Raises `Rejected`."""
    message: Any = message_class(descriptor)()
    try:
        message.ParseFromString(serialized)
    except DecodeError:
        raise Rejected("", f"not a {descriptor.full_name}") from None
    if not method_options(method).positional:
        return to_json(message)
    out: list[bytes] = [b"["]
    for index, field in enumerate(sorted(fields(descriptor), key=lambda field: field.descriptor.number)):
        if index:
            out.append(b",")
        if not _is_given(message, field):
            out.append(b"null")
        else:
            _write_field(message, field, f"/{index}", out)
    out.append(b"]")
    return b"".join(out)


def to_json(message: Message) -> bytes:
    """The JSON of a message, without white space except inside `Json`. Raises `Rejected`."""
    out: list[bytes] = []
    _write(message, "", out)
    return b"".join(out)


def _write(message: Message, at: str, out: list[bytes]) -> None:
    descriptor = message.DESCRIPTOR
    if descriptor.full_name == JSON_MESSAGE:
        _write_json(message.utf8, at, out)  # type: ignore[attr-defined]
        return
    if bare := bare_list(descriptor):
        _write_field(message, bare, at, out)
        return
    separator = b"{"
    for field in fields(descriptor):
        where = f"{at}/{field.name}"
        if not _is_given(message, field):
            if field.nullable:
                out += (separator, msgspec.json.encode(field.name), b":null")
                separator = b","
            continue
        out += (separator, msgspec.json.encode(field.name), b":")
        separator = b","
        _write_field(message, field, where, out)
    out.append(b"{}" if separator == b"{" else b"}")


def _is_given(message: Message, field: Field) -> bool:
    name = field.descriptor.name
    if field.optional and not message.HasField(name):
        return False
    if field.repeated:
        return True
    if field.message is not None and field.message.full_name == JSON_MESSAGE:
        return bool(getattr(message, name).utf8)
    if field.enum_names:
        # The zero value has no spelling: nothing was given.
        return getattr(message, name) != 0 or 0 in field.enum_names
    return True


def _write_field(message: Message, field: Field, at: str, out: list[bytes]) -> None:
    value = getattr(message, field.descriptor.name)
    if field.is_map:
        assert field.message is not None
        value_field = fields(field.message)[1]
        separator = b"{"
        for key in sorted(value):
            name = str(key).lower() if isinstance(key, bool) else str(key)
            out += (separator, msgspec.json.encode(name), b":")
            separator = b","
            _write_value(value_field, value[key], f"{at}/{escape(name)}", out)
        out.append(b"{}" if separator == b"{" else b"}")
    elif field.repeated:
        out.append(b"[")
        for index, item in enumerate(value):
            if index:
                out.append(b",")
            _write_value(field, item, f"{at}/{index}", out)
        out.append(b"]")
    else:
        _write_value(field, value, at, out)


def _write_value(field: Field, value: Any, at: str, out: list[bytes]) -> None:
    if field.message is not None:
        _write(value, at, out)
        return
    kind = field.descriptor.cpp_type
    if kind == _F.CPPTYPE_ENUM:
        if value not in field.enum_names:
            raise Rejected(at, f"{value} is no value of {field.descriptor.full_name}")
        value = field.enum_names[value]
    elif field.descriptor.type == _F.TYPE_BYTES:
        value = base64.b64encode(value).decode()
    elif kind in RANGES:
        if field.decimal:
            value = str(value)
        elif abs(value) > SAFE_INTEGER:
            raise Rejected(at, f"{value} is past 2^53")
    elif kind in (_F.CPPTYPE_DOUBLE, _F.CPPTYPE_FLOAT) and not math.isfinite(value):
        raise Rejected(at, f"{value} is not a JSON number")
    out.append(msgspec.json.encode(value))


def _write_json(text: bytes, at: str, out: list[bytes]) -> None:
    if not text:
        out.append(b"null")
        return
    try:
        check_json(text)
    except Rejected as rejected:
        raise Rejected(at, f"not JSON: {rejected.rule}") from None
    out.append(text)
