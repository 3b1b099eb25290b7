"""The status with which a relayed call ends: what the provider said, unless only the router may say it."""

from __future__ import annotations

from dataclasses import replace

import grpc

from contract.errors import (
    DETAILS_KEY,
    KERNEL,
    MeshError,
    WireStatus,
    error_info,
    from_rpc_error,
    to_status,
    transport_code,
)
from contract.transport import Metadata
from router.admission.envelope import is_valid, passes
from router.instances.instance import Instance

STATUS_LIMIT = 3 * 1024
"""Bytes that the message and the details of an error may have."""


def passed(metadata: Metadata | None) -> list[tuple[str, str | bytes]]:
    """What a provider's metadata may bring to the caller. What gRPC does not send has no way there."""
    return [(key, value) for key, value in metadata or () if passes(key) and is_valid(key, value)]


async def provider_status(error: grpc.aio.AioRpcError, instance: Instance) -> WireStatus:
    """The status for the caller of a call that ended with an error at the provider."""
    trailers: Metadata = tuple(error.trailing_metadata() or ())
    status = await _status(error, trailers, instance)
    return replace(status, metadata=tuple(passed(trailers)))


async def _status(error: grpc.aio.AioRpcError, trailers: Metadata, instance: Instance) -> WireStatus:
    info = error_info(trailers)
    message = error.details() or ""
    if info is None:
        return await _without_info(error, message, instance)
    if info.domain == KERNEL:
        claimed = f"{instance.module} claimed the kernel's {info.reason}: {message}"
        return to_status(MeshError("host_error", claimed, outcome="unknown"))
    details = next((value for key, value in trailers if key == DETAILS_KEY), b"")
    assert isinstance(details, bytes), "it has an ErrorInfo"
    if len(message.encode()) + len(details) <= STATUS_LIMIT:
        return WireStatus(error.code(), message, details)
    # More would break the limits of metadata on the way to the caller.
    return to_status(from_rpc_error(error), error.code())


async def _without_info(error: grpc.aio.AioRpcError, message: str, instance: Instance) -> WireStatus:
    if error.code() == grpc.StatusCode.UNAVAILABLE:
        return to_status(await instance.obituary(message))
    code = transport_code(error.code(), message)
    said = f"{instance.module}: {message or error.code().name}"
    # A provider that knows nothing of our codes keeps its own gRPC status.
    return to_status(MeshError(code, said, outcome="unknown"), error.code())
