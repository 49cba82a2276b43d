"""Find the failure modes of a run, and how they changed since an earlier run."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fairtrial.analysis.failures.mode_changes import CaseRates, compare_modes, compare_shares, rates_of_run
from fairtrial.analysis.failures.modes import LARGEST_DISTANCE
from fairtrial.api.failure_modes.folder_modes import folder_failures, measure_failures
from fairtrial.api.result_folders.dataset_sources import is_folder_of_results
from fairtrial.api.run_parts.collected_failures import case_keys, check_distance, count_failures, find_failures
from fairtrial.api.run_sources import is_file
from fairtrial.api.stored_runs import Run, reread
from fairtrial.errors import UsageError
from fairtrial.store import DEFAULT_URL

if TYPE_CHECKING:
    from pathlib import Path

    from fairtrial.analysis.failures.failure_tally import FailureTally
    from fairtrial.records.failure_mode import Failures, ModeChanges


def failures(
    run: str | Path | Run, *, store: str = DEFAULT_URL, largest_distance: float = LARGEST_DISTANCE
) -> Failures:
    """Return the decisive step of each failed attempt, and the modes of the failures.

    `run` is the beginning of the id of a stored run, a run of this process, or a folder that `score --out` wrote. At
    most at `largest_distance`, from 0 to 1, a rare kind of failure joins another. Raises UsageError without such a run,
    or if the distance is not in 0..1.
    """
    if not isinstance(run, Run) and is_folder_of_results(run):
        check_distance(largest_distance)
        return folder_failures(run, largest_distance=largest_distance)
    return find_failures(find_run(run, store), largest_distance=largest_distance)


def failure_changes(run: str | Path | Run, earlier: str | Path | Run, *, store: str = DEFAULT_URL) -> ModeChanges:
    """Return which failure modes are new, gone, more frequent or less frequent than in an earlier run.

    Each may be a folder that `score --out` wrote. If both hold the same cases, these are compared case by case,
    otherwise the shares of cases. Raises UsageError if there is no such run.
    """
    now, tally, rates = _measure(run, store)
    before, earlier_tally, earlier_rates = _measure(earlier, store)
    if rates is not None and earlier_rates is not None and {*rates.attempts} & {*earlier_rates.attempts}:
        return compare_modes(before, now, earlier_rates, rates)
    return compare_shares(before, now, earlier_tally, tally)


def _measure(run: str | Path | Run, store: str) -> tuple[Failures, FailureTally, CaseRates | None]:
    """Return the failures of a run or a folder, their counts, and the rates of its cases if they have identities."""
    if not isinstance(run, Run) and is_folder_of_results(run):
        return measure_failures(run)
    stored_run = find_run(run, store)
    failures, tally = count_failures(stored_run)
    return failures, tally, rates_of_run(failures, case_keys(stored_run))


def find_run(run: str | Path | Run, store: str) -> Run:
    """Return a run of the store. Raises UsageError for a file or a folder, which holds no conversations."""
    if isinstance(run, Run):
        return run
    if is_folder_of_results(run):
        raise UsageError(
            f"{run}: a folder of results; give the run in the store, which has the conversations", code="missing-option"
        )
    if is_file(run):
        raise UsageError(
            f"{run}: failures need the conversations; give the id of a run in the store, or import the run",
            code="unusable-run",
        )
    return reread(store, str(run))
