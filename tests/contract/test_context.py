"""The signed context: proven, or refused."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contract.context import CallContext, Phase, sign, verify
from contract.errors import MeshError
from wuu.mesh.v1.context_pb2 import SignedContext

KEY = bytes(range(32))
CONTEXT = CallContext(
    audience="a@1",
    caller="b",
    generation="3",
    execution="e-1",
    phase=Phase.PHASE_ACTIVE,
    service="state.documents@1",
    method="read",
    expires_unix_ms=1_000,
)


def refusal(signed: bytes, *, key: bytes = KEY, audience: str = "a@1", now_ms: float = 999) -> str:
    with pytest.raises(MeshError) as refused:
        verify(signed, key=key, audience=audience, now_ms=now_ms)
    assert refused.value.code == "unauthenticated"
    return refused.value.message


def test_a_context_is_what_was_signed() -> None:
    signed = sign(CONTEXT.SerializeToString(), KEY)
    assert verify(signed, key=KEY, audience="a@1", now_ms=999) == CONTEXT


def test_a_context_under_another_key_is_refused() -> None:
    assert "signature" in refusal(sign(CONTEXT.SerializeToString(), KEY[::-1]))


def test_a_context_for_another_instance_is_refused() -> None:
    assert "another instance" in refusal(sign(CONTEXT.SerializeToString(), KEY), audience="a@2")


def test_a_context_is_refused_once_it_expired() -> None:
    assert "expired" in refusal(sign(CONTEXT.SerializeToString(), KEY), now_ms=1_001)


def test_a_context_without_a_signature_is_refused() -> None:
    assert "signature" in refusal(SignedContext(context=CONTEXT.SerializeToString()).SerializeToString())


@given(place=st.integers(0), flip=st.integers(1, 255))
def test_a_context_is_refused_when_one_byte_was_changed(place: int, flip: int) -> None:
    signed = bytearray(sign(CONTEXT.SerializeToString(), KEY))
    signed[place % len(signed)] ^= flip
    refusal(bytes(signed))


@given(garbage=st.binary())
def test_what_is_not_a_context_is_refused(garbage: bytes) -> None:
    refusal(garbage)
