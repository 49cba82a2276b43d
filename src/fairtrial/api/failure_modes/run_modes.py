"""Find the failure modes of a run, and how they changed since an earlier run."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fairtrial.analysis.failures.mode_changes import compare_modes
from fairtrial.analysis.failures.modes import LARGEST_DISTANCE
from fairtrial.api.collected_failures import case_keys, find_failures
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

    `run` is the beginning of the id of a stored run, or a run of this process. At most at `largest_distance`, from 0 to
    1, a rare kind of failure joins another. Raises UsageError without such a run, or if the distance is not in 0..1.
    """
    return find_failures(find_run(run, store), largest_distance=largest_distance)


def failure_changes(run: str | Path | Run, earlier: str | Path | Run, *, store: str = DEFAULT_URL) -> ModeChanges:
    """Return which failure modes are new, gone, more frequent or less frequent than in an earlier run.

    Raises UsageError if there is no such run.
    """
    now, before = find_run(run, store), find_run(earlier, store)
    return compare_modes(failures(before), failures(now), case_keys(before), case_keys(now))


def find_run(run: str | Path | Run, store: str) -> Run:
    """Return a run of the store. Raises UsageError for a file, which holds no conversations."""
    if isinstance(run, Run):
        return run
    if is_file(run):
        raise UsageError(
            f"{run}: failures need the conversations; give the id of a run in the store, or import the run"
        )
    return reread(store, str(run))
