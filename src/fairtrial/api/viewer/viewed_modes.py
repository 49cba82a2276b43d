"""The failure modes of runs for a viewer. They are computed once for each state of a run."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Collection
from contextlib import suppress
from typing import Literal

from msgspec.structs import replace

from fairtrial.api.decisions.history import case_history
from fairtrial.api.stored_runs import Run
from fairtrial.errors import UsageError
from fairtrial.records.failure_mode import FailedAttempt, Failures
from fairtrial.reports.views.mode_shapes import LastingFailure, ModesView
from fairtrial.reports.views.view_modes import failed_places, run_modes

ALONE = "alone"
"""The filter for failed attempts without a mode."""
_MOST_RUNS = 4
_MOST_SERIES = 20
_MOST_CASES = 2_000
"""The most runs, and the most cases of a run, that are read to find since when a case fails."""
_Place = tuple[int, int]


class ViewedModes:
    """The failures of the runs that were looked at last. Its methods may be called from several threads."""

    def __init__(self, read: Callable[[str], Run], url: str) -> None:
        """`read` returns the run with an id in the store at a URL, with the numbers so far."""
        self._read = read
        self._url = url
        self._runs: OrderedDict[tuple[str, int], Run] = OrderedDict()
        self._lock = threading.Lock()

    def view(self, run_id: str, change: int, base: tuple[str, int] | None) -> ModesView | None:
        """Return the modes of a run, beside those of a base run. None without failures, or with too many of them."""
        run = self._run(run_id, change)
        view = run_modes(run, None if base is None else self._run(*base))
        return view if view is None or not view.modes else replace(view, lasting=_find_lasting(run, view, self._url))

    def places(self, run_id: str, change: int, mode: str) -> Collection[_Place]:
        """Return the attempts of a mode, by its number. A mode that does not exist has none."""
        number = int(mode) if mode.isascii() and mode.isdigit() and len(mode) < 10 else None
        if number is None and mode != ALONE:
            return ()
        return {place for place, own in self._failed_places(run_id, change).items() if own.mode == number}

    def find_modes(self, run_id: str, change: int) -> dict[int, int]:
        """Return the failure modes of cases by their positions: of a case, that of its first attempt with a mode."""
        places = sorted(self._failed_places(run_id, change).items(), reverse=True)
        return {position: own.mode for (position, _), own in places if own.mode is not None}

    def find(self, run_id: str, change: int, place: _Place) -> FailedAttempt | None:
        """Return where an attempt went wrong, or None if it did not fail."""
        return self._failed_places(run_id, change).get(place)

    def failures(self, run_id: str, change: int) -> Failures | None:
        """Return the failures of a run, or None if there are too many."""
        return self._run(run_id, change).failure_modes

    def _failed_places(self, run_id: str, change: int) -> dict[_Place, FailedAttempt]:
        return failed_places(self._run(run_id, change).failure_modes)

    def _run(self, run_id: str, change: int) -> Run:
        """Return a run whose modes are computed once. One thread computes them, and the others wait."""
        with self._lock:
            key = (run_id, change)
            if key not in self._runs:
                self._runs[key] = self._read(run_id)
            self._runs.move_to_end(key)
            while len(self._runs) > _MOST_RUNS:
                self._runs.popitem(last=False)
            run = self._runs[key]
            _ = run.failure_modes
            return run


def _find_lasting(run: Run, view: ModesView, url: str) -> LastingFailure | None:
    """Return since when the typical case of the most frequent mode fails. None if the run is not the newest."""
    example = max(view.modes, key=lambda mode: (mode.attempts, mode.repaired)).example
    if example is None or view.cases > _MOST_CASES:
        return None
    with suppress(UsageError):  # the series of a run that is going on may have no finished run
        own = case_history(example.name, run.info.id, last=_MOST_SERIES, store=url)
        rows = {row.id: row for row in own.runs}
        if own.state in ("broken", "flaky") and own.runs[-1].id == run.info.id:
            state: Literal["broken", "flaky"] = "broken" if own.state == "broken" else "flaky"
            return LastingFailure(example.name, state, own.since, rows[own.since].started, len(rows))
    return None
