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

from router.relay.message import PREFIX, prefixed
from tests.relay.peer import Fields, Peer
from tests.relay.stage import ANSWER, MARK, OK, call

NAME = "a"
"""The consumer that sends them."""


@dataclass(frozen=True)
class Step:
    """What it is called, so that a falsifying example can be read, and what it does."""

    name: str
    take: Callable[[Peer, int], None]
    """The peer, and a number that no other step of the scene has."""

    def __repr__(self) -> str:
        return self.name


def _sends(name: str, frame: Frame, pieces: int = 1 << 18) -> Step:
    def take(peer: Peer, _: int) -> None:
        note(peer, frame)
        peer.send(frame, pieces)

    return Step(f"{name} {frame!r}", take)


def note(peer: Peer, frame: Frame) -> None:
    """Keeps account of what a frame changes, as far as the peer knows its stream."""
    id = frame.stream_id  # noqa: A001
    if isinstance(frame, WindowUpdateFrame):
        if not id:
            peer._window += frame.window_increment
        elif id in peer.streams:
            peer.streams[id].window += frame.window_increment
    elif isinstance(frame, RstStreamFrame) and id in peer.streams:
        peer.forsake(peer.streams[id])
    elif isinstance(frame, SettingsFrame) and "ACK" not in frame.flags:
        peer._said.append(dict(frame.settings))
    elif isinstance(frame, HeadersFrame) and id and id not in peer.streams and peer.is_client:
        peer.expect(id)


ids = st.sampled_from([1, 1, 3, 3, 5, 7, 9, 11, 21, 0, 2, 4, 2**31 - 1])
"""Streams: those that there are, mostly."""

flags = st.lists(st.sampled_from(["END_STREAM", "END_HEADERS", "PADDED", "PRIORITY", "ACK"]), unique=True)

payloads = st.one_of(
    st.binary(max_size=40),
    st.integers(0, 70_000).map(lambda size: prefixed(b"m" * size)[:16_000]),
    st.sampled_from([b"", b"\0", b"\0\0\0", prefixed(b""), prefixed(b"one") + prefixed(b"two")]),
    st.just(PREFIX.pack(0, (64 << 20) + 1)),
    st.just(PREFIX.pack(0, 0xFFFFFFFF) + b"x" * 100),
)

windows = st.sampled_from([0, 1, 5, 100, 65_535, 1 << 20, 2**31 - 1])

settings = st.dictionaries(
    st.sampled_from([1, 2, 3, 4, 5, 6, 8, 77]),
    st.one_of(windows, st.sampled_from([16_384, 16_385, 2**24 - 1, 2**24, 2**31, 2**32 - 1])),
    max_size=4,
)

pieces = st.sampled_from([1, 3, 9, 10, 4096, 1 << 18])

frames: SearchStrategy[Frame] = st.one_of(
    st.builds(lambda id, body, flags, pad: _data(id, body, flags, pad), ids, payloads, flags, st.integers(0, 255)),
    st.builds(lambda id, code: RstStreamFrame(id or 1, error_code=code), ids, st.integers(0, 20)),
    st.builds(lambda id, size: WindowUpdateFrame(id, window_increment=size or 1), ids, windows),
    st.builds(lambda said: SettingsFrame(0, settings=said), settings),
    st.builds(lambda: SettingsFrame(0, flags=["ACK"])),
    st.builds(lambda said, ack: PingFrame(0, said, flags=["ACK"] if ack else []), st.binary(min_size=8, max_size=8), st.booleans()),
    st.builds(lambda last, code, said: GoAwayFrame(0, last, code, said), st.integers(0, 12), st.integers(0, 14), st.binary(max_size=30)),
    st.builds(lambda id, on, heavy: PriorityFrame(id or 1, depends_on=on, stream_weight=heavy), ids, st.integers(0, 9), st.integers(0, 255)),
    st.builds(lambda id, block, flags: ContinuationFrame(id or 1, block, flags=["END_HEADERS"] if flags else []), ids, st.binary(max_size=60), st.booleans()),
)
"""Every kind of frame, on whichever stream."""


def _data(id: int, body: bytes, flags: list[str], pad: int) -> DataFrame:  # noqa: A002
    padded = "PADDED" in flags
    end = ["END_STREAM"] if "END_STREAM" in flags else []
    return DataFrame(id or 1, body, pad_length=pad if padded else 0, flags=[*end, *(["PADDED"] if padded else [])])


raw = st.builds(
    lambda kind, flags, id, body, lie: _raw(kind, flags, id, body, lie),
    st.integers(0, 14),
    st.integers(0, 255),
    ids,
    st.binary(max_size=60),
    st.sampled_from([0, 0, 0, -1, 1, 1 << 17]),
)
"""A frame that no library would send: flags and lengths as they come."""


def _raw(kind: int, flags: int, id: int, body: bytes, lie: int) -> Step:  # noqa: A002
    head = max(len(body) + lie, 0).to_bytes(3, "big") + bytes((kind, flags)) + id.to_bytes(4, "big")

    def take(peer: Peer, _: int) -> None:
        peer.lawless = True
        peer.line.feed(head + body)

    return Step(f"raw {head.hex()} {body.hex()}", take)


garbage = st.binary(min_size=1, max_size=100).map(
    lambda sent: Step(f"garbage {sent.hex()}", lambda peer, _: (setattr(peer, "lawless", True), peer.line.feed(sent))[0])
)


# --- header blocks ---


def _altered(fields: Fields, how: str) -> Fields:
    """A call with something wrong about it, or nothing."""
    if how.startswith("-"):
        return [each for each in fields if each[0] != how[1:]]
    added: dict[str, Fields] = {
        "a name in upper case": [("X-Upper", "1")],
        "a field of connections": [("connection", "close")],
        "a line break": [("x-break", "a\r\nb")],
        "a second path": [(":path", "/other")],
        "an unknown pseudo-header": [(":foo", "bar")],
        "no ASCII": [("x-bytes", "\xff\xfe")],
        "a timeout": [("grpc-timeout", "50m")],
        "a timeout that is none": [("grpc-timeout", "soon")],
        "an execution": [("wuu-execution", "none")],
        "a method": [("wuu-method", "\xe9" * 300)],
        "much metadata": [("x-large", "x" * 20_000)],
        "a content-length": [("content-length", "8")],
        "a content-length without end": [("content-length", "9" * 400)],
        "a content-length that is none": [("content-length", "-1")],
        "a context": [("wuu-context-bin", "AAAA")],
        "another token": [("wuu-token", "nobody")],
        "nothing": [],
    }
    if how == "a name of a field in front":
        return [("x-first", "1"), *fields]
    if how == "another service":
        return [(name, "fuzz.q@1" if name == "wuu-service" else value) for name, value in fields]
    return fields + added[how]


alterations = st.sampled_from(
    ["nothing"] * 12
    + [
        "-te",
        "-:path",
        "-:method",
        "-content-type",
        "-wuu-token",
        "-wuu-service",
        "-:authority",
        "a name in upper case",
        "a field of connections",
        "a line break",
        "a second path",
        "an unknown pseudo-header",
        "no ASCII",
        "a timeout",
        "a timeout that is none",
        "an execution",
        "a method",
        "much metadata",
        "a content-length",
        "a content-length without end",
        "a content-length that is none",
        "a context",
        "another token",
        "a name of a field in front",
        "another service",
    ]
)


def _begins(provider: str, rpc: str, how: str, fragments: int, flagged: list[str], end: bool, size: int) -> Step:
    """A call on the next stream."""

    def take(peer: Peer, number: int) -> None:
        fields = _altered(call(NAME, provider, rpc, str(number)), how)
        peer._next += 2
        send_block(peer, peer._next - 2, fields, fragments, flagged, end, size)

    return Step(f"call {provider} {rpc} with {how} in {fragments} {flagged} {end} {size}", take)


def send_block(
    peer: Peer, id: int, fields: Fields, fragments: int, flagged: list[str], end: bool, size: int  # noqa: A002
) -> None:
    """Sends a header block in several frames."""
    peer.expect(id)
    block = peer.encoder.encode(fields)
    step = max(-(-len(block) // fragments), 1)
    parts = [block[at : at + step] for at in range(0, len(block), step)] or [b""]
    first = HeadersFrame(id, parts[0], flags=["END_STREAM"] if end else [])
    if "PADDED" in flagged:
        first.flags.add("PADDED")
        first.pad_length = 7
    if "PRIORITY" in flagged:
        first.flags.add("PRIORITY")
        first.stream_weight = 3
    rest = [ContinuationFrame(id, part) for part in parts[1:]]
    last: Frame = rest[-1] if rest else first
    last.flags.add("END_HEADERS")
    for frame in (first, *rest):
        peer.send(frame, size)


calls = st.builds(
    _begins,
    st.sampled_from("ppq"),
    st.sampled_from(["Both", "Both", "Unary", "Journaled", "Hang", "None"]),
    alterations,
    st.sampled_from([1, 1, 1, 2, 5]),
    flags,
    st.booleans(),
    pieces,
)

trailers = st.builds(
    lambda id, fields, end: Step(  # noqa: A006
        f"block on {id}: {fields} {end}", lambda peer, _: send_block(peer, id, fields, 1, [], end, 1 << 18)
    ),
    ids.filter(bool),
    st.sampled_from([[], [("x-behind", "1")], [(":path", "/again")], [("connection", "x")], [("x-a", "a\nb")]]),
    st.booleans(),
)

floods = st.builds(
    lambda frame, count: Step(
        f"{count} times {frame!r}",
        lambda peer, _: [(note(peer, frame), peer.send(frame)) for _ in range(count)][0][1],
    ),
    frames,
    st.sampled_from([50, 300]),
)

moods = st.sampled_from(
    [
        Step("stops reading", lambda peer, _: setattr(peer, "reading", False)),
        Step("reads again", lambda peer, _: setattr(peer, "reading", True)),
        Step("grants nothing", lambda peer, _: setattr(peer, "generous", False)),
        Step("grants again", lambda peer, _: setattr(peer, "generous", True)),
    ]
)

plain = st.builds(_sends, st.just("sends"), frames, pieces)

vanishing = st.just(Step("vanishes", lambda peer, _: peer.line.vanish()))

of_consumers = st.lists(
    st.one_of(calls, calls, calls, plain, plain, plain, trailers, floods, moods, raw, garbage, vanishing),
    max_size=25,
)
"""What a consumer may do."""


# --- what only a provider does ---

_ANSWERS: list[Fields] = [
    ANSWER,
    OK,
    ANSWER + OK,
    [("grpc-status", "99")],
    [("grpc-status", "5"), ("grpc-message", "%E4%F6 no"), ("grpc-status-details-bin", "!!!")],
    [(":status", "404"), ("content-length", "9")],
    [(":status", "100")],
    [(":status", "200"), ("content-type", "text/html")],
    [(":status", "200"), (":status", "200"), ("content-type", "application/grpc")],
    [*ANSWER, ("x-break", "a\r\nb")],
    [*ANSWER, ("X-Upper", "1")],
    [*ANSWER, ("connection", "close")],
    [*ANSWER, (":foo", "behind")],
    [*ANSWER, ("content-length", "3")],
    [*ANSWER, ("wuu-own", "1"), (MARK, "x" * 3000)],
    [*OK, (":status", "200")],
    [*OK, ("x-break", "a\0b")],
    [("grpc-status", "0"), ("x-many", "y" * 30_000)],
    [],
]

answers = st.builds(
    lambda id, fields, fragments, flagged, end, size: Step(  # noqa: A006
        f"answers {id} with {fields} in {fragments} {flagged} {end} {size}",
        lambda peer, _: send_block(peer, id, fields, fragments, flagged, end, size),
    ),
    st.sampled_from([1, 1, 3, 3, 5, 7]),
    st.sampled_from(_ANSWERS),
    st.sampled_from([1, 1, 2]),
    flags,
    st.booleans(),
    pieces,
)

of_providers = st.lists(
    st.one_of(answers, answers, answers, answers, plain, plain, plain, floods, moods, raw, garbage, vanishing),
    max_size=25,
)
"""What a provider may do."""
