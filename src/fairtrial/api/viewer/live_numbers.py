"""Current numbers of a run that may still be going on. Readers do not wait for them."""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING

from msgspec.structs import replace

from fairtrial.analysis.aggregation import aggregate
from fairtrial.api.calibrations import calibrations
from fairtrial.errors import FairtrialError
from fairtrial.records.result import Verdict
from fairtrial.records.summary import CriterionSummary, Summary

if TYPE_CHECKING:
    from fairtrial.records.judging.calibration import Calibration
    from fairtrial.records.run import RunInfo
    from fairtrial.store import Store

_AT_ONCE = 1000
"""The number of attempts up to which a reader waits for the numbers of an unfinished run."""
_REST = 10
"""Numbers are computed again after ten times the time that they took, so that readers are served meanwhile."""

_DELAY = 1.0
"""Seconds until numbers begin to be computed. The page that needs them is served first, with nothing beside it."""

_KEYS = {"error": "errors"}


class LiveNumbers:
    """The numbers of a run of a store. Those of an unfinished run are computed again when results were added."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._summaries: dict[str, tuple[int, Summary]] = {}
        self._calibrations: dict[tuple[str, int, int], tuple[Calibration, ...]] = {}
        self._resting: dict[str, float] = {}
        self._lock = threading.Lock()

    def summary(self, info: RunInfo) -> tuple[Summary, bool]:
        """Return the numbers of a run, and whether they are older than its results.

        While the first numbers of a large run are computed, its criteria have counts and no means.
        """
        if info.finished is not None:
            stored = self._store.summary(info.id)
            if stored is not None:
                return stored, False
        change = self._store.last_change(info.id)
        known = self._summaries.get(info.id)
        if known is not None and known[0] == change:
            return known[1], False
        counts = self._store.count_by_verdict(info.id)
        if sum(counts.values()) <= _AT_ONCE:
            return self._compute(info, change), False
        self._compute_later(info, change)
        ordered: dict[str, int] = {
            verdict.value: counts[verdict.value] for verdict in Verdict if verdict.value in counts
        }
        if known is not None:
            return replace(known[1], cases=ordered), True
        return Summary(Verdict.UNSCORED, self._count_criteria(info.id), ordered), True

    def are_old(self, info: RunInfo, change: int) -> bool:
        """Return whether the numbers of a run are older than its last change. Then they begin to be computed.

        Nothing is counted, because a page asks several times a second.
        """
        known = self._summaries.get(info.id)
        if info.finished is not None or change <= _AT_ONCE or (known is not None and known[0] == change):
            return False
        self._compute_later(info, change)
        return True

    def calibrations(self, info: RunInfo, summary: Summary) -> tuple[Calibration, ...]:
        """Return how far the judges of a finished run may be believed."""
        if info.finished is None:
            return ()
        # Labels of other runs count too, so that a label anywhere makes the numbers old.
        key = (info.id, self._store.count_labels(), sum(summary.cases.values()))
        if key not in self._calibrations:
            self._calibrations[key] = tuple(calibrations(self._store, info, summary))
        return self._calibrations[key]

    def _compute(self, info: RunInfo, change: int) -> Summary:
        ballots = self._store.ballots(info.id).values()
        summary = aggregate(
            self._store.results(info.id),
            ballots,
            informs=info.informs,
            defaults=info.defaults,
            rules=info.attempt_rules,
        )
        self._summaries[info.id] = (change, summary)
        return summary

    def _compute_later(self, info: RunInfo, change: int) -> None:
        """Compute the numbers in a thread, unless they are being computed, or were a short time ago."""
        with self._lock:
            if time.monotonic() < self._resting.get(info.id, 0.0):
                return
            self._resting[info.id] = float("inf")

        def compute() -> None:
            time.sleep(_DELAY)
            started = time.monotonic()
            try:
                self._compute(info, change)
            except FairtrialError:
                pass  # the run was removed, or the store is gone: whoever asks next gets the error
            finally:
                self._resting[info.id] = time.monotonic() + _REST * (time.monotonic() - started)

        threading.Thread(target=compute, daemon=True, name="fairtrial-numbers").start()

    def _count_criteria(self, run_id: str) -> tuple[CriterionSummary, ...]:
        terms, counts = self._store.criterion_terms(run_id), self._store.criterion_counts(run_id)
        return tuple(
            CriterionSummary(
                name,
                threshold=own.threshold,
                lower_is_better=own.lower_is_better,
                range=own.range,
                **{_KEYS.get(verdict, verdict): count for verdict, count in counts.get(name, {}).items()},  # type: ignore[arg-type]
            )
            for name, own in terms.items()
        )
