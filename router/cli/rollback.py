"""`wuu-mesh rollback`."""

from __future__ import annotations

from pathlib import Path

from router.cli.transition import carry_out
from wuu.mesh.v1.control_pb2 import RollbackRequest


def rollback(root: Path | None, *, json: bool) -> None:
    """Applies the composition that was committed before the present one."""
    carry_out(root, "Rollback", RollbackRequest(), json=json)
