"""`wuu-mesh enable`."""

from __future__ import annotations

from pathlib import Path

from router.cli.argument import check_module
from router.cli.transition import carry_out
from wuu.mesh.v1.control_pb2 import SetEnabledRequest


def enable(root: Path | None, module: str, *, json: bool) -> None:
    """Enables a module in the composition that runs."""
    check_module(module)
    request = SetEnabledRequest(module=module, enabled=True)
    carry_out(root, "SetEnabled", request, json=json)
