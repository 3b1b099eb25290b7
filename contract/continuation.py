"""Continuation: what both ends call the right to go on with a call. Source: 局部扩展 provider.

`proto/wuu/mesh/v1/continuation.proto` says what it is.
"""

from __future__ import annotations

SERVICE_CONTINUATION = "service.continuation.v1"
"""The host feature that a decorator names to be given continuations, and to use them."""

CONTINUE = "/wuu.mesh.v1.Continuations/Continue"
"""The gRPC path at which the router takes them."""
