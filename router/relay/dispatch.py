"""Dispatch: how an admitted call is sent to its provider."""

from __future__ import annotations

import time
from base64 import b64encode

from contract.context import CONTEXT_KEY
from contract.errors import MeshError
from router.admission.admission import Admitted
from router.relay.http2.field import literal, string
from router.relay.http2.stream import Sink, Stream
from router.relay.request import Request

_TE = literal(b"te", b"trailers")
_METHOD_SCHEME_AUTHORITY = b"\x83\x86\x01" + string(b"localhost")
"""`:method: POST`, `:scheme: http`, and the `:authority` that gRPC uses on a Unix socket."""

_CONTEXT = b"\x10" + string(CONTEXT_KEY.encode())
"""The name of the context, in a literal that no intermediary may index: it is signed for one call."""

_LARGEST_TIMEOUT = 99_999_999
"""gRPC takes eight digits."""

_OVERHEAD = 512
"""Bytes that the fields of our own may have in a header list, the context and the path aside."""


def dispatch(sink: Sink, admitted: Admitted, request: Request) -> Stream:
    """Begins the call at the provider. Raises `limit_exceeded` where that takes less metadata."""
    instance = admitted.route.instance
    context = b64encode(admitted.context).rstrip(b"=")
    path = request.envelope.path.encode("latin-1")
    limit = instance.calls.header_list_limit
    if limit is not None and (total := request.size + len(context) + len(path) + _OVERHEAD) > limit:
        raise MeshError(
            "limit_exceeded",
            f"the metadata has {total} bytes at {instance.module}, which takes {limit}",
            outcome="not_dispatched",
            remedy="Send what is large in the request.",
        )
    deadline = admitted.execution.deadline
    block = b"".join(
        (
            _METHOD_SCHEME_AUTHORITY,
            b"\x04",
            string(path),
            _TE,
            *request.forwarded,
            request.accepts,
            b"" if deadline is None else _timeout(deadline),
            _CONTEXT,
            string(context),
        )
    )
    return instance.calls.open(sink, block)


def _timeout(deadline: float) -> bytes:
    """What is left until a deadline, rounded up: who serves the call is not to end it before we do."""
    left = max(deadline - time.time(), 0.0)
    milliseconds = int(left * 1000) + 1
    if milliseconds <= _LARGEST_TIMEOUT:
        return literal(b"grpc-timeout", b"%dm" % milliseconds)
    return literal(b"grpc-timeout", b"%dS" % min(int(left) + 1, _LARGEST_TIMEOUT))
