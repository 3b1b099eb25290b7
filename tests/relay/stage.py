"""The stage: a relay between consumers and providers in memory, with the admission that the router has.

Its instances are the router's own; what stands in for it are their processes and the generation.
"""

from __future__ import annotations

import asyncio
from base64 import b64decode
from collections.abc import Coroutine
from pathlib import Path
from typing import Any, TypeVar, cast

import contract.context
from contract.context import CONTEXT_KEY, SERVICE_KEY, TOKEN_KEY, CallContext, Phase
from contract.declaration import parse_service
from contract.errors import MeshError
from router.admission.admission import Admission
from router.admission.envelope import Envelope
from router.generations.generation import Generation
from router.generations.route import Route, route_to
from router.instances.instance import Instance
from router.packages.manifest import Manifest, Runtime
from router.packages.package import Package
from router.relay.held import Held
from router.relay.http2.inbound import Inbound
from router.relay.http2.outbound import Channel
from router.relay.local import Serve
from router.relay.message import prefixed
from router.relay.relay import Relay
from tests.relay.line import Line, Loop, turns
from tests.relay.peer import Fields, Peer, Told
from wuu.mesh.v1.declaration_pb2 import MethodDescriptor, ServiceDescriptor, Shape

T = TypeVar("T")
P = TypeVar("P", bound="Provider")

MARK = "x-mark"
"""The metadata by which a provider knows whose call it serves."""

SHAPES = {
    "Unary": Shape.SHAPE_UNARY,
    "Journaled": Shape.SHAPE_UNARY,
    "Both": Shape.SHAPE_BIDI_STREAM,
    "Hang": Shape.SHAPE_BIDI_STREAM,
}
"""What each provider serves. Both answers what comes as it comes, Hang never, the others once it is whole."""


class Staged(Instance):
    """An instance without a process."""

    def __post_init__(self) -> None:
        self.module = self.package.manifest.id
        self.id = f"{self.module}@{self.incarnation}"
        self.max_in_flight = self.package.runtime.max_in_flight
        self.calls = Channel(self.socket)


class _OneGeneration:
    """The generation that binds every consumer to the provider that a service is named for."""

    id = "1"
    superseded = False

    def __init__(self, providers: dict[str, Staged]) -> None:
        self._routes = {f"fuzz.{name}": _route(name, provider) for name, provider in providers.items()}
        self.live = 0

    def route(self, _: str | None, service: str, __: int | None) -> Route:
        return self._routes[service]

    def hold(self) -> None:
        self.live += 1

    def let_go(self) -> None:
        self.live -= 1


class Provider:
    """The process of an instance: one that keeps the rules."""

    def __init__(self, instance: Staged) -> None:
        self.instance = instance
        self.peers: list[Peer] = []
        self.marks: list[tuple[str, str]] = []
        """Which calls came, and in whose name."""
        self.executions: set[str] = set()
        self.settings: dict[int, int] = {}

    @property
    def peer(self) -> Peer:
        """Its end of the last connection."""
        return self.peers[-1]

    def connected(self, line: Line) -> None:
        """The router has made a connection."""
        peer = Peer(line, is_client=False)
        peer.on_begun, peer.on_data, peer.on_end = self._begun, self._data, self._end
        self.peers.append(peer)
        peer.greet(self.settings)

    def _begun(self, told: Told) -> None:
        context = self.context(told)
        assert context.execution not in self.executions, "a call comes twice"
        self.executions.add(context.execution)
        self.marks.append((dict(told.blocks[0]).get(MARK, ""), context.caller))
        if _rpc(told) == "Both":
            self.peer.headers(told, ANSWER)

    def _data(self, told: Told, payload: bytes) -> None:
        if _rpc(told) == "Both":
            self.peer.data(told, payload)

    def _end(self, told: Told) -> None:
        rpc = _rpc(told)
        if rpc == "Both":
            self.peer.finish(told, OK)
        elif rpc != "Hang" and not told.abandoned:
            self.peer.headers(told, ANSWER)
            self.peer.data(told, prefixed(bytes(told.body[5:])))
            self.peer.finish(told, OK)

    def context(self, told: Told) -> CallContext:
        """The signed context of a call."""
        said = dict(told.blocks[0])[CONTEXT_KEY]
        signed = b64decode(said + "=" * (-len(said) % 4))
        return contract.context.verify(signed, key=self.instance.key, audience=self.instance.id)


ANSWER: Fields = [(":status", "200"), ("content-type", "application/grpc")]
OK: Fields = [("grpc-status", "0")]


def _now(request: bytes, _: Envelope) -> bytes:
    """Answers at once."""
    return request


async def _later(request: bytes, _: Envelope) -> bytes:
    """Answers in a while."""
    await turns()
    return request


async def _never(_: bytes, __: Envelope) -> bytes:
    """Does not answer."""
    await asyncio.Event().wait()
    return b""


async def _refuses(_: bytes, __: Envelope) -> bytes:
    """Answers with an error."""
    await turns()
    raise MeshError("service_not_found", "not here")


_LOCAL: dict[str, Serve] = {"Now": _now, "Later": _later, "Never": _never, "Refuses": _refuses}
"""What the router answers itself, by the name of the rpc."""


class Stage:
    """One relay, two providers `p` and `q`, and consumers that are made when they are asked for."""

    def __init__(self, loop: Loop) -> None:
        self.loop = loop
        self.admission = Admission()
        self.held = Held()
        self.relay = Relay(self.admission, self.admission.admit, self.held)
        self.relay.find = lambda envelope: _LOCAL.get(envelope.path.rpartition("/")[2])
        self.inbound: set[Inbound] = set()
        self.instances = {name: _instance(name) for name in ("p", "q")}
        self.providers = {name: Provider(instance) for name, instance in self.instances.items()}
        self.generation = _OneGeneration(self.instances)
        loop.listening = {str(each.instance.socket): each.connected for each in self.providers.values()}

    def replace(self, name: str, kind: type[P]) -> P:
        """Another kind of process for an instance."""
        provider = kind(self.instances[name])
        self.providers[name] = provider
        self.loop.listening[str(provider.instance.socket)] = provider.connected
        return provider

    def consumer(self, name: str, settings: dict[int, int] | None = None, *, greets: bool = True) -> Peer:
        """The connection of a consumer of that name."""
        if name not in self.admission.instances:
            instance = _instance(name)
            instance.required = frozenset({"fuzz.p@1", "fuzz.q@1"})
            instance.generation = cast("Generation", self.generation)
            self.admission.instances[name] = instance
        peer = Peer(Line(Inbound(self.relay.accept, self.inbound)), is_client=True)
        if greets:
            peer.greet(settings)
        return peer

    async def settle(self, *peers: Peer) -> None:
        """Everybody reads, until there is nothing to be read."""
        again = True
        while again:
            await turns()
            served = [peer for provider in self.providers.values() for peer in provider.peers]
            again = any(peer.read() for peer in (*peers, *served))

    def _check_accounts(self) -> None:
        """What a connection says that waits on it is what its streams have."""
        for connection in (*self.inbound, *(each.calls._connection for each in self.instances.values())):
            if connection is not None:
                held = {*connection.streams.values(), *getattr(connection, "_waiting", ())}
                assert connection.waiting == sum(len(stream.waiting or b"") for stream in held)

    def play(self, scene: Coroutine[Any, Any, None]) -> None:
        """Plays a scene on this stage."""
        play(self.loop, scene)

    def check_at_rest(self) -> None:
        """Nothing is left of calls that are over."""
        assert not self.loop.accidents, self.loop.accidents
        assert not len(self.admission.executions), [e.id for e in self.admission.executions]
        assert not self.held._sent
        assert not self.relay._beside, "something is still done for a call that is over"
        assert not self.generation.live
        for instance in (*self.instances.values(), *self.admission.instances.values()):
            assert not instance.outside and not instance.executions, instance.id
            connection = instance.calls._connection
            if connection is not None:
                assert not connection.streams and not connection.stalled and not connection._waiting
                assert not connection._grown

    def check_attribution(self) -> None:
        """Every call was served once, in the name of whoever made it; a mark begins with its caller."""
        for provider in self.providers.values():
            marked = [mark for mark, _ in provider.marks if mark]
            assert len(marked) == len(set(marked)), "a call was admitted twice"
            for mark, caller in provider.marks:
                assert caller == mark.partition("-")[0], f"{mark} in the name of {caller}"


def call(consumer: str, provider: str, rpc: str = "Both", mark: str = "") -> Fields:
    """The fields of a call."""
    return [
        (":method", "POST"),
        (":scheme", "http"),
        (":path", f"/fuzz.{provider}.v1.Fuzz/{rpc}"),
        (":authority", "localhost"),
        ("te", "trailers"),
        ("content-type", "application/grpc"),
        (TOKEN_KEY, consumer),
        (SERVICE_KEY, f"fuzz.{provider}@1"),
        (MARK, f"{consumer}-{mark}"),
    ]


def play(loop: Loop, scene: Coroutine[Any, Any, T]) -> T:
    """Runs a scene to its end."""
    loop.accidents.clear()
    loop.now = 0.0
    return loop.run_until_complete(scene)


def _rpc(told: Told) -> str:
    return dict(told.blocks[0])[":path"].rpartition("/")[2]


def _instance(name: str) -> Staged:
    manifest = Manifest(
        schema_version=1,
        id=name,
        name=name,
        version="1.0.0",
        runtime=Runtime(protocol="wuu-mesh-grpc-v1", command="none"),
    )
    nowhere = Path("/nowhere")
    return Staged(
        package=Package(nowhere, manifest),
        socket=nowhere / name,
        log=nowhere / f"{name}.log",
        incarnation="0" * 16,
        timeout=30.0,
        token=name,
        phase=Phase.PHASE_ACTIVE,
    )


def _route(name: str, instance: Staged) -> Route:
    assert parse_service(f"fuzz.{name}@1")
    descriptor = ServiceDescriptor(
        name=f"fuzz.{name}",
        version="1.0.0",
        grpc_service=f"fuzz.{name}.v1.Fuzz",
        methods=[
            MethodDescriptor(name=rpc.lower(), rpc=rpc, shape=shape, journaled=rpc == "Journaled")
            for rpc, shape in SHAPES.items()
        ],
    )
    return route_to(instance, descriptor)
