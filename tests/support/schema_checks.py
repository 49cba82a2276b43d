"""Checks of documents against the JSON Schema in the documentation."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

SCHEMA: dict[str, Any] = json.loads((Path(__file__).parents[2] / "docs" / "schema.json").read_bytes())


def check_shape(document: Any, shape: str) -> None:
    """Raise an error unless a document has a shape of the schema."""
    jsonschema = pytest.importorskip("jsonschema")
    jsonschema.Draft202012Validator({**SCHEMA, "anyOf": [{"$ref": f"#/$defs/{shape}"}]}).validate(document)
