"""A provider that is written without the kit, from the handshake to the end of its lifeline."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import grpc
from grpc_health.v1 import health, health_pb2, health_pb2_grpc

from contract.handshake import Handshake
from provider_kit.program import lifeline

UNLIMITED = (("grpc.max_receive_message_length", -1), ("grpc.max_send_message_length", -1))
"""Without a limit of its own: the router is what keeps messages in bounds."""


async def agree(_: bytes, __: Any) -> bytes:
    """A step of the lifecycle that does nothing."""
    return b""


async def serve(
    handshake: Handshake,
    initialize: Any,
    services: Mapping[str, Mapping[str, Any]],
    steps: Mapping[str, Any] | None = None,
) -> None:
    """Serves the lifecycle and the rpc handlers of gRPC services by name, until the lifeline ends.

    `steps` are those of the lifecycle that do something, by rpc.
    """
    agreed = dict.fromkeys(("Prepare", "Activate", "ServiceChanged", "Shutdown"), agree)
    lifecycle: dict[str, Any] = {
        step: grpc.unary_unary_rpc_method_handler(takes)
        for step, takes in {**agreed, **(steps or {}), "Initialize": initialize}.items()
    }
    server = grpc.aio.server(options=UNLIMITED)
    server.add_generic_rpc_handlers(
        tuple(
            grpc.method_handlers_generic_handler(service, dict(rpcs))
            for service, rpcs in {"wuu.mesh.v1.Lifecycle": lifecycle, **services}.items()
        )
    )
    healthy = health.aio.HealthServicer()
    health_pb2_grpc.add_HealthServicer_to_server(healthy, server)
    server.add_insecure_port(f"unix:{handshake.listen}")
    await server.start()
    await healthy.set("", health_pb2.HealthCheckResponse.SERVING)
    await lifeline()
    await server.stop(0.2)
