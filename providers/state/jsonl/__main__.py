"""The program of `wuu.state.jsonl`."""

from __future__ import annotations

from provider_kit import serve
from providers.state.documents.module import DocumentsModule
from providers.state.jsonl.store import JsonlStore

if __name__ == "__main__":
    serve(DocumentsModule(JsonlStore, "documents.jsonl"))
