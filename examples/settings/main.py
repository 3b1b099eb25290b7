"""The settings and the opaque state of plugins, kept in files: a provider of `state.plugin-settings@1`.

Every revision is a file of its own, so that no two writers ever make the same one.
"""

import hashlib
import os
import tempfile
from functools import partial
from pathlib import Path
from typing import Literal, TypeVar

import msgspec

from provider_kit import Call, Dynamic, MeshError, Module, serve
from wuu.mesh.v1.lifecycle_pb2 import InitializeRequest

Params = TypeVar("Params")


class Target(msgspec.Struct, forbid_unknown_fields=True):
    """Whose, and for where."""

    subject: str
    scope: Literal["user", "workspace"]


class Update(Target):
    """What takes the place of all values."""

    expected_revision: str
    values: dict[str, msgspec.Raw]
    fingerprint: str = ""
    """Of the package that settings fit; a state has none."""


class Record(msgspec.Struct):
    values: dict[str, msgspec.Raw] = {}
    fingerprint: str = ""


class Settings(Module):
    def __init__(self) -> None:
        methods = {
            "read": partial(self.read, "settings"),
            "update": partial(self.update, "settings"),
            "read-state": partial(self.read, "state"),
            "update-state": partial(self.update, "state"),
        }
        # What is marked so others may call before they are committed; it writes nothing.
        self.provides = [
            Dynamic("state.plugin-settings", methods, preparation=("read", "read-state")),
        ]

    async def configure(self, request: InitializeRequest) -> None:
        self.root = Path(request.state_dir)

    async def read(self, kind: str, params: bytes, _: Call) -> bytes:
        place = self.place(kind, checked(params, Target))
        revision = newest(place)
        record = Record()
        if revision:
            record = msgspec.json.decode((place / f"{revision}.json").read_bytes(), type=Record)
        found = {"revision": str(revision), "values": record.values}
        return msgspec.json.encode(found if kind == "state" else {**found, "fingerprint": record.fingerprint})

    async def update(self, kind: str, params: bytes, _: Call) -> bytes:
        asked = checked(params, Update)
        place = self.place(kind, asked)
        present = newest(place)
        if asked.expected_revision != str(present):
            raise conflict(f"{asked.subject} is at revision {present}, not at {asked.expected_revision}")
        place.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(dir=place) as written:
            written.write(msgspec.json.encode(Record(asked.values, asked.fingerprint)))
            written.flush()
            os.fsync(written.fileno())
            try:
                # Another writer may have come this far; a file of that name is made once.
                os.link(written.name, place / f"{present + 1}.json")
            except FileExistsError:
                raise conflict(f"{asked.subject} was written meanwhile") from None
        return msgspec.json.encode({"revision": str(present + 1)})

    def place(self, kind: str, target: Target) -> Path:
        return self.root / kind / target.scope / hashlib.sha256(target.subject.encode()).hexdigest()


def newest(place: Path) -> int:
    return max((int(file.stem) for file in place.glob("*.json")), default=0)


def conflict(message: str) -> MeshError:
    return MeshError("settings_conflict", message, remedy="Read again, then build the update anew.")


def checked(params: bytes, shape: type[Params]) -> Params:
    try:
        return msgspec.json.decode(params or b"null", type=shape)
    except msgspec.ValidationError as wrong:
        raise MeshError("invalid_params", str(wrong)) from None


serve(Settings())
