"""`wuu-mesh enable` and `wuu-mesh disable`."""

from __future__ import annotations

from pathlib import Path

from router.cli.argument import check_module
from router.cli.transition import carry_out
from wuu.mesh.v1.control_pb2 import SetEnabledRequest


def switch(root: Path | None, module: str, *, enabled: bool, json: bool) -> None:
    """Enables or disables a module in the composition that runs."""
    check_module(module)
    carry_out(root, "SetEnabled", SetEnabledRequest(module=module, enabled=enabled), json=json)
