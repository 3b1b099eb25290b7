"""The contracts under `proto/`, by service, from the descriptor set that `./mesh gen` writes."""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from typing import Any

from google.protobuf import descriptor_pool
from google.protobuf.descriptor import ServiceDescriptor as ProtoService
from google.protobuf.descriptor_pb2 import FileDescriptorSet

from contract.declaration import contract_options, major_of
from wuu.mesh.v1 import options_pb2


class Contracts:
    """The gRPC services of one descriptor set."""

    def __init__(self, serialized: bytes) -> None:
        """`serialized` is a google.protobuf.FileDescriptorSet in which every import is included."""
        self._pool = descriptor_pool.DescriptorPool()
        self._by_contract: dict[tuple[str, int], ProtoService] = {}
        files_in = FileDescriptorSet.FromString(serialized)
        for file in files_in.file:
            self._pool.Add(file)
        for file in files_in.file:
            for service in file.service:
                found = self.grpc_service(f"{file.package}.{service.name}")
                options: Any = found.GetOptions()
                if options.HasExtension(options_pb2.service):
                    contract = contract_options(found)
                    self._by_contract[contract.name, major_of(contract.version)] = found

    def grpc_service(self, full_name: str) -> ProtoService:
        """The gRPC service of that full name; KeyError where there is none."""
        return self._pool.FindServiceByName(full_name)

    def contract(self, name: str, major: int) -> ProtoService | None:
        """The gRPC service that carries `name@major`; None where it would be dynamic."""
        return self._by_contract.get((name, major))


@cache
def own_contracts() -> Contracts:
    """The contracts under `proto/`."""
    return Contracts(files("wuu").joinpath("descriptors.binpb").read_bytes())
