"""Packages on disk, made briefly."""

from __future__ import annotations

import json
from pathlib import Path

MANIFEST: dict[str, object] = {
    "schema_version": 1,
    "id": "example.notes",
    "name": "Notes",
    "version": "0.1.0",
    "runtime": {"protocol": "wuu-plugin-v1", "command": "node", "args": ["dist/runtime.js"]},
}
RUNTIME: dict[str, object] = {"protocol": "wuu-plugin-v1", "command": "node"}


def write(root: Path, **fields: object) -> Path:
    """A package at `root` whose manifest differs in `fields`; None takes one out."""
    manifest = {key: value for key, value in (MANIFEST | fields).items() if value is not None}
    root.mkdir(parents=True, exist_ok=True)
    (root / "plugin.json").write_text(json.dumps(manifest))
    return root
