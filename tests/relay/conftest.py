"""The loop in which relays run in memory."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.relay.line import Loop
from tests.relay.stage import Stage


@pytest.fixture(scope="session")
def loop() -> Iterator[Loop]:
    loop = Loop()
    yield loop
    loop.close()


@pytest.fixture
def stage(loop: Loop) -> Stage:
    return Stage(loop)
