"""Delegate: a service of which a module serves some methods, and passes every other on to another provider.

Source: 局部扩展 provider. The module provides and requires the same service, and the operator binds it, as a
consumer, to the provider that it stands in front of.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import aclosing, contextmanager
from typing import Any

from google.protobuf import descriptor_pool

from contract.context import CallContext
from contract.errors import CONTRACT, KERNEL, MeshError
from contract.transport import DYNAMIC
from provider_kit.call import Call
from provider_kit.provided import Handler, Service, dynamic_handler, label, typed_handler
from wuu.mesh.v1.declaration_pb2 import MethodDescriptor, ServiceDescriptor, Shape

Override = Callable[[Any, Call], Any]
"""As the method of a servicer for `Provided`, or of a dynamic service: `(request, call)`."""


def delegate(descriptor: ServiceDescriptor, overrides: Mapping[str, Override]) -> Service:
    """The service `descriptor`, whose methods `overrides` has by name and whose others are passed on.

    `descriptor` is what the module declares: `describe(…)` of a contract, with the optional rpcs that are to
    be passed on, or `describe_dynamic(…)`. The module requires the same service, and the provider that it is
    bound to is its delegate. What is passed on is not parsed and is made once, by the module itself, within
    the execution that it serves: in the same generation, and cancelled with it. What the delegate fails with,
    the call fails with. A method that the delegate does not declare is `method_not_found`.

    An override that fails has failed; the delegate is called where the override calls it, and not otherwise.
    ValueError where `overrides` names a method that the descriptor has not.
    """
    return _Delegate(descriptor, overrides)


class _Delegate:
    def __init__(self, descriptor: ServiceDescriptor, overrides: Mapping[str, Override]) -> None:
        declared = {method.name: method for method in descriptor.methods}
        for name in overrides:
            if name not in declared:
                raise ValueError(f"{descriptor.name} has no method {name}, but {', '.join(declared)}")
        self.descriptor = descriptor
        self._label = label(descriptor)
        self._carrier = descriptor.grpc_service
        self._methods = {
            name: _overriding(self._carrier, method, overrides[name])
            if name in overrides
            else _passing(self._label, self._carrier, method)
            for name, method in declared.items()
        }

    def handler(self, path: str, context: CallContext) -> Handler | None:
        """See `Service`."""
        carried = path.startswith(f"/{self._carrier}/") if self._carrier else path == DYNAMIC
        return self._methods.get(context.method) if carried and context.service == self._label else None


def _overriding(carrier: str, method: MethodDescriptor, serve: Override) -> Handler:
    if carrier:
        # Whoever describes a contract has imported it.
        proto = descriptor_pool.Default().FindServiceByName(carrier)
        own = typed_handler(proto.methods_by_name[method.rpc], serve)
    else:
        own = dynamic_handler(serve)

    async def to_message(request: Any, call: Call) -> bytes:
        with _in_own_name(passed_on=False):
            return await own.serve(request, call)  # type: ignore[no-any-return]

    async def to_stream(request: Any, call: Call) -> AsyncIterator[bytes]:
        with _in_own_name(passed_on=False):
            async with aclosing(own.serve(request, call)) as responses:
                async for response in responses:
                    yield response

    return Handler(own.shape, to_stream if own.shape in _STREAMED else to_message)


def _passing(service: str, carrier: str, method: MethodDescriptor) -> Handler:
    path = f"/{carrier}/{method.rpc}" if carrier else DYNAMIC
    dynamic = "" if carrier else method.name

    async def unary(request: bytes, call: Call) -> bytes:
        with _in_own_name(passed_on=True):
            return await call.mesh.unary(path, request, service=service, method=dynamic)

    async def stream(requests: Any, call: Call) -> AsyncIterator[bytes]:
        with _in_own_name(passed_on=True):
            async with aclosing(call.mesh.stream(path, requests, service=service)) as responses:
                async for response in responses:
                    yield response

    async def gather(requests: AsyncIterator[bytes], call: Call) -> bytes:
        with _in_own_name(passed_on=True):
            return await call.mesh.gather(path, requests, service=service)

    shape = method.shape or Shape.SHAPE_UNARY
    if shape == Shape.SHAPE_UNARY:
        return Handler(shape, unary)
    return Handler(shape, gather if shape == Shape.SHAPE_CLIENT_STREAM else stream)


_STREAMED = (Shape.SHAPE_SERVER_STREAM, Shape.SHAPE_BIDI_STREAM)


@contextmanager
def _in_own_name(*, passed_on: bool) -> Iterator[None]:
    """A refusal of the router stays what it is, and is the module's own word from here on.

    Whether anything was dispatched it knows of the call that was passed on; of an override, which may have
    done more, nobody can say that nothing was.
    """
    try:
        yield
    except MeshError as error:
        if error.domain != KERNEL:
            raise
        own = MeshError(error.code, error.message, domain=CONTRACT)
        own.details.update(error.details)
        if not passed_on and error.outcome == "not_dispatched":
            del own.details["outcome"]
        raise own from None
