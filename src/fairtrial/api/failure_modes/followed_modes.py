"""The failure modes along the runs of a history."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from contextlib import closing
from itertools import accumulate
from typing import TYPE_CHECKING

from fairtrial.analysis.failures.mode_counts import count_modes
from fairtrial.analysis.failures.mode_series import RunModes, follow_modes
from fairtrial.analysis.failures.modes import LARGEST_DISTANCE
from fairtrial.analysis.failures.run_failures import FailureCollector, FoundAttempt
from fairtrial.api.run_parts.collected_failures import collect_stored
from fairtrial.api.run_parts.stored_attempts import StoredAttempts
from fairtrial.api.stores import open_store
from fairtrial.records.mode_history import ModeHistory
from fairtrial.store import DEFAULT_URL, Store
from fairtrial.text.display import count

if TYPE_CHECKING:
    from fairtrial.records.run_history import RunHistory

_RUNS_AT_ONCE, _CASES_AT_ONCE = 64, 1 << 16
"""So many runs, and cases of them, are read with one query for each table at most."""


def mode_history(history: RunHistory, *, store: str = DEFAULT_URL) -> ModeHistory:
    """Return the failure modes along the runs of a history: where each was seen first and last, and came back.

    `history` is a return value of `fairtrial.history` for the same store. Raises UsageError if a run is gone from it.
    """
    with closing(open_store(store, create=False)) as run_store:
        unknown: list[str] = []
        modes, alone = follow_modes(_read(run_store, history, unknown), history.false_every)
    notes = []
    if unknown:
        notes.append(
            f"{count(len(unknown), 'run')} of data sets hold failed conversations only, "
            "so that a mode that is missing there says nothing"
        )
    return ModeHistory(
        history.series, history.rows, tuple(modes), alone, history.false_every, history.earlier, tuple(notes)
    )


def _read(store: Store, history: RunHistory, unknown: list[str]) -> Iterator[RunModes]:
    """Yield the failures of each run, and note the runs of data sets, whose cases that passed were not stored.

    Many runs take one query for each table. Conversations are read only where a finding is not enough.
    """
    rows = list(history.rows)
    while rows:
        sizes = accumulate(row.cases for row in rows[:_RUNS_AT_ONCE])
        part = [row.id for row in rows[: max(1, sum(size <= _CASES_AT_ONCE for size in sizes))]]
        del rows[: len(part)]
        infos, keys = store.find_runs(part), dict(store.count_passes(part))
        attempts: defaultdict[str, list[FoundAttempt]] = defaultdict(list)
        for run_id, own in store.found_failures(part):
            attempts[run_id].append(FoundAttempt(*own))
        for run_id in part:
            info, collector = infos.get(run_id) or store.run(run_id), FailureCollector()
            stored, has_clusters = StoredAttempts(store, run_id), "clusters" in info.config
            collect_stored(stored, attempts.pop(run_id, ()), collector, has_clusters=has_clusters, passes=0)
            failures = count_modes(collector.tally, run_id, largest_distance=LARGEST_DISTANCE, failed=collector.failed)
            is_data_set = "dataset" in info.config
            unknown += [run_id] * is_data_set
            cases = dict(zip(keys[run_id].positions, keys[run_id].keys, strict=True))
            yield RunModes(run_id, failures, None if is_data_set else cases)
