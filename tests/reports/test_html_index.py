"""The index of the HTML report holds every case, without memory for them."""

from __future__ import annotations

import base64
import gzip
import json
import tempfile
import tracemalloc

import pytest

from fairtrial.reports.html_index import IndexedRows, data_element, page_pieces
from fairtrial.reports.views.view_shapes import AttemptRow, CaseRow, CaseVerdict


def row(position: int, verdict: CaseVerdict = "passed", query: str = "") -> CaseRow:
    """A case with one attempt."""
    return CaseRow(position, f"case_{position}", "shop", verdict, [AttemptRow(position, 1, verdict)], query)


@pytest.mark.long
def test_the_index_of_many_cases_takes_little_memory() -> None:
    """1,000 cases whose JSON has 10 MB are in the element in their order, with a peak below 4 MB."""
    with tempfile.TemporaryFile() as file:
        rows = IndexedRows(file, lambda value: value, None)
        tracemalloc.start()
        try:
            for position in range(1000):
                rows.add(row(position, query=f"{position}" + "x" * 10_000))
            element = b"".join(data_element("page", page_pieces({"language": "ko", "cases": []}, [rows, rows])))
            _, peak = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
    packed = element.partition(b">")[2].removesuffix(b"</script>\n")
    page = json.loads(gzip.decompress(base64.b64decode(packed, validate=True)))
    assert page["language"] == "ko"
    assert [[own["position"] for own in cases] for cases in page["cases"]] == [list(range(1000))] * 2
    assert peak < 4_000_000


def test_the_plain_summary_gets_one_attempt_more_than_it_lists() -> None:
    """Of 100 cases that failed, between cases that passed, it gets 51."""
    with tempfile.TemporaryFile() as file:
        rows = IndexedRows(file, lambda value: value, None)
        for position in range(200):
            rows.add(row(position, "failed" if position % 2 else "passed"))
        assert [own["position"] for own in rows.listed] == list(range(1, 103, 2))
        rows.clear()
        assert (rows.listed, b"".join(rows.pieces())) == ([], b"[]")
