"""The lock of method names and flags, which `buf breaking` does not see.

`python -m contract.lock DESCRIPTORS` prints one line per method; the lines are committed with `gen/`, so that
a change of a contract shows in review.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from google.protobuf.descriptor_pb2 import FileDescriptorSet

from wuu.mesh.v1 import options_pb2

_FLAGS = ("preparation", "cleanup", "optional", "journaled", "positional", "watch")


def lock(serialized: bytes) -> list[str]:
    """The lines for a serialized google.protobuf.FileDescriptorSet, sorted."""
    lines: list[str] = []
    for file in FileDescriptorSet.FromString(serialized).file:
        for service in file.service:
            stated: Any = service.options
            if not stated.HasExtension(options_pb2.service):
                continue
            contract = stated.Extensions[options_pb2.service]
            for method in service.method:
                stated = method.options
                options = stated.Extensions[options_pb2.method]
                flags = [flag for flag in _FLAGS if getattr(options, flag)]
                path = f"/{file.package}.{service.name}/{method.name}"
                lines.append(" ".join([f"{contract.name}@{contract.version}", options.name, path, *flags]))
    return sorted(lines)


if __name__ == "__main__":
    sys.stdout.write("\n".join(lock(Path(sys.argv[1]).read_bytes())) + "\n")
