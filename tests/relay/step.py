"""A step: one thing that a peer without manners does on its connection."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from hyperframe.frame import (
    ContinuationFrame,
    DataFrame,
    Frame,
    GoAwayFrame,
    HeadersFrame,
    PingFrame,
    PriorityFrame,
    RstStreamFrame,
    SettingsFrame,
    WindowUpdateFrame,
)
from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from contract.transport import MESSAGE_LIMIT
from router.relay.message import PREFIX, prefixed
from tests.relay.peer import Fields, Peer

WHOLE = 1 << 18
"""The size of the pieces that nothing is cut into."""


@dataclass(frozen=True)
class Step:
    """What it is called, so that an example that fails can be read, and what it does."""

    name: str
    take: Callable[[Peer, int], None]
    """Of the peer, and a number that no other step of the scene has."""

    def __repr__(self) -> str:
        return self.name


# --- frames ---

ids = st.sampled_from([1, 1, 3, 3, 5, 7, 9, 11, 21, 2, 4, 2**31 - 1])
"""Streams: those that there are, mostly."""

flags = st.lists(st.sampled_from(["END_STREAM", "PADDED", "PRIORITY"]), unique=True)

pieces = st.sampled_from([1, 3, 9, 10, 4096, WHOLE])

_payloads = st.one_of(
    st.binary(max_size=40),
    st.integers(0, 70_000).map(lambda size: prefixed(b"m" * size)[:16_000]),
    st.sampled_from([b"", b"\0", b"\0\0\0", prefixed(b""), prefixed(b"one") + prefixed(b"two")]),
    st.just(PREFIX.pack(0, MESSAGE_LIMIT + 1)),
    st.just(PREFIX.pack(0, 0xFFFFFFFF) + b"x" * 100),
)

_windows = st.sampled_from([1, 5, 100, 65_535, 1 << 20, 2**31 - 1])

_settings = st.dictionaries(
    st.sampled_from([1, 2, 3, 4, 5, 6, 8, 77]),
    st.one_of(_windows, st.sampled_from([0, 16_384, 16_385, 2**24 - 1, 2**24, 2**31, 2**32 - 1])),
    max_size=4,
)

_bytes = st.integers(0, 255)


def _data(stream: int, payload: bytes, flagged: list[str], padding: int) -> Frame:
    flagged = [each for each in flagged if each != "PRIORITY"]
    return DataFrame(stream, payload, pad_length=padding if "PADDED" in flagged else 0, flags=flagged)


def _ping(said: bytes, ack: bool) -> Frame:
    return PingFrame(0, said, flags=["ACK"] if ack else [])


def _priority(stream: int, on: int, weight: int) -> Frame:
    return PriorityFrame(stream, depends_on=on, stream_weight=weight)


def _continuation(stream: int, part: bytes, last: bool) -> Frame:
    return ContinuationFrame(stream, part, flags=["END_HEADERS"] if last else [])


frames: SearchStrategy[Frame] = st.one_of(
    st.builds(_data, ids, _payloads, flags, _bytes),
    st.builds(_data, ids, _payloads, flags, _bytes),
    st.builds(RstStreamFrame, ids, error_code=st.integers(0, 20)),
    st.builds(WindowUpdateFrame, st.one_of(st.just(0), ids), window_increment=_windows),
    st.builds(SettingsFrame, st.just(0), settings=_settings),
    st.just(SettingsFrame(0, flags=["ACK"])),
    st.builds(_ping, st.binary(min_size=8, max_size=8), st.booleans()),
    st.builds(GoAwayFrame, st.just(0), st.integers(0, 12), st.integers(0, 14), st.binary(max_size=30)),
    st.builds(_priority, ids, st.integers(0, 9), _bytes),
    st.builds(_continuation, ids, st.binary(max_size=60), st.booleans()),
)
"""Every kind of frame, on whichever stream."""


def send(peer: Peer, frame: Frame, size: int = WHOLE) -> None:
    """Sends any frame, and keeps account of what it changes."""
    id = frame.stream_id  # noqa: A001
    told = peer.streams.get(id)
    match frame:
        case WindowUpdateFrame() if not id:
            peer.window += frame.window_increment
        case WindowUpdateFrame() if told is not None:
            told.window += frame.window_increment
        case RstStreamFrame() if told is not None:
            peer.forsake(told)
        case SettingsFrame() if "ACK" not in frame.flags:
            peer.said.append(dict(frame.settings))
    peer.send(frame, size)


def sends(frame: Frame, size: int) -> Step:
    """Sends a frame in pieces of so many bytes."""
    return Step(f"{frame!r} in pieces of {size}", lambda peer, _: send(peer, frame, size))


def floods(frame: Frame, count: int) -> Step:
    """Sends a frame many times."""

    def take(peer: Peer, _: int) -> None:
        for _ in range(count):
            send(peer, frame)

    return Step(f"{count} times {frame!r}", take)


# --- header blocks ---


def send_block(
    peer: Peer, stream: int, fields: Fields, *, parts: int, flagged: list[str], size: int = WHOLE
) -> None:
    """Sends a header block in so many frames."""
    peer.expect(stream)
    block = peer.encoder.encode(fields)
    step = max(-(-len(block) // parts), 1)
    first = HeadersFrame(stream, block[:step], flags=flagged)
    first.pad_length = 7 if "PADDED" in flagged else 0
    rest = [ContinuationFrame(stream, block[at : at + step]) for at in range(step, len(block), step)]
    last: Frame = rest[-1] if rest else first
    last.flags.add("END_HEADERS")
    for frame in (first, *rest):
        peer.send(frame, size)


def tells(stream: int, fields: Fields, parts: int, flagged: list[str], size: int) -> Step:
    """Sends a header block on a stream."""
    return Step(
        f"{fields} on {stream} with {flagged} in {parts} frames, in pieces of {size}",
        lambda peer, _: send_block(peer, stream, fields, parts=parts, flagged=flagged, size=size),
    )


# --- no frames at all ---


def rubbish(sent: bytes) -> Step:
    """Sends bytes that may be anything."""

    def take(peer: Peer, _: int) -> None:
        peer.lawless = True
        peer.line.feed(sent)

    return Step(f"the bytes {sent.hex()}", take)


def crooked(kind: int, flagged: int, stream: int, payload: bytes, lie: int) -> Step:
    """Sends a frame that no library would: its flags as they come, and its length a lie."""
    size = max(len(payload) + lie, 0)
    return rubbish(size.to_bytes(3, "big") + bytes((kind, flagged)) + stream.to_bytes(4, "big") + payload)


# --- moods ---


def _reads(reading: bool) -> Step:
    def take(peer: Peer, _: int) -> None:
        peer.reading = reading

    return Step("reads again" if reading else "stops reading", take)


def _grants(generous: bool) -> Step:
    def take(peer: Peer, _: int) -> None:
        peer.generous = generous

    return Step("grants again" if generous else "grants nothing", take)


manners = st.one_of(
    st.builds(sends, frames, pieces),
    st.builds(sends, frames, pieces),
    st.builds(sends, frames, pieces),
    st.builds(floods, frames, st.sampled_from([50, 300])),
    st.builds(_reads, st.booleans()),
    st.builds(_grants, st.booleans()),
    st.builds(
        crooked,
        st.integers(0, 14),
        _bytes,
        ids,
        st.binary(max_size=60),
        st.sampled_from([0, 0, -1, 1, 1 << 17]),
    ),
    st.builds(rubbish, st.binary(min_size=1, max_size=100)),
    st.just(Step("vanishes", lambda peer, _: peer.line.vanish())),
)
"""What either end may do."""
