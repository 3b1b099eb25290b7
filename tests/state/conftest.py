"""Instances of both engines for the tests of the document store."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path

import pytest
import pytest_asyncio

from tests.state.instance import ENGINES, Instance, Place

Make = Callable[..., Instance]


@pytest.fixture(scope="session")
def sockets() -> Iterator[Path]:
    """A directory for sockets. Their paths are bounded, and pytest's own directories are deep."""
    with tempfile.TemporaryDirectory(prefix="wuu-") as directory:
        yield Path(directory)


@pytest_asyncio.fixture(scope="session", params=ENGINES)
async def store(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, sockets: Path
) -> AsyncIterator[Instance]:
    """One active instance of each engine for all tests that need no store of their own.

    A test keeps to a namespace of its own, and asks for the revision.
    """
    instance = Instance(Place(request.param, tmp_path_factory.mktemp(request.param)), sockets)
    try:
        yield await instance.start()
    finally:
        await instance.stop()


@pytest.fixture(params=ENGINES)
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Place:
    """A place of each engine where nothing lies yet."""
    return Place(request.param, tmp_path)


@pytest_asyncio.fixture
async def make(sockets: Path) -> AsyncIterator[Make]:
    """Makes instances; whichever still run at the end of the test are stopped."""
    made: list[Instance] = []

    def one(place: Place, config: bytes = b"") -> Instance:
        made.append(Instance(place, sockets, config))
        return made[-1]

    yield one
    await asyncio.gather(*(instance.stop() for instance in made))
