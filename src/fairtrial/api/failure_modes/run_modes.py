"""Find the failure modes of a run, and how they changed since an earlier run."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fairtrial.analysis.failures.mode_changes import compare_modes
from fairtrial.analysis.failures.modes import LARGEST_DISTANCE
from fairtrial.api.collected_failures import case_keys, check_distance, find_failures
from fairtrial.api.dataset_sources import is_folder_of_results
from fairtrial.api.failure_modes.folder_modes import folder_failures
from fairtrial.api.run_sources import is_file
from fairtrial.api.stored_runs import Run, reread
from fairtrial.errors import UsageError
from fairtrial.records.failure_mode import Failures, ModeChanges
from fairtrial.store import DEFAULT_URL

if TYPE_CHECKING:
    from pathlib import Path


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

    Raises UsageError if there is no such run.
    """
    now, before = find_run(run, store), find_run(earlier, store)
    return compare_modes(failures(before), failures(now), case_keys(before), case_keys(now))


def find_run(run: str | Path | Run, store: str) -> Run:
    """Return a run of the store. Raises UsageError for a file or a folder, which holds no conversations."""
    if isinstance(run, Run):
        return run
    if is_folder_of_results(run):
        raise UsageError(
            f"{run}: a folder of results lists modes only; give the run in the store, which has the conversations"
        )
    if is_file(run):
        raise UsageError(
            f"{run}: failures need the conversations; give the id of a run in the store, or import the run"
        )
    return reread(store, str(run))
