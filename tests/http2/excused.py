"""Excused: a case of h2spec that a router for gRPC does not pass, and why that is right.

h2spec sends a plain GET, or a POST without a content type. Neither is a call of gRPC, so the router answers
with a header list at once, and the stream is over before the case gets to what it is about. Where the case
has a point for us, a test of ours makes it on a call in flight.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Mode = Literal["both", "acknowledged", "unacknowledged"]


@dataclass(frozen=True, kw_only=True)
class Excused:
    """One row of the table."""

    section: str
    case: str
    reason: str
    instead: str = ""
    """The test of ours that makes the point, in `test_in_flight.py`."""
    mode: Mode = "both"
    """Whether it holds only where the client has acknowledged our settings, or only where it has not."""
    sometimes: bool = False
    """Whether it passes at times."""


NO_BODY = "It looks for DATA, and what is no call is answered with a header list alone."
OVER = "The stream is answered and over before the case gets to its point: what still comes on it is ignored."
TABLE_OF_0 = "It goes on with a table of 4,096 bytes, and has acknowledged that ours has 0."

EXCUSED = (
    Excused(
        section="generic/2",
        case="Sends a PRIORITY frame on half-closed (remote) stream",
        reason=NO_BODY,
        instead="test_a_half_closed_stream_takes_window_update_and_priority",
    ),
    Excused(
        section="generic/2",
        case="Sends a WINDOW_UPDATE frame on half-closed (remote) stream",
        reason=NO_BODY,
        instead="test_a_half_closed_stream_takes_window_update_and_priority",
    ),
    Excused(
        section="generic/5",
        case="Sends a dynamic table size update",
        reason=TABLE_OF_0,
        mode="acknowledged",
    ),
    Excused(
        section="generic/5",
        case="Sends multiple dynamic table size update",
        reason=TABLE_OF_0,
        mode="acknowledged",
    ),
    Excused(
        section="hpack/6.3",
        case="Sends a dynamic table size update larger than the value of SETTINGS_HEADER_TABLE_SIZE",
        reason="It names a size of 1: more than ours, and less than what holds until ours is acknowledged.",
        mode="unacknowledged",
    ),
    Excused(
        section="http2/5.1",
        case="closed: Sends a DATA frame after sending RST_STREAM frame",
        reason=OVER,
        instead="test_frames_behind_the_clients_own_reset_are_refused",
    ),
    Excused(
        section="http2/5.1",
        case="closed: Sends a HEADERS frame after sending RST_STREAM frame",
        reason=OVER,
        instead="test_frames_behind_the_clients_own_reset_are_refused",
    ),
    Excused(
        section="http2/5.1.2",
        case="Sends HEADERS frames that causes their advertised concurrent stream limit to be exceeded",
        reason="Each of its 65,537 requests is answered at once, so they are never open together; it reads"
        " none of the answers and may lose its connection for that.",
        sometimes=True,
    ),
    Excused(
        section="http2/6.5.3",
        case="Sends multiple values of SETTINGS_INITIAL_WINDOW_SIZE",
        reason=NO_BODY,
        instead="test_of_several_initial_windows_the_last_counts",
    ),
    Excused(
        section="http2/6.9",
        case="Sends a WINDOW_UPDATE frame with a flow control window increment of 0 on a stream",
        reason=OVER,
        instead="test_a_window_update_of_0_costs_the_stream",
    ),
    Excused(
        section="http2/6.9.1",
        case="Sends SETTINGS frame to set the initial window size to 1 and sends HEADERS frame",
        reason=NO_BODY,
        instead="test_an_answer_keeps_to_the_window_of_its_stream",
    ),
    Excused(
        section="http2/6.9.1",
        case="Sends multiple WINDOW_UPDATE frames increasing the flow control window to above 2^31-1"
        " on a stream",
        reason=OVER,
        instead="test_a_window_past_its_largest_costs_the_stream",
    ),
    Excused(
        section="http2/6.9.2",
        case="Changes SETTINGS_INITIAL_WINDOW_SIZE after sending HEADERS frame",
        reason=NO_BODY,
        instead="test_a_window_that_grows_lets_what_waited_go",
    ),
    Excused(
        section="http2/6.9.2",
        case="Sends a SETTINGS frame for window size to be negative",
        reason=NO_BODY,
        instead="test_a_window_below_0_must_be_made_up_for",
    ),
    Excused(
        section="http2/8.1",
        case="Sends a second HEADERS frame without the END_STREAM flag",
        reason=OVER,
        instead="test_headers_that_do_not_end_the_request_cost_the_stream",
    ),
    Excused(
        section="http2/8.1.2.1",
        case="Sends a HEADERS frame that contains a pseudo-header field as trailers",
        reason=OVER,
        instead="test_a_pseudo_header_in_trailers_costs_the_stream",
    ),
    Excused(
        section="http2/8.1.2.6",
        case='Sends a HEADERS frame with the "content-length" header field which does not equal'
        " the DATA frame payload length",
        reason=OVER,
        instead="test_data_that_is_not_as_long_as_its_content_length_costs_the_stream",
    ),
    Excused(
        section="http2/8.1.2.6",
        case='Sends a HEADERS frame with the "content-length" header field which does not equal the sum of'
        " the multiple DATA frames payload length",
        reason=OVER,
        instead="test_data_that_is_not_as_long_as_its_content_length_costs_the_stream",
    ),
)
"""The table, by section and case."""
