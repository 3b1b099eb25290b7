"""What the router owes a peer whose call is in flight, frame by frame (RFC 9113)."""

from __future__ import annotations

from pathlib import Path

import pytest
from hyperframe.frame import DataFrame, PingFrame, PriorityFrame, RstStreamFrame, WindowUpdateFrame

from router.relay.http2.frame import LARGEST_WINDOW, Code
from tests.http2.peer import CALL, GATHER, Peer, frame
from tests.support.mesh import Mesh


def test_a_half_closed_stream_takes_window_update_and_priority(control: Path) -> None:
    with Peer(control) as peer:
        peer.send(
            peer.headers(1, GATHER),
            peer.message(1, b"hello", end=True),
            WindowUpdateFrame(1, window_increment=1),
            PriorityFrame(1, depends_on=0, stream_weight=7),
        )
        assert peer.data(1, 10) == [frame(b"hello")]
        assert peer.status(1) == "0"


def test_an_answer_keeps_to_the_window_of_its_stream(control: Path) -> None:
    with Peer(control, initial_window_size=1) as peer:
        peer.send(peer.headers(1, GATHER), peer.message(1, b"hello", end=True))
        assert peer.data(1, 1) == [b"\0"]
        peer.send(WindowUpdateFrame(1, window_increment=3))
        assert peer.data(1, 3) == [b"\0\0\0"]
        peer.send(WindowUpdateFrame(1, window_increment=100))
        assert b"".join(peer.data(1, 6)) == b"\5hello"
        assert peer.status(1) == "0"


def test_a_window_that_grows_lets_what_waited_go(control: Path) -> None:
    with Peer(control, initial_window_size=0) as peer:
        peer.send(peer.headers(1, GATHER), peer.message(1, b"hello", end=True))
        peer.settings(("initial_window_size", 4))
        assert peer.data(1, 4) == [b"\0\0\0\0"]
        peer.settings(("initial_window_size", 100))
        assert b"".join(peer.data(1, 6)) == b"\5hello"


def test_a_window_below_0_must_be_made_up_for(control: Path) -> None:
    with Peer(control, initial_window_size=3) as peer:
        peer.send(peer.headers(1, GATHER), peer.message(1, b"hello", end=True))
        assert peer.data(1, 3) == [b"\0\0\0"]
        peer.settings(("initial_window_size", 2))
        peer.send(WindowUpdateFrame(1, window_increment=2))
        assert peer.data(1, 1) == [b"\0"]


def test_of_several_initial_windows_the_last_counts(control: Path) -> None:
    with Peer(control) as peer:
        peer.settings(("initial_window_size", 100), ("initial_window_size", 1))
        peer.send(peer.headers(1, GATHER), peer.message(1, b"hello", end=True))
        assert peer.data(1, 1) == [b"\0"]


@pytest.mark.parametrize("behind", ["data", "headers"])
def test_frames_behind_the_clients_own_reset_are_refused(control: Path, behind: str) -> None:
    with Peer(control) as peer:
        peer.opened()
        peer.send(RstStreamFrame(1, error_code=Code.CANCEL))
        peer.send(peer.message(1) if behind == "data" else peer.headers(1, [(b"x-a", b"b")], end=True))
        assert peer.reset() == Code.STREAM_CLOSED


def test_a_window_update_of_0_costs_the_stream(control: Path) -> None:
    with Peer(control) as peer:
        peer.opened()
        update = WindowUpdateFrame(1, window_increment=1)
        # The library sends none of 0.
        update.window_increment = 0
        peer.send(update)
        assert peer.reset() == Code.PROTOCOL_ERROR


def test_a_window_past_its_largest_costs_the_stream(control: Path) -> None:
    with Peer(control) as peer:
        peer.opened()
        peer.send(WindowUpdateFrame(1, window_increment=LARGEST_WINDOW))
        assert peer.reset() == Code.FLOW_CONTROL_ERROR


def test_headers_that_do_not_end_the_request_cost_the_stream(control: Path) -> None:
    with Peer(control) as peer:
        peer.opened()
        peer.send(peer.headers(1, [(b"x-a", b"b")]))
        assert peer.reset() == Code.PROTOCOL_ERROR


def test_a_pseudo_header_in_trailers_costs_the_stream(control: Path) -> None:
    with Peer(control) as peer:
        peer.opened()
        peer.send(peer.headers(1, [(b":method", b"POST")], end=True))
        assert peer.reset() == Code.PROTOCOL_ERROR


@pytest.mark.parametrize("named", [b"9", b"11", b"0"])
def test_data_that_is_not_as_long_as_its_content_length_costs_the_stream(control: Path, named: bytes) -> None:
    with Peer(control) as peer:
        peer.send(peer.headers(1, [*GATHER, (b"content-length", named)]), peer.message(1, b"hello", end=True))
        assert peer.reset() == Code.PROTOCOL_ERROR


@pytest.mark.parametrize("twice", [field for field in CALL if field[0].startswith(b":")])
def test_a_pseudo_header_that_stands_twice_costs_the_stream(
    control: Path, twice: tuple[bytes, bytes]
) -> None:
    with Peer(control) as peer:
        peer.send(peer.headers(1, [*CALL[:4], twice, *CALL[4:]]), peer.message(1, b"hello", end=True))
        assert peer.reset() == Code.PROTOCOL_ERROR


def test_trailers_end_a_request_as_data_does(control: Path) -> None:
    with Peer(control) as peer:
        peer.send(
            peer.headers(1, GATHER), peer.message(1, b"hello"), peer.headers(1, [(b"x-a", b"b")], end=True)
        )
        assert peer.data(1, 10) == [frame(b"hello")]
        assert peer.status(1) == "0"


def test_padding_is_no_part_of_a_message(control: Path) -> None:
    with Peer(control) as peer:
        padded = DataFrame(1, frame(b"hello"), flags=["PADDED", "END_STREAM"], pad_length=200)
        peer.send(peer.headers(1, GATHER), padded)
        assert peer.data(1, 10) == [frame(b"hello")]


def test_a_message_may_come_byte_by_byte(control: Path) -> None:
    with Peer(control) as peer:
        peer.send(peer.headers(1, GATHER))
        for byte in frame(b"hello") * 2:
            peer.send(DataFrame(1, bytes((byte,))))
        peer.send(DataFrame(1, b"", flags=["END_STREAM"]))
        assert b"".join(peer.data(1, 15)) == frame(b"hellohello")


def test_a_stream_that_nobody_reads_stops_none_of_its_neighbours(control: Path) -> None:
    with Peer(control, initial_window_size=0) as peer:
        for stream in range(1, 101, 2):
            peer.send(peer.headers(stream, GATHER), peer.message(stream, bytes(60_000), end=True))
        peer.send(peer.headers(101, GATHER), peer.message(101, b"hello", end=True))
        peer.send(WindowUpdateFrame(101, window_increment=100))
        assert peer.data(101, 10) == [frame(b"hello")]
        assert peer.status(101) == "0"
        peer.send(PingFrame(0, opaque_data=b"12345678"))
        assert isinstance(peer.next(0), PingFrame)


async def test_no_execution_is_left_behind(mesh: Mesh) -> None:
    await mesh.idle()
