"""Health: the wait until an instance serves, by `grpc.health.v1`."""

from __future__ import annotations

import asyncio
import time
from typing import Any

import grpc
from google.protobuf.message import DecodeError
from grpc_health.v1 import health_pb2

from contract.errors import MeshError
from router.instances.instance import Instance

HEALTH_POLL = 0.05
"""Seconds between looks at an instance that listens and does not serve yet."""

_HEALTH = "/grpc.health.v1.Health/Check"


async def serving(instance: Instance) -> None:
    """Returns once the instance reports SERVING."""
    deadline = time.monotonic() + instance.timeout
    while (answer := await _health(instance, deadline - time.monotonic())) != "SERVING":
        if answer == grpc.StatusCode.UNIMPLEMENTED.name:
            raise MeshError(
                "protocol_violation",
                f"{instance.module} does not serve {_HEALTH}{instance.last_words()}",
                remedy="Serve grpc.health.v1.Health and report SERVING for the empty service name.",
            )
        if time.monotonic() + HEALTH_POLL >= deadline:
            late = answer == grpc.StatusCode.DEADLINE_EXCEEDED.name
            did = "did not listen on its socket" if late else f"reported {answer}, not SERVING,"
            raise MeshError(
                "deadline_exceeded",
                f"{instance.module} {did} within {instance.timeout:g} s{instance.last_words()}",
                remedy="Let it listen on the socket of the handshake, or raise `timeout` in its entry.",
            )
        await asyncio.sleep(HEALTH_POLL)


async def _health(instance: Instance, timeout: float) -> str:
    """What the instance reports of itself, or the gRPC status with which it does not."""
    check: Any = instance.channel.unary_stream(_HEALTH)
    call = check(
        health_pb2.HealthCheckRequest().SerializeToString(), timeout=max(timeout, 0.0), wait_for_ready=True
    )
    try:
        response = await call.read()
        if response is grpc.aio.EOF:
            return "nothing"
        status = health_pb2.HealthCheckResponse.FromString(response).status
        return health_pb2.HealthCheckResponse.ServingStatus.Name(status)
    except grpc.aio.AioRpcError as error:
        return error.code().name
    except (DecodeError, ValueError):
        return "no grpc.health.v1.HealthCheckResponse"
    finally:
        if not call.done():
            call.cancel()
