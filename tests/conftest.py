"""What every suite stands on."""

from __future__ import annotations

import os
import signal

import pytest
from hypothesis import settings

# What is slow is a benchmark's to say: here it is the machine that is busy.
settings.register_profile("mesh", deadline=None)
settings.load_profile("mesh")

# The composition of whoever runs the tests is none of theirs.
os.environ["XDG_CONFIG_HOME"] = "/nowhere"


@pytest.fixture(scope="session", autouse=True)
def heeded() -> None:
    """Signals that tests send: what runs in the background ignores some, and its children would, too."""
    for number in (signal.SIGINT, signal.SIGHUP):
        if signal.getsignal(number) is signal.SIG_IGN:
            signal.signal(number, signal.SIG_DFL)
