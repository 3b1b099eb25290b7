"""Shapes: how a path is relayed, whoever declares it."""

from __future__ import annotations

from contract.transport import DYNAMIC
from router.generations.shapes import Shapes
from wuu.mesh.v1.declaration_pb2 import Declaration, MethodDescriptor, ServiceDescriptor, Shape


def declaring(grpc_service: str, rpc: str, shape: Shape) -> Declaration:
    methods = [MethodDescriptor(name="method", rpc=rpc, shape=shape)]
    service = ServiceDescriptor(name="a.b", version="1.0.0", grpc_service=grpc_service, methods=methods)
    return Declaration(provided_services=[service])


def test_a_path_has_the_shape_that_is_declared() -> None:
    shapes = Shapes()
    shapes.learn(declaring("a.B", "Watch", Shape.SHAPE_SERVER_STREAM))
    shapes.learn(declaring("a.B", "Plain", Shape.SHAPE_UNSPECIFIED))
    assert shapes.of("/a.B/Watch") == Shape.SHAPE_SERVER_STREAM
    assert shapes.of("/a.B/Plain") == Shape.SHAPE_UNARY
    assert shapes.of("/a.B/Other") is None


def test_modules_that_differ_about_a_path_do_not_break_each_other() -> None:
    shapes = Shapes()
    for shape in (Shape.SHAPE_UNARY, Shape.SHAPE_SERVER_STREAM, Shape.SHAPE_UNARY):
        shapes.learn(declaring("a.B", "Call", shape))
    assert shapes.of("/a.B/Call") == Shape.SHAPE_BIDI_STREAM


def test_no_module_changes_the_carrier_of_the_others() -> None:
    shapes = Shapes()
    shapes.learn(declaring("wuu.mesh.v1.Dynamic", "Invoke", Shape.SHAPE_BIDI_STREAM))
    shapes.learn(declaring("", "", Shape.SHAPE_BIDI_STREAM))
    assert shapes.of(DYNAMIC) == Shape.SHAPE_UNARY
    assert shapes.of("//") is None
    assert shapes.of("/wuu.mesh.v1.Contributions/ExecuteTool") == Shape.SHAPE_UNARY
