"""Method: what admission and the relay have to know of one rpc, read of its declaration once."""

from __future__ import annotations

from dataclasses import dataclass

from wuu.mesh.v1.declaration_pb2 import MethodDescriptor, Shape


@dataclass(frozen=True, slots=True)
class Method:
    """One method of a service. A field of a message takes many times as long to read, on every call."""

    name: str
    """In the contract's own spelling."""
    preparation: bool
    """See `MethodOptions`, and so the next two."""
    cleanup: bool
    journaled: bool
    is_unary: bool
    """One message each way."""
    has_one_answer: bool
    """It is answered with one message."""


def method_of(declared: MethodDescriptor) -> Method:
    """What a declaration says of a method."""
    # One that says nothing of its shape is unary.
    shape = declared.shape or Shape.SHAPE_UNARY
    return Method(
        name=declared.name,
        preparation=declared.preparation,
        cleanup=declared.cleanup,
        journaled=declared.journaled,
        is_unary=shape == Shape.SHAPE_UNARY,
        has_one_answer=shape in (Shape.SHAPE_UNARY, Shape.SHAPE_CLIENT_STREAM),
    )
