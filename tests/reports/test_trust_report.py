"""The JSON of comparisons is described by its schema and its page."""

from __future__ import annotations

import json
from pathlib import Path

from fairtrial import compare
from fairtrial.reports.decisions.trust_report import Document, encode_document
from fairtrial.reports.schemas import schema
from graded_runs import graded_run
from schema_checks import check_shape

DOCS = Path(__file__).parents[2] / "docs"


def test_every_key_is_documented() -> None:
    """Each property of the schema stands on its page."""
    page = (DOCS / "reference" / "trust-schema.md").read_text(encoding="utf-8")
    shapes = schema((list[Document],))["$defs"].values()
    keys = {key for shape in shapes for key in shape.get("properties", {})}
    assert sorted(key for key in keys if f"`{key}`" not in page) == []


def test_a_comparison_fits_the_schema() -> None:
    """With moved cases, missing attempts and a test of McNemar."""
    runs = graded_run({"a": [1], "b": [0], "c": [None]}), graded_run({"a": [0], "b": [1], "c": [1]})
    document = json.loads(encode_document(compare(*runs)))
    check_shape(document, "Comparison")
