"""Comparisons and checks of judges as JSON.

`python -m fairtrial.reports.decisions.trust_report` prints their JSON Schema.
"""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from typing import Any

import msgspec

from fairtrial.records.audit import GateAudit, SuiteAudit
from fairtrial.records.flaky_case import Flakiness
from fairtrial.records.gate import GateDecision
from fairtrial.records.judge_check import JudgeCheckReport
from fairtrial.records.mutation import MutationReport
from fairtrial.records.run_comparison import Comparison
from fairtrial.records.size_plan import SizePlan
from fairtrial.reports.judges.calibration_report import CalibrationShape
from fairtrial.reports.judges.report_card_report import ReportCardShape

Document = (
    Comparison
    | GateDecision
    | SizePlan
    | Flakiness
    | CalibrationShape
    | ReportCardShape
    | MutationReport
    | JudgeCheckReport
    | GateAudit
    | SuiteAudit
)
"""Everything that a command with `--json` writes about runs that exist already."""


def schema() -> dict[str, Any]:
    """Return the JSON Schema (2020-12) of the documents. Several candidates give a list of documents."""
    described = msgspec.json.schema(Document | list[Document])
    for shape in described["$defs"].values():
        shape["description"] = inspect.cleandoc(shape["description"])  # from 3.13 on Python does so itself
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **described}


def encode_document(document: Document | Sequence[Document]) -> bytes:
    """Return a document as indented JSON."""
    return msgspec.json.format(msgspec.json.encode(document), indent=1) + b"\n"


if __name__ == "__main__":
    print(msgspec.json.format(msgspec.json.encode(schema()), indent=2).decode())  # noqa: T201
