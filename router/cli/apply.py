"""`wuu-mesh apply`."""

from __future__ import annotations

from pathlib import Path

from router.cli.composition import document_or_fail
from router.cli.exits import EXIT_USAGE, fail
from router.cli.transition import carry_out
from wuu.mesh.v1.control_pb2 import ApplyRequest


def apply(root: Path | None, composition: Path, *, dry_run: bool, json: bool) -> None:
    """Makes a composition the one that runs."""
    document, path = document_or_fail(composition), str(composition.absolute())
    try:
        path.encode()
    except UnicodeEncodeError:
        # The mesh hears of it in a message, which has nothing else.
        fail(EXIT_USAGE, f"{path}: a composition has a path in UTF-8", "Move it to another path.")
    request = ApplyRequest(document=document, path=path, dry_run=dry_run)
    carry_out(root, "Apply", request, json=json)
