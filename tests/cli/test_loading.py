"""Loading: a start takes as long as what it loads, so it loads nothing that it seldom needs."""

from __future__ import annotations

import subprocess
import sys

import pytest


@pytest.mark.parametrize(
    ("starts", "seldom"),
    [
        ("router.cli.status", ["filelock", "rich.console", "router.composition.resolve", "semver"]),
        ("router.__main__", ["filelock", "importlib.metadata", "nodesemver", "psutil"]),
        ("provider_kit", ["argparse", "semver"]),
    ],
)
def test_a_start_loads_nothing_that_it_seldom_needs(starts: str, seldom: list[str]) -> None:
    code = f"import sys, {starts}; print(*sys.modules, sep='\\n')"
    done = subprocess.run([sys.executable, "-P", "-c", code], capture_output=True, text=True, check=True)
    loaded = set(done.stdout.splitlines())
    assert starts in loaded
    assert not loaded & set(seldom)
