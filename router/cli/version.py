"""`wuu-mesh --version`."""

from __future__ import annotations

from router.version import VERSION


def print_version() -> None:
    """Prints the version of the distribution."""
    print(VERSION)  # noqa: T201 (nothing else is imported for it)
