"""`wuu-mesh --version`."""

from __future__ import annotations

from importlib.metadata import version


def print_version() -> None:
    """Prints the version of the distribution."""
    print(version("wuu-mesh"))  # noqa: T201 (nothing else is imported for it)
