"""The program of every `bench.decorator-…`: stands in front of documents, and passes everything on."""

from __future__ import annotations

from contract.declaration import describe
from provider_kit import Module, delegate, requirement, serve
from wuu.state.documents.v1 import documents_pb2


class Decorator(Module):
    """Provides and requires `state.documents@1`."""

    requires = (requirement("state.documents@1"),)

    def __init__(self) -> None:
        contract = documents_pb2.DESCRIPTOR.services_by_name["Documents"]
        served = ("Read", "Commit", "Export")
        self.provides = [delegate(describe(contract, implemented=served, features=("paged_export",)), {})]


if __name__ == "__main__":
    serve(Decorator())
