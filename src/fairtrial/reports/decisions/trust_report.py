"""Comparisons, plans, checks of judges and lists as JSON."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from fairtrial.records.audit import GateAudit, SuiteAudit
from fairtrial.records.failure_mode import Failures, ModeChanges
from fairtrial.records.flaky_case import Flakiness
from fairtrial.records.gate import GateDecision
from fairtrial.records.judging.judge_choice import JudgeChoice
from fairtrial.records.mode_history import ModeHistory
from fairtrial.records.mutation import MutationReport
from fairtrial.records.run_comparison import Comparison
from fairtrial.records.run_history import Bisection, CaseHistory, RunHistory, WatchedTraffic
from fairtrial.records.size_plan import SizePlan
from fairtrial.reports.decisions.listing_documents import (
    CheckedFiles,
    CommandResult,
    ListedCriteria,
    ListedLabels,
    ListedRuns,
    WrittenEvalSet,
)
from fairtrial.reports.judges.calibration_report import CalibrationShape
from fairtrial.reports.judges.judge_check_report import JudgeCheckShape

Document = (
    Comparison
    | GateDecision
    | SizePlan
    | Flakiness
    | CalibrationShape
    | JudgeCheckShape
    | JudgeChoice
    | MutationReport
    | GateAudit
    | SuiteAudit
    | Failures
    | ModeChanges
    | CheckedFiles
    | ListedRuns
    | ListedCriteria
    | ListedLabels
    | WrittenEvalSet
    | CommandResult
    | RunHistory
    | CaseHistory
    | ModeHistory
    | Bisection
    | WatchedTraffic
)
"""Everything that a command with `--json` writes, apart from the report of a run."""


def encode_document(document: Document | Sequence[Document]) -> bytes:
    """Return a document as indented JSON."""
    return msgspec.json.format(msgspec.json.encode(document), indent=1) + b"\n"
