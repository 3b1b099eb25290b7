"""The gRPC service of the suite. `../README.md` says what each rpc does."""

from __future__ import annotations

import msgspec

from wuu.mesh.v1.declaration_pb2 import Shape

WIRE = "interop.v1.Wire"
"""The gRPC service: of every provider the same, so that only `wuu-service` tells them apart."""

SHAPES = {
    "Unary": Shape.SHAPE_UNARY,
    "Press": Shape.SHAPE_UNARY,
    "Fail": Shape.SHAPE_UNARY,
    "See": Shape.SHAPE_UNARY,
    "Hang": Shape.SHAPE_UNARY,
    "Watch": Shape.SHAPE_UNARY,
    "Meet": Shape.SHAPE_UNARY,
    "Gather": Shape.SHAPE_CLIENT_STREAM,
    "First": Shape.SHAPE_CLIENT_STREAM,
    "Scatter": Shape.SHAPE_SERVER_STREAM,
    "Break": Shape.SHAPE_SERVER_STREAM,
    "Both": Shape.SHAPE_BIDI_STREAM,
    "Linger": Shape.SHAPE_BIDI_STREAM,
}
"""The rpcs."""

INITIAL = (("x-initial", "before"), ("x-initial-bin", b"\x00\xff"))
TRAILING = (("x-trailing", "behind"), ("x-trailing-bin", b"\xff\x00"))
"""What `See` sends beside its answer."""


class Failing(msgspec.Struct):
    """The status that `Fail` and `Break` end with."""

    code: int
    message: str
    details: bytes = b""
    """A `google.rpc.Status`, or nothing."""


class Meeting(msgspec.Struct):
    """How many calls of `Meet` wait for each other."""

    key: str
    count: int


class Seen(msgspec.Struct):
    """What `See` answers."""

    metadata: list[tuple[str, str]]
    timeout_ms: float | None
    """What is left until the deadline that gRPC tells the provider; None: there is none."""


def milliseconds(left: float | None) -> float | None:
    """What is left, out of the seconds that gRPC tells; a library may say centuries for never."""
    return None if left is None or left > 1e9 else left * 1000
