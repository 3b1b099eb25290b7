"""The module: configuration and lifecycle of a document store, whatever its engine."""

from __future__ import annotations

from pathlib import Path

import msgspec

from provider_kit import MeshError, Module, Provided, configuration
from providers.state.documents.service import Documents
from providers.state.documents.store import Store
from wuu.mesh.v1.lifecycle_pb2 import InitializeRequest
from wuu.state.documents.v1 import documents_pb2

DOCUMENTS = documents_pb2.DESCRIPTOR.services_by_name["Documents"]


class Config(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The operator's configuration."""

    path: str | None = None
    """The absolute path of the store; its directory exists. Absent: a file in the state directory."""


class DocumentsModule(Module):
    """Provides `state.documents@1` from one file."""

    def __init__(self, engine: type[Store], file_name: str) -> None:
        """`file_name` is the store's name in the state directory, where the operator names no path."""
        self._engine = engine
        self._file_name = file_name
        self.documents: Documents | None = None

    async def configure(self, request: InitializeRequest) -> None:
        """Takes the path. Nothing is opened."""
        config = configuration(request, Config)
        path = Path(request.state_dir) / self._file_name if config.path is None else Path(config.path)
        if not path.is_absolute() or "\0" in str(path):
            raise MeshError(
                "invalid_request", f"config of {request.module}: path: '{path}' is not an absolute path"
            )
        # One store has one name, and so one lock and one log, through whichever link it is reached.
        self.documents = Documents(self._engine, path.resolve(), request.module)
        self.provides = [Provided(DOCUMENTS, self.documents, features=("paged_export",))]

    async def prepare(self) -> None:
        """Refuses a store that cannot be trusted. Nothing is written."""
        assert self.documents is not None
        await self.documents.check()

    async def activate(self) -> None:
        """Opens the store, made where there is none."""
        assert self.documents is not None
        await self.documents.open()

    async def shutdown(self) -> None:
        """Closes the store."""
        if self.documents is not None:
            await self.documents.close()
