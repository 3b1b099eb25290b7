"""Errors: one table, and statuses that fit into metadata."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import grpc
import pytest
from google.rpc import error_details_pb2, status_pb2
from grpc_status import rpc_status
from hypothesis import given
from hypothesis import strategies as st

from contract.errors import (
    CODES,
    CONTRACT,
    DETAILS_KEY,
    KERNEL,
    PROVIDER_CODES,
    MeshError,
    clip,
    error_info,
    from_rpc_error,
    of_provider,
    table_markdown,
    to_status,
)

STATUS_LIMIT = 3 * 1024


def raised(error: MeshError) -> grpc.aio.AioRpcError:
    status = to_status(error)
    return grpc.aio.AioRpcError(
        status.code, grpc.aio.Metadata(), grpc.aio.Metadata(*status.trailers), details=status.message
    )


@pytest.mark.parametrize("code", sorted(CODES))
def test_every_code_says_what_it_means_and_what_to_do(code: str) -> None:
    row = CODES[code]
    assert row.meaning
    assert row.remedy
    assert row.domain in (KERNEL, CONTRACT)


@pytest.mark.parametrize("code", sorted(CODES))
def test_an_error_survives_the_wire(code: str) -> None:
    sent = MeshError(code, "the reason", outcome="not_dispatched", field="/writes/0")
    received = from_rpc_error(raised(sent))
    assert (received.code, received.message, received.domain) == (sent.code, "the reason", sent.domain)
    assert received.outcome == "not_dispatched"
    assert received.details["field"] == "/writes/0"
    assert received.remedy == CODES[code].remedy


@pytest.mark.parametrize("code", sorted(CODES))
def test_clients_of_every_language_read_the_message(code: str) -> None:
    """`google.rpc.Status` repeats code and message; some libraries read nothing else, some compare."""
    answer: Any = raised(MeshError(code, "the reason – and more " * 100))
    status = rpc_status.from_call(answer)
    assert status is not None
    assert status.message.startswith("the reason – and more")


@given(
    message=st.text(max_size=6000),
    details=st.dictionaries(
        st.text(st.characters(codec="ascii"), min_size=1, max_size=40), st.text(max_size=2000)
    ),
)
def test_a_status_stays_under_three_kibibytes(message: str, details: dict[str, str]) -> None:
    details = {
        key: value for key, value in details.items() if key not in ("code", "message", "domain", "self")
    }
    status = to_status(MeshError("host_error", message, **details))
    assert len(status.message.encode()) + len(status.details) <= STATUS_LIMIT
    info = error_info(status.trailers)
    assert info is not None
    assert info.reason == "host_error"


@given(text=st.text(), limit=st.integers(3, 50))
def test_clipped_text_is_the_beginning_and_never_half_a_character(text: str, limit: int) -> None:
    clipped = clip(text, limit)
    assert len(clipped.encode()) <= limit
    assert text.startswith(clipped.removesuffix("…")) or clipped == text


def stated(*infos: error_details_pb2.ErrorInfo) -> grpc.aio.AioRpcError:
    """A status with these, as a provider in another language may make it."""
    status = status_pb2.Status()
    for info in infos:
        status.details.add().Pack(info)
    trailers = grpc.aio.Metadata((DETAILS_KEY, status.SerializeToString()))
    return grpc.aio.AioRpcError(grpc.StatusCode.ABORTED, grpc.aio.Metadata(), trailers, details="no")


def test_a_provider_may_name_its_details_as_it_likes() -> None:
    metadata = {"self": "s", "code": "c", "message": "m", "domain": "d"}
    info = error_details_pb2.ErrorInfo(reason="quota", domain=CONTRACT, metadata=metadata)
    error = from_rpc_error(stated(info))
    assert (error.code, error.message, error.domain) == ("quota", "no", CONTRACT)
    assert error.details == metadata
    assert error.saying("never").details == metadata


def test_who_names_no_domain_is_not_the_router() -> None:
    error = from_rpc_error(stated(error_details_pb2.ErrorInfo(reason="admission_full")))
    assert (error.code, error.domain) == ("admission_full", CONTRACT)


def test_the_kernels_domain_does_not_pass_behind_another() -> None:
    infos = [error_details_pb2.ErrorInfo(reason="late", domain=domain) for domain in (CONTRACT, KERNEL)]
    found = error_info(tuple(stated(*infos).trailing_metadata()))
    assert found is not None
    assert found.domain == KERNEL


def test_a_code_that_is_not_in_the_table_is_the_providers_own() -> None:
    error = MeshError("quota_exhausted", "no more")
    assert error.domain == CONTRACT
    assert to_status(error).code == grpc.StatusCode.FAILED_PRECONDITION


@pytest.mark.parametrize("code", sorted(CODES))
def test_a_provider_never_speaks_in_the_kernels_domain(code: str) -> None:
    given_by_provider = of_provider(MeshError(code, "reason"))
    assert given_by_provider.domain == CONTRACT
    kept = code in PROVIDER_CODES or CODES[code].domain == CONTRACT
    assert (given_by_provider.code == code) is (kept or code == "host_error")


@pytest.mark.parametrize(
    ("status", "details", "code"),
    [
        ("DATA_LOSS", "gone", "host_error"),
        ("INTERNAL", "", "host_error"),
        ("CANCELLED", "Locally cancelled by application!", "execution_cancelled"),
        ("DEADLINE_EXCEEDED", "Deadline Exceeded", "deadline_exceeded"),
        ("UNAVAILABLE", "failed to connect", "service_unavailable"),
        ("UNIMPLEMENTED", "Method not found!", "method_not_found"),
        ("RESOURCE_EXHAUSTED", "CLIENT: Sent message larger than max (9 vs. 8)", "limit_exceeded"),
        ("RESOURCE_EXHAUSTED", "quota", "host_error"),
    ],
)
def test_a_status_without_an_error_info_has_the_code_that_the_transport_means(
    status: str, details: str, code: str
) -> None:
    bare = grpc.aio.AioRpcError(
        grpc.StatusCode[status], grpc.aio.Metadata(), grpc.aio.Metadata(), details=details
    )
    error = from_rpc_error(bare)
    assert (error.code, error.domain, error.outcome) == (code, KERNEL, "unknown")
    assert error.message == f"{status}: {details or status}"


@pytest.mark.parametrize("trailer", [b"", b"\xff\xff\xff", b"\x08\x02\x12\x03abc"])
def test_details_that_cannot_be_read_are_no_error_info(trailer: bytes) -> None:
    assert error_info(((DETAILS_KEY, trailer),)) is None


def test_the_table_in_the_documentation_is_the_table_in_the_code() -> None:
    page = Path(__file__).parents[2] / "docs" / "errors.md"
    assert table_markdown() in page.read_text()
