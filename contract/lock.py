"""The lock of method names and flags, which `buf breaking` does not see.

`python -m contract.lock DESCRIPTORS` prints one line per method; the lines are committed with `gen/`, so that
a change of a contract shows in review.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from google.protobuf.descriptor_pb2 import FileDescriptorSet
from google.protobuf.descriptor_pool import DescriptorPool
from google.protobuf.message import Message
from google.protobuf.message_factory import GetMessageClass


def lock(serialized: bytes) -> list[str]:
    """The lines for a serialized google.protobuf.FileDescriptorSet, sorted. Every import is included."""
    described = FileDescriptorSet.FromString(serialized)
    options = _Options(described)
    lines: list[str] = []
    for file in described.file:
        for service in file.service:
            contract = options.stated(service.options, "wuu.mesh.v1.service")
            if not contract.name:
                continue
            for method in service.method:
                stated = options.stated(method.options, "wuu.mesh.v1.method")
                path = f"/{file.package}.{service.name}/{method.name}"
                words = [f"{contract.name}@{contract.version}", stated.name, path, *_flags(stated)]
                lines.append(" ".join(words))
    return sorted(lines)


class _Options:
    """The options as the set itself defines them: those in `gen/` may be older than what is locked."""

    def __init__(self, described: FileDescriptorSet) -> None:
        self._pool = DescriptorPool()
        for file in described.file:
            self._pool.Add(file)

    def stated(self, options: Message, extension: str) -> Any:
        """What options say in an extension; nothing where they do not have it."""
        found: Any = self._pool.FindExtensionByName(extension)
        own: Any = GetMessageClass(found.containing_type).FromString(options.SerializeToString())
        return own.Extensions[found]


def _flags(stated: Any) -> list[str]:
    return [
        field.name
        for field in sorted(stated.DESCRIPTOR.fields, key=lambda field: field.number)
        if field.type == field.TYPE_BOOL and getattr(stated, field.name)
    ]


if __name__ == "__main__":
    sys.stdout.write("\n".join(lock(Path(sys.argv[1]).read_bytes())) + "\n")
