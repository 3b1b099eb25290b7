"""The envelope: what a caller says beside its payload, read without a process."""

from __future__ import annotations

import pytest

from contract.errors import MeshError
from router.admission.envelope import Envelope


def test_metadata_goes_on_as_it_came() -> None:
    metadata: list[tuple[str, str | bytes]] = [
        ("x-plain", "a b~"),
        ("x-raw-bin", b"\x00\xff"),
        ("wuu-service", "a.b@1"),
    ]
    envelope = Envelope.read("/a/B", metadata, None)
    assert envelope.forwarded == metadata[:2]
    assert envelope.service == "a.b@1"


@pytest.mark.parametrize("value", ["\xff", "é", "a\tb", "\x01", b"bytes"])
def test_metadata_that_grpc_does_not_send_is_refused_by_name(value: str | bytes) -> None:
    with pytest.raises(MeshError, match="the value of the metadata x-odd") as refused:
        Envelope.read("/a/B", [("x-odd", value)], None)
    assert (refused.value.code, refused.value.outcome) == ("invalid_request", "not_dispatched")
