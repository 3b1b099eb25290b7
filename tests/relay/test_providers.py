"""Providers without manners: what one does ends the calls that it serves, with a status, and no others."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tests.relay.line import Loop
from tests.relay.neighbour import Neighbour, fuzz
from tests.relay.peer import Fields, Peer, Told
from tests.relay.stage import ANSWER, MARK, OK, Provider, Stage, call, play
from tests.relay.step import Step, flags, manners, pieces, tells

ANSWERS: list[Fields] = [
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
"""Header blocks, good ones and others."""

answers = st.builds(
    tells,
    st.sampled_from([1, 1, 3, 3, 5, 7]),
    st.sampled_from(ANSWERS),
    st.sampled_from([1, 1, 2]),
    flags,
    pieces,
)

steps = st.lists(st.one_of(answers, answers, manners, manners), max_size=25)


class Rude(Provider):
    """A provider that serves nothing by itself."""

    def _begun(self, told: Told) -> None: ...

    def _data(self, told: Told, payload: bytes) -> None: ...

    def _end(self, told: Told) -> None: ...


async def _provider_misbehaves(stage: Stage, took: list[Step]) -> None:
    rude = stage.replace("p", Rude)
    good = Neighbour(stage)
    good.begin("q")
    victims = stage.consumer("c")
    calls = [victims.begin(call("c", "p", rpc, f"{n}")) for n, rpc in enumerate(("Both", "Unary", "Hang"))]
    kept = victims.begin(call("c", "q", "Both", "kept"))
    victims.data(calls[0], b"\0\0\0\0\1x")
    victims.data(calls[1], b"\0\0\0\0\1x", end=True)
    await stage.settle(victims, good.peer)
    for number, each in enumerate(took):
        each.take(rude.peer, number)
        good.speak()
        await stage.settle(victims, good.peer)
        if rude.peer.line.is_closing():
            break
    victims.data(kept, b"\0\0\0\0\1x", end=True)
    good.speak(end=True)
    await stage.settle(victims, good.peer)
    good.check()
    assert (kept.status, bytes(kept.body)) == ("0", b"\0\0\0\0\1x")
    for peer in rude.peers:
        if not peer.line.gone:
            peer.line.vanish()
    await stage.settle(victims, good.peer)
    for told in calls:
        assert told.status or told.reset is not None, f"nobody has ended {told.id}"
    assert not victims.line.is_closing(), "a consumer was cut off"
    stage.check_at_rest()
    stage.check_attribution()
    _leave(victims, good.peer)
    assert not stage.inbound


def _leave(*peers: Peer) -> None:
    for peer in peers:
        peer.line.vanish()


@fuzz
@given(took=steps)
def test_a_provider_without_manners_ends_its_own_calls_alone(loop: Loop, took: list[Step]) -> None:
    play(loop, _provider_misbehaves(Stage(loop), took))
