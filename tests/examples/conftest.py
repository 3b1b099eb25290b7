"""What the examples need before they run."""

from __future__ import annotations

import pytest

from tests.examples.mesh import EXAMPLES


@pytest.fixture(scope="session", autouse=True)
def node_packages() -> None:
    """examples/documents-memory is set up, which takes a network and so is no test's to do."""
    # npm writes this file last.
    if not (EXAMPLES / "documents-memory" / "node_modules" / ".package-lock.json").is_file():
        pytest.fail(
            "examples/documents-memory is not set up: `./mesh test` does it, or `npm ci` there;"
            " both need Node 20 or later and its npm on PATH",
            pytrace=False,
        )
