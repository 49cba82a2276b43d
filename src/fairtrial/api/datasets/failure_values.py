"""The failure columns of a conversation of a data set: its decisive step and its properties."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fairtrial.analysis.failures.attempt_features import attempt_features
from fairtrial.analysis.failures.events import Conversation
from fairtrial.analysis.failures.findings import Attempt
from fairtrial.analysis.failures.run_failures import explain
from fairtrial.analysis.failures.tool_effects import read_hints
from fairtrial.api.result_folders.dataset_tables import FAILURE, failure_row
from fairtrial.records.result import Verdict

if TYPE_CHECKING:
    from fairtrial.records.attempt import Recording
    from fairtrial.records.case import EvalCase
    from fairtrial.reports.table_rows import Row, TableAttempt


def failure_values(case: EvalCase, recording: Recording, attempt: TableAttempt) -> Row:
    """Return the failure columns of an attempt: its decisive step if it failed, and its properties."""
    conversation = Conversation(recording.trace)
    features = sorted(attempt_features(attempt.result, conversation, case))
    if attempt.verdict is Verdict.PASSED:
        return (attempt.result.title, attempt.verdict.value, *(None,) * (len(FAILURE) - 2), features)
    hints = read_hints(recording.trace.agents)
    failed = explain(Attempt(attempt.result, recording, case, None, hints, attempt.verdicts), conversation)
    return (*failure_row(failed, attempt.verdict.value), features)
