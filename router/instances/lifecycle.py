"""The router's calls of `wuu.mesh.v1.Lifecycle`, each signed and bounded."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import TypeVar

import grpc
from google.protobuf.message import DecodeError, Message

from contract.context import CONTEXT_KEY, ROUTER, CallContext, sign
from contract.continuation import SERVICE_CONTINUATION
from contract.declaration import LIFECYCLE_SERVICE, LIFECYCLE_VERSION, check_declaration
from contract.errors import MeshError, error_info, from_rpc_error
from contract.transport import unary
from router.instances.instance import Instance
from wuu.mesh.v1.lifecycle_pb2 import (
    ActivateRequest,
    ActivateResponse,
    Binding,
    InitializeRequest,
    InitializeResponse,
    PrepareRequest,
    PrepareResponse,
    ServiceChangedRequest,
    ServiceChangedResponse,
    ShutdownRequest,
    ShutdownResponse,
)

Answer = TypeVar("Answer", bound=Message)

HOST_FEATURES: tuple[str, ...] = (SERVICE_CONTINUATION,)
"""The host features on offer."""

SHUTDOWN_TIMEOUT = 2.0
"""Seconds that an instance has to answer shutdown."""

_RPCS: dict[type[Message], tuple[str, str]] = {
    InitializeRequest: ("Initialize", "initialize"),
    PrepareRequest: ("Prepare", "prepare"),
    ActivateRequest: ("Activate", "activate"),
    ServiceChangedRequest: ("ServiceChanged", "service-changed"),
    ShutdownRequest: ("Shutdown", "shutdown"),
}


async def initialize(instance: Instance, request: InitializeRequest) -> None:
    """Asks for the declaration and the host features, checks them and keeps them.

    Raises `protocol_violation` for an older lifecycle, a feature that was not on offer, or a declaration that
    breaks a rule; otherwise what the instance answered.
    """
    response = await _call(instance, request, InitializeResponse, instance.timeout)
    if response.lifecycle_version != LIFECYCLE_VERSION:
        raise MeshError(
            "protocol_violation",
            f"{instance.module} speaks lifecycle {response.lifecycle_version}, not {LIFECYCLE_VERSION}",
            remedy="Move reads of persisted state from initialize to prepare and answer lifecycle_version 2.",
        )
    for feature in response.required_host_features:
        if feature not in request.host_features:
            raise MeshError(
                "protocol_violation",
                f"{instance.module} requires the host feature {feature}, which this host does not offer",
                remedy="Use a version of the mesh that offers it.",
            )
    check_declaration(response.declaration)
    instance.declare(response.declaration, response.required_host_features)


async def prepare(instance: Instance, bindings: Sequence[Binding]) -> None:
    """Lets the instance read and validate its state."""
    await _call(instance, PrepareRequest(bindings=bindings), PrepareResponse, instance.timeout)


async def activate(instance: Instance) -> None:
    """Lets effects begin."""
    await _call(instance, ActivateRequest(), ActivateResponse, instance.timeout)


async def service_changed(instance: Instance, change: ServiceChangedRequest) -> None:
    """Tells a consumer that a bound service is gone, or back."""
    await _call(instance, change, ServiceChangedResponse, instance.timeout)


async def shutdown(instance: Instance, timeout: float) -> None:
    """Lets the instance release what it holds."""
    await _call(instance, ShutdownRequest(), ShutdownResponse, timeout)


async def _call(instance: Instance, request: Message, answer: type[Answer], timeout: float) -> Answer:
    rpc, method = _RPCS[type(request)]
    now = time.time()
    context = CallContext(
        audience=instance.id,
        caller=ROUTER,
        generation=instance.generation.id if instance.generation else "",
        phase=instance.phase,
        service=LIFECYCLE_SERVICE,
        method=method,
        deadline_unix_ms=round((now + timeout) * 1000),
        expires_unix_ms=round((now + timeout) * 1000),
    )
    signed = sign(context.SerializeToString(), instance.key)
    path = f"/wuu.mesh.v1.Lifecycle/{rpc}"
    try:
        answered = await unary(
            instance.channel, path, request.SerializeToString(), ((CONTEXT_KEY, signed),), timeout
        )
        return answer.FromString(answered)
    except grpc.aio.AioRpcError as error:
        raise await _failure(instance, error, method, timeout) from None
    except DecodeError:
        raise MeshError("protocol_violation", f"{method}: not a {answer.DESCRIPTOR.name}") from None


async def _failure(instance: Instance, error: grpc.aio.AioRpcError, method: str, timeout: float) -> MeshError:
    answered = from_rpc_error(error)
    if error_info(tuple(error.trailing_metadata() or ())) is None:
        if error.code() == grpc.StatusCode.UNAVAILABLE:
            return await instance.obituary(answered.message)
        if error.code() == grpc.StatusCode.DEADLINE_EXCEEDED:
            return MeshError(
                "deadline_exceeded",
                f"{instance.module} did not answer {method} within {timeout:g} s{instance.last_words()}",
                remedy=f"Raise `timeout` in its entry, or see `wuu-mesh logs {instance.module}`.",
            )
    return answered.saying(f"{method}: {answered.message}")
