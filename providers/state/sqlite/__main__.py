"""The program of `wuu.state.sqlite`."""

from __future__ import annotations

from provider_kit import serve
from providers.state.documents.module import DocumentsModule
from providers.state.sqlite.store import SqliteStore

if __name__ == "__main__":
    serve(DocumentsModule(SqliteStore, "documents.sqlite3"))
