"""The status with which a relayed call ends: what the provider said, unless only the router may say it."""

from __future__ import annotations

from base64 import b64encode
from urllib.parse import quote

import grpc

from contract.errors import (
    DETAILS_KEY,
    KERNEL,
    MeshError,
    WireStatus,
    error_info_in,
    stated,
    to_status,
    transport_code,
)
from router.instances.instance import Instance
from router.relay.http2.field import literal
from router.relay.http2.frame import Code
from router.relay.response import Response

STATUS_LIMIT = 3 * 1024
"""Bytes that the message and the details of an error may have."""

Ending = WireStatus | str
"""A status; or what the transport says where only the end of the process tells why."""

BEGUN = b"\x88" + literal(b"content-type", b"application/grpc")
"""The header block before the first message of an answer that the router makes: `:status: 200`."""

SUCCEEDED = literal(b"grpc-status", b"0")
"""The trailers of a call that went well."""


def trailers(status: WireStatus, *, begun: bool, beside: bytes = b"", http: int = 200) -> bytes:
    """The header block that ends a call; `begun` says that one went before its messages."""
    head = b"" if begun else literal(b":status", b"%d" % http) + BEGUN[1:]
    said = (
        (b"grpc-status", b"%d" % status.code.value[0]),
        (b"grpc-message", quote(status.message, safe=_PLAIN).encode()),
        (DETAILS_KEY.encode(), b64encode(status.details).rstrip(b"=")),
    )
    return head + b"".join(literal(name, value) for name, value in said) + beside


def of_response(response: Response, instance: Instance) -> Ending | None:
    """The status in an answer of a provider that is not OK; None where it passes as it stands."""
    code = _CODES[response.status or 0]
    info = error_info_in(response.details) if response.details else None
    if info is None:
        return _without_info(code, response.message, instance)
    if info.domain == KERNEL:
        claimed = f"{instance.module} claimed the kernel's {info.reason}: {response.message}"
        return to_status(MeshError("host_error", claimed, outcome="unknown"))
    if len(response.message.encode()) + len(response.details) <= STATUS_LIMIT:
        return None
    # More would break the limits of metadata on the way to the caller.
    return to_status(stated(info, response.message or code.name), code)


def of_http(response: Response, instance: Instance) -> Ending:
    """The status of an answer that is not one of gRPC. Source: *HTTP to gRPC status code mapping* of gRPC."""
    if response.http == "200":
        said = f"{instance.module} answered with the content-type '{response.content_type}', not gRPC's"
        return to_status(MeshError("protocol_violation", said, outcome="unknown"))
    code = _OF_HTTP.get(response.http, grpc.StatusCode.UNKNOWN)
    return _without_info(code, f"it answered with the HTTP status {response.http}", instance)


def of_reset(code: int, instance: Instance) -> Ending:
    """The status of a call that the provider reset. Source: *Errors* of gRPC over HTTP/2."""
    name = _RESETS.get(code, f"{code:#x}")
    status = _OF_RESET.get(code, grpc.StatusCode.INTERNAL)
    return _without_info(status, f"it reset the call with {name}", instance)


def violation(instance: Instance, what: str) -> WireStatus:
    """The status of a call whose answer breaks the protocol."""
    return to_status(MeshError("protocol_violation", f"{instance.module} {what}", outcome="unknown"))


def _without_info(code: grpc.StatusCode, message: str, instance: Instance) -> Ending:
    if code == grpc.StatusCode.UNAVAILABLE:
        return message
    said = f"{instance.module}: {message or code.name}"
    # A provider that knows nothing of our codes keeps its own gRPC status.
    return to_status(MeshError(transport_code(code, message), said, outcome="unknown"), code)


_PLAIN = "".join(chr(byte) for byte in range(0x20, 0x7F) if chr(byte) != "%")
"""What stands in grpc-message as it is."""

_CODES = {code.value[0]: code for code in grpc.StatusCode}

_RESETS: dict[int, str] = {code: code.name for code in Code}

_OF_HTTP = {
    "400": grpc.StatusCode.INTERNAL,
    "401": grpc.StatusCode.UNAUTHENTICATED,
    "403": grpc.StatusCode.PERMISSION_DENIED,
    "404": grpc.StatusCode.UNIMPLEMENTED,
    "429": grpc.StatusCode.UNAVAILABLE,
    "502": grpc.StatusCode.UNAVAILABLE,
    "503": grpc.StatusCode.UNAVAILABLE,
    "504": grpc.StatusCode.UNAVAILABLE,
}

_OF_RESET: dict[int, grpc.StatusCode] = {
    Code.REFUSED_STREAM: grpc.StatusCode.UNAVAILABLE,
    Code.CANCEL: grpc.StatusCode.CANCELLED,
    Code.ENHANCE_YOUR_CALM: grpc.StatusCode.RESOURCE_EXHAUSTED,
    Code.INADEQUATE_SECURITY: grpc.StatusCode.PERMISSION_DENIED,
}
