"""Continuations: which calls a plugin serves that it may go on with, and what carries them.

Source: the plugin wire, `host.service.continue`.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from google.protobuf.descriptor import MethodDescriptor as ProtoMethod

from contract.context import CallContext


class Continuations:
    """The calls of one plugin that carry a continuation. The router decides what may be done with it."""

    def __init__(self) -> None:
        self._carriers: dict[str, ProtoMethod | None] = {}

    @contextmanager
    def serving(self, context: CallContext, carrier: ProtoMethod | None) -> Iterator[None]:
        """While the plugin serves a call, over an rpc or, None, the dynamic carrier."""
        if not context.continuation:
            yield
            return
        self._carriers[context.execution] = carrier
        try:
            yield
        finally:
            del self._carriers[context.execution]

    def carrier(self, execution: str) -> ProtoMethod | None:
        """The rpc that carries the call of an execution; None for a dynamic one, or where there is none."""
        return self._carriers.get(execution)
