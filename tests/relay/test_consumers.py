"""Consumers without manners: what one does stays on its own connection."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tests.relay.line import Loop
from tests.relay.neighbour import Neighbour, fuzz
from tests.relay.peer import Fields, Peer
from tests.relay.stage import Stage, call, play
from tests.relay.step import Step, flags, ids, manners, pieces, send_block, tells

NAME = "a"
"""The consumer."""

MISSING = ("te", ":path", ":method", "content-type", "wuu-token", "wuu-service", ":authority")
"""What a call may lack."""

ADDED: dict[str, Fields] = {
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
    "a content-length that no number holds": [("content-length", "9" * 400)],
    "a content-length that is none": [("content-length", "-1")],
    "a context": [("wuu-context-bin", "AAAA")],
    "another token": [("wuu-token", "nobody")],
    "another service": [("wuu-service", "fuzz.q@1")],
}
"""What may be added to a call."""


def _begins(provider: str, rpc: str, how: str, parts: int, flagged: list[str], size: int) -> Step:
    """A call on the next stream, with something wrong about it, or nothing."""

    def take(peer: Peer, number: int) -> None:
        fields = [each for each in call(NAME, provider, rpc, str(number)) if each[0] != how]
        stream = peer.reserve()
        send_block(peer, stream, fields + ADDED.get(how, []), parts=parts, flagged=flagged, size=size)

    return Step(f"calls {provider} {rpc} with {how}, {flagged}, in {parts} frames, in pieces of {size}", take)


calls = st.builds(
    _begins,
    st.sampled_from("ppq"),
    st.sampled_from(
        ["Both", "Both", "Unary", "Journaled", "Hang", "None", "Now", "Later", "Never", "Refuses"]
    ),
    st.one_of(st.just("nothing"), st.just("nothing"), st.sampled_from([*MISSING, *ADDED])),
    st.sampled_from([1, 1, 1, 2, 5]),
    flags,
    pieces,
)

trailers = st.builds(
    tells,
    ids,
    st.sampled_from(
        [[], [("x-behind", "1")], [(":path", "/again")], [("connection", "x")], [("x-a", "a\nb")]]
    ),
    st.just(1),
    st.sampled_from([[], ["END_STREAM"]]),
    pieces,
)

steps = st.lists(st.one_of(calls, calls, manners, manners, trailers), max_size=25)


async def _consumer_misbehaves(stage: Stage, took: list[Step]) -> None:
    bad, good = stage.consumer(NAME), Neighbour(stage)
    good.begin("p", "q")
    for number, each in enumerate(took):
        each.take(bad, number)
        good.speak()
        await stage.settle(bad, good.peer)
    good.speak(end=True)
    await stage.settle(bad, good.peer)
    good.check()
    # Deadlines of the scene.
    stage.loop.now += 1.0
    if not bad.line.gone:
        bad.line.vanish()
    await stage.settle(bad, good.peer)
    assert not good.peer.line.is_closing()
    assert all(len(provider.peers) <= 1 for provider in stage.providers.values()), "a provider was cut off"
    stage.check_at_rest()
    stage.check_attribution()
    good.peer.line.vanish()
    assert not stage.inbound


@fuzz
@given(took=steps)
def test_a_consumer_without_manners_loses_its_own_calls_alone(loop: Loop, took: list[Step]) -> None:
    play(loop, _consumer_misbehaves(Stage(loop), took))
