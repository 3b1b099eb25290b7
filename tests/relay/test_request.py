"""Request: what a caller says beside its messages, and what becomes of each part of it."""

from __future__ import annotations

import time

import pytest

from contract.errors import MeshError
from router.relay.http2.field import literal
from router.relay.http2.frame import Code, Malformed
from router.relay.request import Unsuitable, read

HEAD = {
    ":method": "POST",
    ":scheme": "http",
    ":path": "/a.v1.B/Call",
    ":authority": "localhost",
    "te": "trailers",
    "content-type": "application/grpc",
}


def block(*more: tuple[str, str], without: str = "", **instead: str) -> bytes:
    """The header block of a call; `instead` goes before what a call has, with `_` for `-`."""
    said = HEAD | {key.replace("_", "-"): value for key, value in instead.items()}
    fields = [(key, value) for key, value in said.items() if key != without]
    return b"".join(literal(key.encode("latin-1"), v.encode("latin-1")) for key, v in [*fields, *more])


def test_metadata_goes_on_in_its_own_bytes_and_the_envelope_does_not() -> None:
    mine = [("x-plain", "a b~"), ("x-raw-bin", "AP8"), ("grpc-encoding", "gzip")]
    routers = [
        ("wuu-service", "a.b@1"),
        ("wuu-token", "secret"),
        ("wuu-made-up", "no"),
        ("grpc-tags-bin", "AA"),
    ]
    transports = [("user-agent", "someone/1"), ("grpc-accept-encoding", "gzip")]
    request = read(block(*mine, *routers, *transports))
    assert request.forwarded == [
        literal(key.encode(), value.encode()) for key, value in [("content-type", "application/grpc"), *mine]
    ]
    assert request.accepts == literal(b"grpc-accept-encoding", b"gzip")
    assert (request.envelope.path, request.envelope.service) == ("/a.v1.B/Call", "a.b@1")
    assert request.envelope.token == "secret"


@pytest.mark.parametrize(
    ("timeout", "seconds"),
    [("2S", 2), ("1500m", 1.5), ("1H", 3600), ("3M", 180), ("4000000u", 4), ("7n", 7e-9)],
)
def test_a_timeout_is_a_deadline(timeout: str, seconds: float) -> None:
    deadline = read(block(("grpc-timeout", timeout))).envelope.deadline
    assert deadline is not None
    assert deadline - time.time() == pytest.approx(seconds, abs=1)
    assert read(block()).envelope.deadline is None


@pytest.mark.parametrize("timeout", ["", "S", "1", "123456789S", "-1S", "1s", "1.5S", "１S"])
def test_a_timeout_that_grpc_does_not_know_is_refused(timeout: str) -> None:
    with pytest.raises(MeshError, match="grpc-timeout") as refused:
        read(block(("grpc-timeout", timeout.encode().decode("latin-1"))))
    assert (refused.value.code, refused.value.outcome) == ("invalid_request", "not_dispatched")


@pytest.mark.parametrize("value", ["\xff", "é", "a\tb", "\x01"])
def test_metadata_that_grpc_does_not_send_is_refused_by_name(value: str) -> None:
    with pytest.raises(MeshError, match="the value of the metadata x-odd") as refused:
        read(block(("x-odd", value)))
    assert (refused.value.code, refused.value.outcome) == ("invalid_request", "not_dispatched")


def test_a_call_whose_te_is_missing_is_refused_with_the_reason() -> None:
    with pytest.raises(MeshError, match="te: trailers") as refused:
        read(block(without="te"))
    assert refused.value.code == "invalid_request"


def test_more_metadata_than_is_taken_is_refused_by_its_size() -> None:
    read(block(("x-large", "x" * 15_000)))
    with pytest.raises(MeshError, match=r"the metadata has 1\d{4} bytes, and 16384 are taken") as refused:
        read(block(("x-large", "x" * 16_384)))
    assert refused.value.code == "limit_exceeded"


@pytest.mark.parametrize(
    ("wrong", "status"),
    [
        ({":method": "GET"}, 405),
        ({"content_type": "application/json"}, 415),
        ({"content_type": ""}, 415),
    ],
)
def test_what_is_no_grpc_call_gets_a_status_of_http(wrong: dict[str, str], status: int) -> None:
    with pytest.raises(Unsuitable) as caught:
        read(block(**wrong))
    assert caught.value.status == status


@pytest.mark.parametrize("missing", [":method", ":scheme", ":path"])
def test_a_request_without_a_pseudo_header_is_malformed(missing: str) -> None:
    with pytest.raises(Malformed):
        read(block(without=missing))


@pytest.mark.parametrize(
    "field",
    [
        ("X-Upper", "a"),
        ("", "a"),
        ("a b", "a"),
        (":path", "/again"),
        (":status", "200"),
        (":made-up", "a"),
        ("connection", "close"),
        ("transfer-encoding", "chunked"),
        ("te", "gzip"),
        ("x-a", "a\r\nb: c"),
        ("content-length", "-1"),
        ("content-length", "many"),
    ],
    ids=str,
)
def test_a_field_that_no_request_has_is_malformed(field: tuple[str, str]) -> None:
    with pytest.raises(Malformed) as caught:
        read(block(field))
    assert caught.value.code == Code.PROTOCOL_ERROR


@pytest.mark.parametrize("field", [":method", ":scheme", ":path", ":authority"])
def test_a_pseudo_header_stands_once_and_before_the_others(field: str) -> None:
    twice = literal(field.encode(), b"/x")
    with pytest.raises(Malformed):
        read(twice + block())
    with pytest.raises(Malformed):
        read(block(without=field) + twice)
