"""Read a run, and find its failure modes. Conversations are read one after the other, and none is kept."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import groupby
from typing import TYPE_CHECKING

from fairtrial.analysis.failures.mode_changes import compare_modes
from fairtrial.analysis.failures.mode_counts import count_modes
from fairtrial.analysis.failures.modes import CUT
from fairtrial.analysis.failures.run_failures import FailureCollector
from fairtrial.api.run_sources import is_file
from fairtrial.api.stored_runs import Run, reread
from fairtrial.errors import UsageError
from fairtrial.records.failure_mode import Failures, ModeChanges
from fairtrial.records.keys import CaseKey
from fairtrial.reports.transcript import Transcript, transcripts
from fairtrial.store import DEFAULT_URL

if TYPE_CHECKING:
    from pathlib import Path


def failures(run: str | Path | Run, *, store: str = DEFAULT_URL, cut: float = CUT) -> Failures:
    """Return the decisive step of each failed attempt, and the modes of the failures.

    `run` is the beginning of the id of a stored run, or a run of this process. `cut` is the largest distance, from 0 to
    1, at which a rare kind of failure joins another. Raises UsageError if there is no such run.
    """
    if not 0 <= cut <= 1:
        raise UsageError(f"cut must be from 0 to 1, got {cut:g}")
    own = find_run(run, store)
    return count_modes(collect(own), own.info.id, cut=cut)


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


def case_keys(run: Run) -> Mapping[int, CaseKey]:
    """Return the identities of the cases of a run by their positions."""
    return {expected.position: expected.key for expected in run.expected}


def collect(run: Run) -> FailureCollector:
    """Read all attempts of a run, case by case."""
    collector = FailureCollector()
    for attempts in by_position(transcripts(run)):
        collector.add_case([(own.result, own.recording) for own in attempts], attempts[0].case)
    return collector


def by_position(attempts: Iterator[Transcript]) -> Iterator[list[Transcript]]:
    """Yield the attempts at each case together."""
    for _, own in groupby(attempts, key=lambda transcript: transcript.result.position):
        yield list(own)
