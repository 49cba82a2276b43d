"""The JSON Schema of everything that reports write. `python -m fairtrial.reports.schemas` prints it."""

from __future__ import annotations

import inspect
from typing import Any, get_args

import msgspec

from fairtrial.records.trace_selection import TraceSelection
from fairtrial.records.value_row import ValueRow
from fairtrial.reports.decisions.listing_documents import ExaminedPart
from fairtrial.reports.decisions.trust_report import Document
from fairtrial.reports.views.attempt_shapes import AttemptView, ReportView
from fairtrial.reports.views.board_shapes import BoardRequest, BoardView, NoteRequest
from fairtrial.reports.views.label_shapes import (
    AgreementView,
    ClaimedItems,
    LabelProgressView,
    LabelRequest,
    LabelsView,
    QueueRequest,
    WindowRequest,
)
from fairtrial.reports.views.mode_shapes import ModesView
from fairtrial.reports.views.view_shapes import FoundCases, OpenedRuns, PageView, RunChange, RunListView

VIEWS = (
    PageView,
    AttemptView,
    RunListView,
    OpenedRuns,
    FoundCases,
    RunChange,
    ModesView,
    LabelsView,
    ClaimedItems,
    LabelProgressView,
    AgreementView,
    QueueRequest,
    WindowRequest,
    LabelRequest,
    BoardView,
    BoardRequest,
    NoteRequest,
)
"""Everything that pages read and send."""


def schema(
    roots: tuple[Any, ...] = (
        ReportView,
        *get_args(Document),
        list[Document],
        list[ExaminedPart],
        TraceSelection,
        ValueRow,
        *VIEWS,
    ),
) -> dict[str, Any]:
    """Return the JSON Schema (2020-12) of documents, or of everything that reports write."""
    described = msgspec.json.schema_components(roots, ref_template="#/$defs/{name}")
    # msgspec describes an empty tuple as a tuple, and not as a list of JSON.
    references, components = msgspec.json.decode(msgspec.json.encode(described))
    for shape in components.values():
        if "description" in shape:
            shape["description"] = inspect.cleandoc(shape["description"])  # from 3.13 on Python does so itself
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "anyOf": list(references),
        "$defs": dict(sorted(components.items())),
    }


if __name__ == "__main__":
    print(msgspec.json.format(msgspec.json.encode(schema()), indent=2).decode())  # noqa: T201
