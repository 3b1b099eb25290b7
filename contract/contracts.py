"""The contracts under `proto/`, by service, from the descriptor set that `./mesh gen` writes."""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from typing import Any

from google.protobuf import descriptor_pool
from google.protobuf.descriptor import MethodDescriptor as ProtoMethod
from google.protobuf.descriptor import ServiceDescriptor as ProtoService
from google.protobuf.descriptor_pb2 import FileDescriptorSet
from google.protobuf.message import DecodeError

from contract.declaration import contract_options, major_of
from contract.errors import MeshError, clip
from wuu.mesh.v1 import options_pb2
from wuu.mesh.v1.declaration_pb2 import MethodDescriptor

_QUOTED = 200
"""Bytes that are quoted of what the library says about descriptors."""


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


def carrier(
    grpc_service: str, method: MethodDescriptor, file_descriptor_set: bytes, provider: str
) -> ProtoMethod:
    """The rpc that carries a declared method of a typed service.

    `file_descriptor_set` is what the package of `provider` brings; empty: the service is one of `proto/`.
    Raises `host_error` naming the provider for descriptors that cannot be read or do not have the rpc.
    """
    try:
        contracts = Contracts(file_descriptor_set) if file_descriptor_set else own_contracts()
        return contracts.grpc_service(grpc_service).methods_by_name[method.rpc]
    except KeyError:
        raise MeshError(
            "host_error",
            f"{grpc_service}/{method.rpc} stands neither in proto/ nor in the package of {provider}",
            remedy="Let the package bring its descriptors.binpb.",
        ) from None
    except (DecodeError, TypeError, ValueError) as broken:
        words = clip(" ".join(str(broken).split()), _QUOTED)
        raise MeshError(
            "host_error",
            f"descriptors.binpb in the package of {provider} cannot be used: {words}",
            remedy="Make it with `protoc --include_imports --descriptor_set_out`.",
        ) from None
