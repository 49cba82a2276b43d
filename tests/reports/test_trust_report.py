"""The JSON of comparisons is described by its schema and its page."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import jsonschema

from fairtrial import compare
from fairtrial.reports.decisions.trust_report import encode_document
from graded_runs import graded_run

DOCS = Path(__file__).parents[2] / "docs"
SCHEMA = DOCS / "trust.schema.json"


def test_the_schema_in_the_documentation_is_the_generated_one() -> None:
    """`make docs` was run after the last change of a document."""
    done = subprocess.run(
        [sys.executable, "-m", "fairtrial.reports.decisions.trust_report"], capture_output=True, check=True
    )
    assert done.stdout == SCHEMA.read_bytes()


def test_every_key_is_documented() -> None:
    """Each property of the schema stands on its page."""
    page = (DOCS / "reference" / "trust-schema.md").read_text(encoding="utf-8")
    shapes = json.loads(SCHEMA.read_text(encoding="utf-8"))["$defs"].values()
    keys = {key for shape in shapes for key in shape.get("properties", {})}
    assert sorted(key for key in keys if f"`{key}`" not in page) == []


def test_a_comparison_fits_the_schema() -> None:
    """With moved cases, missing attempts and a test of McNemar."""
    runs = graded_run({"a": [1], "b": [0], "c": [None]}), graded_run({"a": [0], "b": [1], "c": [1]})
    document = json.loads(encode_document(compare(*runs)))
    jsonschema.validate(document, json.loads(SCHEMA.read_text(encoding="utf-8")))
