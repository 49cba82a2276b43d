"""The failure columns of a conversation of a data set: its decisive step and its properties."""

from __future__ import annotations

from fairtrial.analysis.failures.attempt_features import attempt_features
from fairtrial.analysis.failures.events import Conversation
from fairtrial.analysis.failures.run_failures import find_failure
from fairtrial.api.result_folders.dataset_tables import FAILURE, failure_row
from fairtrial.records.attempt import Recording
from fairtrial.records.case import EvalCase
from fairtrial.records.result import Verdict
from fairtrial.reports.table_rows import Row, TableAttempt


def failure_values(case: EvalCase, recording: Recording, attempt: TableAttempt) -> Row:
    """Return the failure columns of an attempt: its decisive step if it failed, and its properties."""
    if attempt.verdict is Verdict.PASSED:
        features = sorted(attempt_features(attempt.result, Conversation(recording.trace), case))
        return (attempt.result.title, attempt.verdict.value, *(None,) * (len(FAILURE) - 2), features)
    found = find_failure(attempt.result, recording, case, attempt.verdicts)
    return (*failure_row(found.failed, attempt.verdict.value), list(found.features))
