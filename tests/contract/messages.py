"""Messages of any type of ours, for Hypothesis: everything that JSON can say of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from google.protobuf.descriptor import Descriptor, FieldDescriptor
from google.protobuf.message import Message
from google.protobuf.message_factory import GetMessageClass
from hypothesis import strategies as st

from contract.transcoder import JSON_MESSAGE
from wuu.mesh.v1 import options_pb2

F = FieldDescriptor

JSON_TEXTS = (b"0", b'"x"', b"[ ]", b'{"b":1, "a":1.0}', b"1e3", b"true", b'"\\u00e9"')
"""JSON whose bytes a parser would change."""

DEPTH = 3
"""How deep messages nest."""

INTEGERS: dict[int, tuple[int, int]] = {
    F.CPPTYPE_INT32: (-(2**31), 2**31 - 1),
    F.CPPTYPE_UINT32: (0, 2**32 - 1),
    F.CPPTYPE_INT64: (-(2**63), 2**63 - 1),
    F.CPPTYPE_UINT64: (0, 2**64 - 1),
}

SAFE = 2**53


def messages(descriptor: Descriptor, depth: int = DEPTH) -> st.SearchStrategy[Message]:
    """Messages of a type, with each field given or not."""
    make: Callable[..., Message] = GetMessageClass(descriptor)
    if descriptor.full_name == JSON_MESSAGE:
        return st.sampled_from(JSON_TEXTS).map(lambda text: make(utf8=text))
    given: dict[str, st.SearchStrategy[Any]] = {}
    for field in descriptor.fields:
        values = _values(field, depth)
        if values is not None:
            given[field.name] = values
    return st.fixed_dictionaries({}, optional=given).map(lambda fields: _with_one_of_each(make, fields))


def _with_one_of_each(make: Callable[..., Message], fields: dict[str, Any]) -> Message:
    # Of a oneof, protobuf keeps the last that is set.
    message = make()
    for name, value in fields.items():
        message.MergeFrom(make(**{name: value}))
    return message


def _values(field: FieldDescriptor, depth: int) -> st.SearchStrategy[Any] | None:
    options: Any = field.GetOptions()
    message = field.message_type
    if message is not None and message.GetOptions().map_entry:
        values = _single(message.fields_by_name["value"], options, depth)
        keys = _single(message.fields_by_name["key"], options, depth)
        return None if values is None or keys is None else st.dictionaries(keys, values, max_size=3)
    single = _single(field, options, depth)
    if field.is_repeated and single is not None:
        return st.lists(single, max_size=3)
    return single


def _single(field: FieldDescriptor, options: Any, depth: int) -> st.SearchStrategy[Any] | None:
    if field.message_type is not None:
        return messages(field.message_type, depth - 1) if depth else None
    if field.enum_type is not None:
        # The zero value says that nothing was given, and has no spelling.
        return st.sampled_from([value.number for value in field.enum_type.values if value.number])
    if field.cpp_type in INTEGERS:
        low, high = INTEGERS[field.cpp_type]
        if not options.Extensions[options_pb2.decimal]:
            low, high = max(low, -SAFE), min(high, SAFE)
        return st.integers(low, high)
    if field.cpp_type == F.CPPTYPE_BOOL:
        return st.booleans()
    if field.cpp_type == F.CPPTYPE_DOUBLE:
        return st.floats(allow_nan=False, allow_infinity=False)
    return st.binary(max_size=8) if field.type == F.TYPE_BYTES else st.text(max_size=8)
