"""Since when the typical case of a run's most frequent failure mode fails, from the earlier runs of its series."""

from __future__ import annotations

from contextlib import suppress
from typing import Literal

from fairtrial.api.run_parts.case_series import case_history
from fairtrial.errors import UsageError
from fairtrial.records.failure_mode import Failures, LastingFailure

_MOST_SERIES = 20
_MOST_CASES = 2_000
"""The most runs, and the most cases of a run, that are read."""


def find_lasting(failures: Failures | None, url: str) -> LastingFailure | None:
    """Return since when the typical case fails, in the store at a URL. None if the run is not its newest run."""
    if failures is None or not failures.modes or failures.cases > _MOST_CASES:
        return None
    examples = max(failures.modes, key=lambda mode: (mode.attempts, mode.repaired)).examples
    if not examples:
        return None
    case = examples[0][0]
    with suppress(UsageError):  # the series of a run that is going on may have no finished run
        own = case_history(case, failures.run, last=_MOST_SERIES, store=url)
        if own.state in ("broken", "flaky") and own.runs[-1].id == failures.run:
            state: Literal["broken", "flaky"] = "broken" if own.state == "broken" else "flaky"
            started = next(row.started for row in own.runs if row.id == own.since)
            return LastingFailure(case, state, own.since, started, len(own.runs))
    return None
