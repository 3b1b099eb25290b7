"""JSON ⇄ protobuf, from descriptors alone. The only place where the two meet: the bridge and the CLI.

Rules (design, *JSON at the edge*): field names as they stand, or their explicit `json_name`; enums by
`json_value`; oneofs flatten; bytes are standard base64; 64-bit integers are numbers up to 2^53 unless they
are `decimal`, then strings; `nullable` fields are always present; a message that is a `bare_list` is its
array; `Json` is spliced byte for byte. Nothing unknown passes.
"""

from __future__ import annotations

from google.protobuf.descriptor import MethodDescriptor as ProtoMethod

from contract.errors import MeshError
from contract.transcoder.field import JSON_MESSAGE
from contract.transcoder.read import read_message, to_message
from contract.transcoder.rejected import Rejected
from contract.transcoder.text import check_json
from contract.transcoder.write import to_json, write_message

__all__ = [
    "JSON_MESSAGE",
    "Rejected",
    "check_json",
    "request_from_json",
    "request_to_json",
    "response_from_json",
    "response_to_json",
    "to_json",
    "to_message",
]


def request_from_json(method: ProtoMethod, params: bytes) -> bytes:
    """The serialized request of an rpc. Empty `params` are `{}`, or `[]` for a positional method.

    Raises `invalid_params` with a JSON pointer.
    """
    try:
        return read_message(method, method.input_type, params).SerializeToString()
    except Rejected as rejected:
        raise MeshError("invalid_params", str(rejected), pointer=rejected.pointer) from None


def response_from_json(method: ProtoMethod, result: bytes) -> bytes:
    """The serialized response of an rpc that a plugin answered in JSON. Raises `protocol_violation`."""
    try:
        return read_message(method, method.output_type, result).SerializeToString()
    except Rejected as rejected:
        raise MeshError("protocol_violation", f"result: {rejected}", pointer=rejected.pointer) from None


def request_to_json(method: ProtoMethod, request: bytes) -> bytes:
    """The JSON of a serialized request. Raises `invalid_params`."""
    try:
        return write_message(method, method.input_type, request)
    except Rejected as rejected:
        raise MeshError("invalid_params", str(rejected), pointer=rejected.pointer) from None


def response_to_json(method: ProtoMethod, response: bytes) -> bytes:
    """The JSON of a serialized response. Raises `protocol_violation`."""
    try:
        return write_message(method, method.output_type, response)
    except Rejected as rejected:
        raise MeshError("protocol_violation", f"result: {rejected}", pointer=rejected.pointer) from None
