"""JSON ⇄ protobuf, from descriptors alone. The only place where the two meet: the bridge and the CLI.

Rules (design, *JSON at the edge*): field names as they stand, or their explicit `json_name`; enums by
`json_value`; oneofs flatten; bytes are standard base64; 64-bit integers are numbers up to 2^53 unless they
are `decimal`, then strings; `nullable` fields are always present; a message that is a `bare_list` is its
array; `Json` is spliced byte for byte. Nothing unknown passes.
"""

from __future__ import annotations

import base64
import binascii
import math
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

import msgspec
from google.protobuf.descriptor import Descriptor, FieldDescriptor
from google.protobuf.descriptor import MethodDescriptor as ProtoMethod
from google.protobuf.message import DecodeError, Message
from google.protobuf.message_factory import GetMessageClass

from contract.declaration import method_options
from contract.errors import MeshError
from wuu.mesh.v1 import options_pb2

JSON_MESSAGE = "wuu.mesh.v1.Json"

_SAFE_INTEGER = 2**53
_DECIMAL = re.compile(r"0|-?[1-9][0-9]{0,19}")
_F = FieldDescriptor
_RANGES = {
    _F.CPPTYPE_INT32: (-(2**31), 2**31 - 1),
    _F.CPPTYPE_UINT32: (0, 2**32 - 1),
    _F.CPPTYPE_INT64: (-(2**63), 2**63 - 1),
    _F.CPPTYPE_UINT64: (0, 2**64 - 1),
}


class Rejected(ValueError):
    """JSON or a message that the contract does not know, and where."""

    def __init__(self, pointer: str, rule: str) -> None:
        super().__init__(f"{pointer or '/'}: {rule}")
        self.pointer = pointer
        self.rule = rule


def request_from_json(method: ProtoMethod, params: bytes) -> bytes:
    """The serialized request of an rpc. Empty `params` are `{}`, or `[]` for a positional method.

    Raises `invalid_params` with a JSON pointer.
    """
    try:
        return _parse(method, method.input_type, params).SerializeToString()
    except Rejected as rejected:
        raise MeshError("invalid_params", str(rejected), pointer=rejected.pointer) from None


def response_from_json(method: ProtoMethod, result: bytes) -> bytes:
    """The serialized response of an rpc that a plugin answered in JSON. Raises `protocol_violation`."""
    try:
        return _parse(method, method.output_type, result).SerializeToString()
    except Rejected as rejected:
        raise MeshError("protocol_violation", f"result: {rejected}", pointer=rejected.pointer) from None


def request_to_json(method: ProtoMethod, request: bytes) -> bytes:
    """The JSON of a serialized request. Raises `invalid_params`."""
    try:
        return _print(method, method.input_type, request)
    except Rejected as rejected:
        raise MeshError("invalid_params", str(rejected), pointer=rejected.pointer) from None


def response_to_json(method: ProtoMethod, response: bytes) -> bytes:
    """The JSON of a serialized response. Raises `protocol_violation`."""
    try:
        return _print(method, method.output_type, response)
    except Rejected as rejected:
        raise MeshError("protocol_violation", f"result: {rejected}", pointer=rejected.pointer) from None


def to_message(descriptor: Descriptor, text: bytes) -> Message:
    """The message that a JSON object stands for. Raises `Rejected`."""
    _check_text(text)
    message = _message_class(descriptor)()
    _fill(message, text, "")
    return message


def to_json(message: Message) -> bytes:
    """The JSON of a message, without white space except inside `Json`. Raises `Rejected`."""
    out: list[bytes] = []
    _write_message(message, "", out)
    return b"".join(out)


def check_json(text: bytes) -> None:
    """Raises `Rejected` unless `text` is one well-formed JSON text in UTF-8."""
    _check_text(text)
    try:
        _RAW.decode(text)
    except msgspec.MsgspecError as malformed:
        raise Rejected("", _words(malformed)) from None
    except RecursionError:
        raise Rejected("", "nested too deeply") from None


# --- JSON to message ----------------------------------------------------------------------------------


class _Key:
    """A member name that equals only itself, so that duplicate names survive into the dict."""

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name


def _key(_: type, name: Any) -> _Key:
    return _Key(name)


_OBJECT = msgspec.json.Decoder(dict[_Key, msgspec.Raw], dec_hook=_key)
_ARRAY = msgspec.json.Decoder(list[msgspec.Raw])
_RAW = msgspec.json.Decoder(msgspec.Raw)
_STRING = msgspec.json.Decoder(str)
_INTEGER = msgspec.json.Decoder(int)
_FLOAT = msgspec.json.Decoder(float)
_BOOL = msgspec.json.Decoder(bool)


@dataclass(frozen=True, slots=True)
class _Field:
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
def _fields(descriptor: Descriptor) -> tuple[_Field, ...]:
    return tuple(_field(field) for field in descriptor.fields)


@cache
def _by_name(descriptor: Descriptor) -> dict[str, _Field]:
    return {field.name: field for field in _fields(descriptor)}


@cache
def _bare_list(descriptor: Descriptor) -> _Field | None:
    options: Any = descriptor.GetOptions()
    if options.Extensions[options_pb2.bare_list]:
        return _fields(descriptor)[0]
    return None


@cache
def _message_class(descriptor: Descriptor) -> Callable[[], Message]:
    return GetMessageClass(descriptor)


def _field(field: FieldDescriptor) -> _Field:
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
    return _Field(
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


def _check_text(text: bytes) -> None:
    try:
        text.decode("utf-8")
    except UnicodeDecodeError as wrong:
        raise Rejected("", f"not UTF-8 at byte {wrong.start}") from None


def _parse(method: ProtoMethod, descriptor: Descriptor, text: bytes) -> Message:
    if not method_options(method).positional:
        return to_message(descriptor, text or b"{}")
    _check_text(text)
    message = _message_class(descriptor)()
    values = _decode(_ARRAY, text or b"[]", "", "an array of arguments")
    fields = sorted(_fields(descriptor), key=lambda field: field.descriptor.number)
    if len(values) > len(fields):
        raise Rejected("", f"at most {len(fields)} arguments")
    for index, value in enumerate(values):
        _set(message, fields[index], bytes(value), f"/{index}")
    return message


def _decode(decoder: msgspec.json.Decoder[Any], text: bytes, at: str, expected: str) -> Any:
    try:
        return decoder.decode(text)
    except msgspec.ValidationError:
        raise Rejected(at, f"must be {expected}") from None
    except msgspec.MsgspecError as malformed:
        raise Rejected(at, _words(malformed)) from None
    except RecursionError:
        raise Rejected(at, "nested too deeply") from None


def _words(malformed: msgspec.MsgspecError) -> str:
    # What the decoder says of a surrogate whose other half is missing, or is none.
    words = str(malformed)
    if words == "Input data was truncated" or "surrogate" in words or "hex escape" in words:
        return f"cut off, or a lone surrogate ({words})"
    return words


def _members(text: bytes, at: str) -> Iterator[tuple[str, bytes]]:
    seen: set[str] = set()
    for key, value in _decode(_OBJECT, text, at, "an object").items():
        if key.name in seen:
            raise Rejected(f"{at}/{_escape(key.name)}", "appears twice")
        seen.add(key.name)
        yield key.name, bytes(value)


def _fill(message: Message, text: bytes, at: str) -> None:
    descriptor = message.DESCRIPTOR
    known = _by_name(descriptor)
    given: set[str] = set()
    for name, value in _members(text, at):
        field = known.get(name)
        where = f"{at}/{_escape(name)}"
        if field is None:
            names = ", ".join(known) or "none"
            raise Rejected(where, f"{descriptor.name} has no such field; it has {names}")
        given.add(name)
        oneof = field.descriptor.containing_oneof
        if oneof is not None and len(oneof.fields) > 1 and message.WhichOneof(oneof.name):
            raise Rejected(where, f"excludes {message.WhichOneof(oneof.name)}")
        _set(message, field, value, where)
    for field in _fields(descriptor):
        if field.nullable and field.name not in given:
            raise Rejected(f"{at}/{_escape(field.name)}", "must be present; null where there is no value")


def _set(message: Message, field: _Field, value: bytes, at: str) -> None:
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
        for index, item in enumerate(_decode(_ARRAY, value, at, "an array")):
            _append(items, field, bytes(item), f"{at}/{index}")
    elif field.message is not None:
        _set_message(getattr(message, name), value, at)
    else:
        setattr(message, name, _scalar(field, value, at))


def _set_message(message: Message, value: bytes, at: str) -> None:
    message.SetInParent()
    bare = _bare_list(message.DESCRIPTOR)
    if message.DESCRIPTOR.full_name == JSON_MESSAGE:
        message.utf8 = value  # type: ignore[attr-defined]
    elif bare is not None:
        _set(message, bare, value, at)
    else:
        _fill(message, value, at)


def _append(items: Any, field: _Field, value: bytes, at: str) -> None:
    if field.message is None:
        items.append(_scalar(field, value, at))
    else:
        _set_message(items.add(), value, at)


def _set_map(message: Message, field: _Field, value: bytes, at: str) -> None:
    entries = getattr(message, field.descriptor.name)
    assert field.message is not None
    value_field = _fields(field.message)[1]
    for name, item in _members(value, at):
        where = f"{at}/{_escape(name)}"
        if value_field.message is None:
            entries[name] = _scalar(value_field, item, where)
        else:
            _set_message(entries[name], item, where)


def _scalar(field: _Field, value: bytes, at: str) -> Any:
    kind = field.descriptor.cpp_type
    if kind == _F.CPPTYPE_STRING:
        text = _decode(_STRING, value, at, "a string")
        if field.descriptor.type != _F.TYPE_BYTES:
            return text
        try:
            return base64.b64decode(text, validate=True)
        except binascii.Error:
            raise Rejected(at, "must be standard base64") from None
    if kind == _F.CPPTYPE_BOOL:
        return _decode(_BOOL, value, at, "true or false")
    if kind == _F.CPPTYPE_ENUM:
        name = _decode(_STRING, value, at, "a string")
        if name not in field.enum_numbers:
            raise Rejected(at, f"must be one of {', '.join(field.enum_numbers)}")
        return field.enum_numbers[name]
    if kind in (_F.CPPTYPE_DOUBLE, _F.CPPTYPE_FLOAT):
        return _decode(_FLOAT, value, at, "a number")
    return _integer(field, value, at)


def _integer(field: _Field, value: bytes, at: str) -> int:
    if field.decimal:
        text = _decode(_STRING, value, at, "a decimal string")
        if not _DECIMAL.fullmatch(text):
            raise Rejected(at, "must be a decimal string")
        number = int(text)
    else:
        number = _decode(_INTEGER, value, at, "an integer")
        if abs(number) > _SAFE_INTEGER:
            raise Rejected(at, "must not be past 2^53")
    low, high = _RANGES[field.descriptor.cpp_type]
    if not low <= number <= high:
        raise Rejected(at, f"must be from {low} to {high}")
    return number


# --- message to JSON ----------------------------------------------------------------------------------


def _print(method: ProtoMethod, descriptor: Descriptor, serialized: bytes) -> bytes:
    message: Any = _message_class(descriptor)()
    try:
        message.ParseFromString(serialized)
    except DecodeError:
        raise Rejected("", f"not a {descriptor.full_name}") from None
    if not method_options(method).positional:
        return to_json(message)
    out: list[bytes] = [b"["]
    for index, field in enumerate(sorted(_fields(descriptor), key=lambda field: field.descriptor.number)):
        if index:
            out.append(b",")
        if not _is_given(message, field):
            out.append(b"null")
        else:
            _write_field(message, field, f"/{index}", out)
    out.append(b"]")
    return b"".join(out)


def _write_message(message: Message, at: str, out: list[bytes]) -> None:
    descriptor = message.DESCRIPTOR
    if descriptor.full_name == JSON_MESSAGE:
        _write_json(message.utf8, at, out)  # type: ignore[attr-defined]
        return
    if bare := _bare_list(descriptor):
        _write_field(message, bare, at, out)
        return
    separator = b"{"
    for field in _fields(descriptor):
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


def _is_given(message: Message, field: _Field) -> bool:
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


def _write_field(message: Message, field: _Field, at: str, out: list[bytes]) -> None:
    value = getattr(message, field.descriptor.name)
    if field.is_map:
        assert field.message is not None
        value_field = _fields(field.message)[1]
        separator = b"{"
        for key in sorted(value):
            out += (separator, msgspec.json.encode(str(key)), b":")
            separator = b","
            _write_value(value_field, value[key], f"{at}/{_escape(str(key))}", out)
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


def _write_value(field: _Field, value: Any, at: str, out: list[bytes]) -> None:
    if field.message is not None:
        _write_message(value, at, out)
        return
    kind = field.descriptor.cpp_type
    if kind == _F.CPPTYPE_ENUM:
        if value not in field.enum_names:
            raise Rejected(at, f"{value} is no value of {field.descriptor.full_name}")
        value = field.enum_names[value]
    elif field.descriptor.type == _F.TYPE_BYTES:
        value = base64.b64encode(value).decode()
    elif kind in _RANGES:
        if field.decimal:
            value = str(value)
        elif abs(value) > _SAFE_INTEGER:
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


def _escape(name: str) -> str:
    return name.replace("~", "~0").replace("/", "~1")
