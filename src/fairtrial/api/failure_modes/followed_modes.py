"""The failure modes along the runs of a history."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from typing import TYPE_CHECKING

from fairtrial.analysis.failures.mode_series import RunModes, follow_modes
from fairtrial.api.run_parts.collected_failures import case_keys, count_failures
from fairtrial.api.stored_runs import Run
from fairtrial.api.stores import open_store
from fairtrial.records.mode_history import ModeHistory
from fairtrial.records.result import Verdict
from fairtrial.records.summary import Summary
from fairtrial.store import DEFAULT_URL, Store
from fairtrial.text.display import count

if TYPE_CHECKING:
    from fairtrial.records.run_history import RunHistory


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
    """Yield the failures of each run, and note the runs of data sets, whose cases that passed are not stored."""
    for row in history.rows:
        run = Run(store.run(row.id), store.summary(row.id) or Summary(Verdict.UNSCORED), store)
        is_data_set = "dataset" in run.info.config
        unknown += [row.id] * is_data_set
        yield RunModes(row.id, count_failures(run)[0], None if is_data_set else case_keys(run))
