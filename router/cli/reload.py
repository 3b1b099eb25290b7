"""`wuu-mesh reload`."""

from __future__ import annotations

from pathlib import Path

from router.cli.argument import check_module
from router.cli.transition import carry_out
from wuu.mesh.v1.control_pb2 import ReloadRequest


def reload(root: Path | None, module: str, *, json: bool) -> None:
    """Starts a module anew, or every one, with what depends on it."""
    if module:
        check_module(module)
    carry_out(root, "Reload", ReloadRequest(module=module), json=json)
