"""The failure modes of runs for a viewer. They are computed once for each state of a run."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Collection
from typing import TYPE_CHECKING

from fairtrial.reports.views.view_modes import failed_places, run_modes

if TYPE_CHECKING:
    from fairtrial.api.stored_runs import Run
    from fairtrial.records.failure_mode import FailedAttempt, Failures
    from fairtrial.reports.views.mode_shapes import ModesView

ALONE = "alone"
"""The filter for failed attempts without a mode."""
_MOST_RUNS = 4
_Place = tuple[int, int]


class ViewedModes:
    """The failures of the runs that were looked at last. Its methods may be called from several threads."""

    def __init__(self, read: Callable[[str], Run]) -> None:
        """`read` returns the run with an id, with the numbers so far."""
        self._read = read
        self._runs: OrderedDict[tuple[str, int], Run] = OrderedDict()
        self._lock = threading.Lock()

    def view(self, run_id: str, change: int, base: tuple[str, int] | None) -> ModesView | None:
        """Return the modes of a run, beside those of a base run. None without failures, or with too many of them."""
        run = self._run(run_id, change)
        return run_modes(run, None if base is None else self._run(*base))

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
