"""One bridge for all tests that need none of their own, and plugins that end with their test."""

from __future__ import annotations

import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from tests.bridge.harness import Bridge, Instance, Router, echo

Start = Callable[..., Awaitable[Instance]]


@pytest.fixture(scope="session")
def directory() -> Iterator[Path]:
    """A directory for sockets and logs. The paths of sockets are bounded, and pytest's own are deep."""
    with tempfile.TemporaryDirectory(prefix="wuu-") as path:
        yield Path(path)


@pytest_asyncio.fixture(scope="session")
async def the_router(directory: Path) -> AsyncIterator[Router]:
    router = Router(directory / "router")
    await router.start()
    yield router
    await router.stop()


@pytest.fixture
def router(the_router: Router) -> Router:
    """The router; until a test says otherwise it echoes."""
    the_router.answer = echo
    return the_router


@pytest_asyncio.fixture(scope="session")
async def bridge(directory: Path, the_router: Router) -> AsyncIterator[Bridge]:
    """The bridge of all tests. It must still live at the end."""
    bridge = Bridge(directory, the_router)
    await bridge.start()
    yield bridge
    assert await bridge.stop() == 0, bridge.log.read_text()


@pytest_asyncio.fixture
async def own_bridge(directory: Path, the_router: Router) -> AsyncIterator[Bridge]:
    """A bridge for one test."""
    bridge = Bridge(directory, the_router)
    await bridge.start()
    yield bridge
    await bridge.stop()


@pytest_asyncio.fixture
async def attach(bridge: Bridge, router: Router) -> AsyncIterator[Start]:
    """Attaches plugins to the bridge of all tests; see `Bridge.attach`."""
    started: list[Instance] = []

    async def start(*args: Any, **options: Any) -> Instance:
        instance = await bridge.attach(*args, **options)
        started.append(instance)
        return instance

    yield start
    for instance in started:
        await instance.end()


@pytest_asyncio.fixture
async def probe(attach: Start) -> Instance:
    """An active probe."""
    instance = await attach()
    return await instance.up()
