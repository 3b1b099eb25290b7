"""What the examples need before they run."""

from __future__ import annotations

import shutil
import subprocess
import sys

import pytest

from tests.examples.mesh import EXAMPLES


@pytest.fixture(scope="session", autouse=True)
def node_packages(request: pytest.FixtureRequest) -> None:
    """Sets up examples/documents-memory once, as its author would. This alone needs a network."""
    package = EXAMPLES / "documents-memory"
    if (package / "node_modules").is_dir():
        return
    npm = shutil.which("npm")
    assert npm, "the examples need Node 20 or later: neither node nor npm may be missing on PATH"
    command = [npm, "ci", "--no-audit", "--no-fund"]
    capture = request.config.pluginmanager.getplugin("capturemanager")
    assert capture is not None
    with capture.global_and_fixture_disabled():
        sys.stderr.write(f"\nexamples: setting up {package.name} (once): npm {' '.join(command[1:])}\n")
    subprocess.run(command, cwd=package, check=True, capture_output=True)
