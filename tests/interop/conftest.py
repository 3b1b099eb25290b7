"""One mesh with the providers of every language, and one client of each, for all tests of the suite."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack

import pytest

from tests.interop.client import Client
from tests.interop.language import LANGUAGES, build
from tests.support.composition import probe
from tests.support.mesh import Mesh, running


@pytest.fixture(scope="session")
async def mesh() -> AsyncIterator[Mesh]:
    """The mesh. `interop-caller` is in whose name the clients call."""
    build()
    caller = probe(
        "interop-caller",
        provides=["probe.caller@1"],
        requires=[language.service for language in LANGUAGES.values()],
        methods=["shake"],
    )
    async with running(caller, *(language.provider() for language in LANGUAGES.values())) as mesh:
        yield mesh


@pytest.fixture(scope="session")
async def clients(mesh: Mesh) -> AsyncIterator[dict[str, Client]]:
    """The clients, by language."""
    handshake = await mesh.call("probe.caller@1", "shake")
    async with AsyncExitStack() as stack:
        started: dict[str, Client] = {}
        for name, language in LANGUAGES.items():
            client = await Client.start(language.client, handshake["router"], handshake["token"])
            stack.push_async_callback(client.close)
            started[name] = client
        yield started


@pytest.fixture(scope="session", params=LANGUAGES, ids=lambda name: f"from-{name}")
def client(clients: dict[str, Client], request: pytest.FixtureRequest) -> Client:
    """The client of each language."""
    name: str = request.param
    return clients[name]


@pytest.fixture(scope="session", params=LANGUAGES, ids=lambda name: f"to-{name}")
def service(request: pytest.FixtureRequest) -> str:
    """The service of each language's provider."""
    name: str = request.param
    return LANGUAGES[name].service
