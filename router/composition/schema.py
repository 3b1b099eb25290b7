"""Schema: the JSON Schema of a composition, made of the types of its form, for editors."""

from __future__ import annotations

from typing import Any

import msgspec

from router.composition.form import DocumentForm

DIALECT = "https://json-schema.org/draft/2020-12/schema"
"""What the schema is written in."""


def document_schema() -> dict[str, Any]:
    """The schema of a document. It knows the form; what the names in a document mean, only a mesh does."""
    (reference,), definitions = msgspec.json.schema_components((DocumentForm,), ref_template="#/$defs/{name}")
    own = definitions.pop(DocumentForm.__name__)
    assert reference == {"$ref": f"#/$defs/{DocumentForm.__name__}"}
    own["title"] = "Wuu Mesh composition"
    return {"$schema": DIALECT, **own, "$defs": definitions}
